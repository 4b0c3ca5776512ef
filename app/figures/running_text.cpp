#include "app/figures/running_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "text/label.h"

namespace headlight::app {
namespace {

constexpr std::string_view kNewline = "⏎";
constexpr float kPieceWidth = 3.0F;

/// Where a word ends: at the next token that begins one or begins a line.
std::size_t end_of_word(std::span<const RunningToken> tokens, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < tokens.size() && !tokens[end].place.begins_word && !tokens[end - 1].ends_line) ++end;
  return end;
}

class Lines {
 public:
  Lines(const TextMeasures& measures, TextLines& result) : measures_(measures), result_(result) {
    result_.first_of.push_back(0);
  }

  bool is_at_start() const { return x_ == 0.0F; }
  bool has_room(float width) const { return x_ + width <= measures_.width; }
  void add_space() {
    if (!is_at_start()) x_ += measures_.space;
  }

  void break_line() {
    x_ = 0.0F;
    ++line_;
    result_.first_of.push_back(static_cast<std::uint32_t>(result_.tokens.size()));
  }

  void add(float width) {
    const float left = measures_.is_right_to_left ? measures_.width - x_ - width : x_;
    const float top = static_cast<float>(line_) * measures_.line_height + measures_.line_height - measures_.token_height;
    result_.tokens.push_back({.origin = {left, top}, .size = {width, measures_.token_height}});
    result_.line_of.push_back(line_);
    x_ += width;
  }

  void end() {
    result_.first_of.push_back(static_cast<std::uint32_t>(result_.tokens.size()));
    result_.height = static_cast<float>(line_ + 1) * measures_.line_height;
  }

 private:
  const TextMeasures& measures_;
  TextLines& result_;
  float x_ = 0.0F;
  std::uint32_t line_ = 0;
};

}  // namespace

std::vector<RunningToken> running_tokens(std::span<const std::string> labels, std::span<const text::Token> tokens,
                                         std::uint32_t start) {
  std::vector<RunningToken> running;
  for (TokenPlace& place : token_places(labels, tokens, start)) {
    const bool ends_line = place.text.ends_with(kNewline);
    std::string part = std::exchange(place.text, text::without_parts(place.text));
    if (part == place.text) part.clear();
    running.push_back({.place = std::move(place), .ends_line = ends_line, .part = std::move(part)});
  }
  return running;
}

TextLines lay_out_text(std::span<const RunningToken> tokens, std::span<const float> widths, const TextMeasures& measures) {
  TextLines result;
  Lines lines(measures, result);
  const auto width_of = [&](std::size_t token) {
    // A part of a character that is written already: wide enough to be pointed at and shaded, and no gap in the word.
    if (!tokens[token].part.empty() && tokens[token].place.text.empty()) return std::min(kPieceWidth, measures.width);
    return std::min(std::ceil(widths[token]) + 2.0F * measures.padding, measures.width);
  };
  for (std::size_t begin = 0; begin < tokens.size();) {
    const std::size_t end = end_of_word(tokens, begin);
    float word = tokens[begin].place.begins_word && !lines.is_at_start() ? measures.space : 0.0F;
    for (std::size_t i = begin; i < end; ++i) word += width_of(i);
    if (!lines.is_at_start() && !lines.has_room(word)) lines.break_line();
    if (tokens[begin].place.begins_word) lines.add_space();
    for (std::size_t i = begin; i < end; ++i) {
      if (!lines.is_at_start() && !lines.has_room(width_of(i))) lines.break_line();
      lines.add(width_of(i));
    }
    if (tokens[end - 1].ends_line && end < tokens.size()) lines.break_line();
    begin = end;
  }
  lines.end();
  return result;
}

TextLines::Part TextLines::between(float top, float bottom, float line_height) const {
  if (tokens.empty() || !(bottom > top)) return {};
  const auto last = static_cast<float>(first_of.size() - 1);
  const float begin = std::clamp(std::floor(top / line_height), 0.0F, last);
  const float end = std::clamp(std::ceil(bottom / line_height), begin, last);
  return {first_of[static_cast<std::size_t>(begin)], first_of[static_cast<std::size_t>(end)]};
}

std::vector<PlacedNumber> place_numbers(const TextLines& lines, std::uint32_t line, std::span<const float> values,
                                        std::span<const float> widths, float line_width, float gap, float least) {
  std::vector<std::uint32_t> order(lines.first_of[line + 1] - lines.first_of[line]);
  std::iota(order.begin(), order.end(), lines.first_of[line]);
  std::erase_if(order, [&](std::uint32_t token) { return !(values[token] > least); });
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return values[a] > values[b]; });
  std::vector<PlacedNumber> placed;
  for (const std::uint32_t token : order) {
    const chart::Rect& rect = lines.tokens[token];
    const float width = widths[token];
    const float centered = rect.center().x - width * 0.5F, most = std::max(line_width - width, 0.0F);
    // Beside a larger number it is shifted, as far as its middle stays over the token.
    for (const float shift : {0.0F, -0.25F, 0.25F, -0.5F, 0.5F}) {
      const float x = std::round(std::clamp(centered + shift * rect.size.x, 0.0F, most));
      const bool is_free = std::ranges::all_of(placed, [&](const PlacedNumber& other) {
        return x >= other.x + widths[other.token] + gap || other.x >= x + width + gap;
      });
      if (!is_free) continue;
      placed.push_back({.token = token, .x = x});
      break;
    }
  }
  return placed;
}

}  // namespace headlight::app
