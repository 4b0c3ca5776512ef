#include "core/tensor.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/utf8.h"

namespace headlight {

std::size_t element_count(std::span<const std::uint32_t> shape) {
  std::size_t count = 1;
  for (const std::uint32_t axis : shape) count *= axis;
  return count;
}

std::string to_string(std::span<const std::uint32_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Tensor::Tensor(Shape of_shape, std::vector<float> of_values) : shape(std::move(of_shape)), values(std::move(of_values)) {
  if (values.size() != element_count(shape)) {
    throw Error("a tensor of shape {} holds {} numbers, but {} were given", to_string(shape), element_count(shape),
                values.size());
  }
}

std::size_t Tensor::offset(std::initializer_list<std::uint32_t> indices) const {
  assert(indices.size() == shape.size());
  std::size_t offset = 0;
  std::size_t axis = 0;
  for (const std::uint32_t index : indices) {
    assert(index < shape[axis]);
    offset = offset * shape[axis++] + index;
  }
  return offset;
}

namespace {

constexpr std::size_t kMaxAxes = 4;
constexpr std::size_t kMaxShownBytes = 24;  // of a word in a message
constexpr std::string_view kBlanks = " \t\r\n\f\v";
constexpr std::string_view kEndsOfWord = " \t\r\n\f\v,;()[]*=";

/// Reads one text; every member throws Error with the place.
class TensorTextReader {
 public:
  explicit TensorTextReader(std::string_view text) : text_(text) {}

  Tensor read() {
    read_opening();
    if (next() == '[') {
      read_list(0);
      read_closing();
    } else {
      read_lines();
    }
    for (float& value : values_) value = finite(value * factor_);
    return Tensor(std::move(shape_), std::move(values_));
  }

 private:
  /// The next character after blanks; 0 at the end.
  char next() {
    const std::size_t found = text_.find_first_not_of(kBlanks, at_);
    at_ = found == std::string_view::npos ? text_.size() : found;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  /// Up to a blank, a separator or a bracket.
  std::string_view peek_word() const {
    const std::size_t end = text_.find_first_of(kEndsOfWord, at_);
    return text_.substr(at_, end == std::string_view::npos ? end : end - at_);
  }

  [[noreturn]] void fail(std::string_view what) const { throw Error("row {}, number {} (from 0): {}", row_, column_, what); }

  /// "Parameter containing:", "v =", "torch.tensor(", "np.array(", and PyTorch's common factor "1e-02 *".
  void read_opening() {
    next();
    constexpr std::string_view kParameter = "Parameter containing:";
    if (text_.substr(at_).starts_with(kParameter)) at_ += kParameter.size();
    while (true) {
      const char first = next();
      if (((first | 0x20) < 'a' || (first | 0x20) > 'z') && first != '_') break;
      const std::string_view word = peek_word();
      const std::size_t before = at_;
      at_ += word.size();
      const char after = next();
      if (after == '(') {
        ++at_;
        ++open_calls_;
      } else if (after != '=') {
        at_ = before;  // no name of a variable or a function: the reader of numbers says what is wrong
        break;
      } else {
        ++at_;
      }
    }
    const std::size_t before = at_;
    if (next() == '[' || at_ == text_.size()) return;
    const std::string_view word = peek_word();
    at_ += word.size();
    if (next() == '*') {
      ++at_;
      factor_ = number(word);
    } else {
      at_ = before;
    }
  }

  /// ", dtype=torch.float64, device='cuda:0', grad_fn=<AddBackward0>)" after the numbers.
  void read_closing() {
    while (next() == ',' && open_calls_ > 0) {
      const std::size_t equals = text_.find('=', at_), end = text_.find_first_of(",)", at_ + 1);
      if (equals == std::string_view::npos || end == std::string_view::npos || equals > end) break;
      at_ = end;
    }
    for (; open_calls_ > 0 && next() == ')'; --open_calls_) ++at_;
    if (open_calls_ > 0) throw Error("the text ends without its closing ')'");
    if (next() != '\0') throw Error("'{}' after the numbers", one_line(text_.substr(at_), kMaxShownBytes));
  }

  void read_list(std::size_t depth) {
    if (depth >= kMaxAxes) throw Error("more than {} brackets inside each other", kMaxAxes);
    ++at_;
    std::size_t count = 0;
    const bool has_rows = next() == '[';
    if (!has_rows) column_ = 0;
    for (; next() != ']'; ++count) {
      if (at_ == text_.size()) throw Error("the text ends in row {} without its closing ']'", row_);
      if ((next() == '[') != has_rows) fail(has_rows ? "a number beside rows in brackets" : "a row beside numbers");
      if (has_rows) {
        read_list(depth + 1);
      } else {
        read_number();
      }
      if (next() == ',') ++at_;
    }
    ++at_;
    end_axis(depth, count, !has_rows);
    if (!has_rows) ++row_;
  }

  /// Notes the size of an axis, or that it is the same as before.
  void end_axis(std::size_t depth, std::size_t count, bool is_row) {
    if (count == 0) throw Error("row {} has no number", row_);
    if (sizes_.size() <= depth) sizes_.resize(depth + 1, 0);
    if (is_row && sizes_.size() > depth + 1) throw Error("row {} has fewer brackets than the rows before it", row_);
    if (sizes_[depth] == 0) sizes_[depth] = count;
    if (sizes_[depth] != count) {
      if (is_row) throw Error("row {} has {} numbers, the rows before it have {}", row_, count, sizes_[depth]);
      throw Error("before row {}: {} rows, where the matrix before has {}", row_, count, sizes_[depth]);
    }
    if (depth == 0) shape_.assign(sizes_.begin(), sizes_.end());
  }

  void read_lines() {
    std::size_t width = 0;
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      column_ = 0;
      while (next() != '\0' && at_ < end) {
        read_number();
        if (next() == ',' || text_.substr(at_).starts_with(';')) ++at_;
      }
      if (column_ > 0) {
        if (width != 0 && column_ != width)
          throw Error("row {} has {} numbers, the rows before it have {}", row_, column_, width);
        width = column_;
        ++row_;
      }
      at_ = std::max(at_, std::min(end + 1, text_.size()));
    }
    if (row_ == 0) throw Error("there is no number");
    shape_ = {static_cast<std::uint32_t>(row_), static_cast<std::uint32_t>(width)};
  }

  void read_number() {
    if (values_.size() >= kMaxTextNumbers) throw Error("more than {} numbers", kMaxTextNumbers);
    const std::string_view word = peek_word();
    const float value = number(word);
    at_ += word.size();
    values_.push_back(value);
    ++column_;
  }

  float number(std::string_view word) const {
    if (word.empty()) {
      fail(at_ < text_.size() ? fmt::format("'{}' where a number is expected", one_line(text_.substr(at_, 1)))
                              : std::string("the text ends where a number is expected"));
    }
    if (word.starts_with("...") || word.starts_with("\u2026")) {
      fail(
          "'...' leaves numbers out: print the whole matrix (numpy.set_printoptions(threshold=sys.maxsize), "
          "torch.set_printoptions(profile='full'))");
    }
    double value = 0.0;
    const std::string_view digits = word.starts_with('+') ? word.substr(1) : word;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::invalid_argument || end != digits.data() + digits.size())
      fail(fmt::format("'{}' is no number", one_line(word, kMaxShownBytes)));
    if (error == std::errc::result_out_of_range && is_tiny(digits)) return 0.0F;
    if (error == std::errc::result_out_of_range || std::abs(value) >= kTooLarge || std::isnan(value)) {
      fail(fmt::format("'{}' {}", one_line(word, kMaxShownBytes),
                       std::isnan(value)   ? "is no number (NaN)"
                       : std::isinf(value) ? "is infinite"
                                           : "is too large for float32"));
    }
    return static_cast<float>(value);
  }

  /// Has a number out of double's range a negative exponent?
  static bool is_tiny(std::string_view digits) {
    const std::size_t exponent = digits.find_first_of("eE");
    return exponent == std::string_view::npos ? digits.find_first_of("123456789") > digits.find('.')
                                              : digits.substr(exponent + 1).starts_with('-');
  }

  static float finite(float value) {
    if (!std::isfinite(value)) throw Error("a number times the common factor is too large for float32");
    return value;
  }

  static constexpr double kTooLarge = 0x1.ffffffp127;  // from here on the nearest float32 is infinite

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t open_calls_ = 0;
  float factor_ = 1.0F;
  std::size_t row_ = 0, column_ = 0;
  std::vector<std::size_t> sizes_;  // of the axes, as the first list of each has them; 0: not known yet
  Shape shape_;
  std::vector<float> values_;
};

/// Writes the numbers from `at` on, which are inside `axis` lists.
void write_list(const Tensor& tensor, std::size_t axis, std::size_t& at, std::string& text) {
  const bool has_rows = axis + 1 < tensor.shape.size();
  text += '[';
  for (std::uint32_t i = 0; i < tensor.shape[axis]; ++i) {
    if (i > 0) text += has_rows ? ",\n" + std::string(axis + 1, ' ') : ", ";
    if (has_rows) {
      write_list(tensor, axis + 1, at, text);
    } else {
      text += fmt::format("{}", tensor.values[at++]);
    }
  }
  text += ']';
}

}  // namespace

std::string tensor_text(const Tensor& tensor) {
  std::string text;
  std::size_t at = 0;
  if (!tensor.shape.empty()) write_list(tensor, 0, at, text);
  return text;
}

Result<Tensor> read_tensor_text(std::string_view text) {
  try {
    return TensorTextReader(text).read();
  } catch (const Error& error) {
    return Failure{error.what()};
  }
}

}  // namespace headlight
