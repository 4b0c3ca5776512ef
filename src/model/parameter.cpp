#include "model/parameter.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "model/columns.h"
#include "model/mapped_file.h"

namespace headlight::model {
namespace {

/// Rows that are transposed together; fewer that are copied or decoded before, so that they stay in the cache.
constexpr std::uint32_t kRowsAtOnce = 64, kCopiedRowsAtOnce = 32, kQuantisedRowsAtOnce = 16;
/// Rows of a transposed view to prefetch ahead, and the bytes of a cache line.
constexpr std::uint32_t kPiecesAhead = 8;
constexpr std::size_t kLine = 64;

}  // namespace

/// The stored weight, shared by all its views.
struct Parameter::Source {
  std::uint32_t rows = 0, columns = 0;
  ElementType type = ElementType::F32;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  const MappedFile* file = nullptr;  ///< the owner, where it is a file

  std::size_t row_bytes() const { return std::size_t{columns} / block_numbers(type) * block_bytes(type); }

  const std::byte* row(std::size_t index) const { return bytes.data() + index * row_bytes(); }
  /// Number `column` of a row; of unquantised types.
  const std::byte* at(std::size_t index, std::size_t column) const { return row(index) + column * block_bytes(type); }
  /// Copies bytes of the stored weight.
  void copy(const std::byte* from, std::size_t size, std::byte* to) const {
    if (file != nullptr) {
      file->copy({from, size}, to);
    } else {
      std::copy_n(from, size, to);
    }
  }
};

Parameter::Parameter(Tensor values) {
  if (values.is_empty()) return;
  auto owner = std::make_shared<const Tensor>(std::move(values));
  const auto bytes = std::as_bytes(std::span<const float>(owner->values));
  Shape shape = owner->shape;
  *this = Parameter(std::move(shape), ElementType::F32, bytes, std::move(owner));
}

Parameter::Parameter(Shape shape, ElementType type, std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
    : shape_(std::move(shape)) {
  // A vector is a column of rows with one number, unless its type stores several together.
  const bool is_vector = shape_.size() < 2;
  const std::uint32_t count = shape_.empty() ? 1 : shape_[0];
  auto source = std::make_shared<Source>();
  source->rows = count;
  source->columns = is_vector ? 1 : shape_[1];
  source->type = type;
  source->bytes = bytes;
  source->owner = std::move(owner);
  if (shape_.size() > 2) throw Error("a weight of shape {} has more than two axes", headlight::to_string(shape_));
  if (source->columns % block_numbers(type) != 0) {
    throw Error("rows of {} numbers aren't whole {} blocks of {}", source->columns, to_string(type), block_numbers(type));
  }
  if (bytes.size() != source->rows * source->row_bytes()) {
    throw Error("a weight of shape {} in {} takes {} bytes, but there are {}", headlight::to_string(shape_), to_string(type),
                source->rows * source->row_bytes(), bytes.size());
  }
  source_ = std::move(source);
}

Parameter::Parameter(Shape shape, ElementType type, std::span<const std::byte> bytes, std::shared_ptr<const MappedFile> file)
    : Parameter(std::move(shape), type, bytes, std::shared_ptr<const void>(file)) {
  auto source = std::make_shared<Source>(*source_);
  source->file = file.get();
  source_ = std::move(source);
}

void Parameter::expect_intact() const {
  if (source_ && source_->file != nullptr) source_->file->expect_intact();
}

void Parameter::release_pages() const {
  if (source_ && source_->file != nullptr) source_->file->release(source_->bytes);
}

ElementType Parameter::type() const { return source_ ? source_->type : ElementType::F32; }

const std::byte* Parameter::address() const { return source_ ? source_->bytes.data() : nullptr; }

Parameter Parameter::transposed() const {
  assert(shape_.size() == 2 && !order_ && first_ == 0 && block_numbers(type()) == 1);
  Parameter view = *this;
  std::swap(view.shape_[0], view.shape_[1]);
  view.is_transposed_ = !is_transposed_;
  return view;
}

Parameter Parameter::rows(std::uint32_t first, std::uint32_t count) const {
  assert(first + count <= shape_.at(0));
  Parameter view = *this;
  view.first_ += first;
  view.shape_[0] = count;
  return view;
}

Parameter Parameter::gathered(std::vector<std::uint32_t> rows) const {
  for (std::uint32_t& row : rows) row = source_row(row);
  Parameter view = *this;
  view.first_ = 0;
  view.shape_[0] = static_cast<std::uint32_t>(rows.size());
  view.order_ = std::make_shared<const std::vector<std::uint32_t>>(std::move(rows));
  return view;
}

/// Calls use(index, source row, count) for rows [first, first + count) of the view, in runs of rows that are consecutive in
/// the source; `index` counts from 0.
template <typename Use>
void Parameter::for_each_run(std::uint32_t first, std::uint32_t count, const Use& use) const {
  for (std::uint32_t begin = 0, end = 0; begin < count; begin = end) {
    const std::uint32_t row = source_row(first + begin);
    end = order_ ? begin + 1 : count;
    while (end < count && source_row(first + end) == row + (end - begin)) ++end;
    use(begin, row, end - begin);
  }
}

void Parameter::read(std::uint32_t first, std::uint32_t count, std::span<float> to) const {
  assert(first + count <= row_count() && to.size() >= std::size_t{count} * width());
  const Source& source = *source_;
  for_each_run(first, count, [&](std::uint32_t position, std::uint32_t row, std::uint32_t rows) {
    float* run = to.data() + std::size_t{position} * width();
    if (is_transposed_) {
      std::array<const std::byte*, kRowsAtOnce> pointers{};
      for (std::uint32_t i = 0; i < width(); i += kRowsAtOnce) {
        const std::uint32_t some = std::min(kRowsAtOnce, width() - i);
        for (std::uint32_t n = 0; n < some; ++n) pointers[n] = source.at(i + n, row);
        rows_to_columns(source.type, std::span(pointers).first(some), rows, run + i, width());
      }
    } else if (source.file != nullptr) {  // a page of it would be mapped for each row, with its neighbours
      const std::uint32_t at_once = std::min(rows, kRowsAtOnce);
      std::vector<std::byte> stored(at_once * source.row_bytes());
      for (std::uint32_t begin = 0; begin < rows; begin += at_once) {
        const std::uint32_t some = std::min(at_once, rows - begin);
        source.copy(source.row(row + begin), some * source.row_bytes(), stored.data());
        for (std::uint32_t r = 0; r < some; ++r) {
          decode(source.type, stored.data() + r * source.row_bytes(), width(), run + std::size_t{begin + r} * width());
        }
      }
    } else if (width() == source.columns) {
      decode(source.type, source.row(row), std::size_t{rows} * width(), run);
    } else {
      for (std::uint32_t r = 0; r < rows; ++r) decode(source.type, source.row(row + r), width(), run + r * width());
    }
  });
  if (source.file != nullptr) source.file->expect_intact();
}

void Parameter::read_columns(std::uint32_t first, std::uint32_t count, float* to, std::size_t stride) const {
  read_columns_as(first, count, to, stride);
}
void Parameter::read_columns(std::uint32_t first, std::uint32_t count, std::uint16_t* to, std::size_t stride) const {
  assert(type() == ElementType::F16 || type() == ElementType::BF16);
  read_columns_as(first, count, to, stride);
}

template <typename Number>
void Parameter::read_columns_as(std::uint32_t first, std::uint32_t count, Number* to, std::size_t stride) const {
  constexpr bool kDecodes = std::is_same_v<Number, float>;
  assert(first + count <= row_count() && count <= stride);
  const Source& source = *source_;
  if (is_transposed_) {
    for_each_run(first, count, [&](std::uint32_t position, std::uint32_t row, std::uint32_t rows) {
      const std::size_t piece_bytes = std::size_t{rows} * block_bytes(source.type);
      for (std::uint32_t i = 0; i < width(); ++i) {
        // The next rows are pages away, where the hardware prefetcher doesn't reach.
        const std::byte* ahead = source.at(std::min(i + kPiecesAhead, width() - 1), row);
        for (std::size_t line = 0; line < piece_bytes; line += kLine) __builtin_prefetch(ahead + line);
        Number* column = to + i * stride + position;
        if constexpr (kDecodes) {
          decode(source.type, source.at(i, row), rows, column);
        } else {
          std::memcpy(column, source.at(i, row), piece_bytes);
        }
      }
    });
    return;
  }
  const bool is_quantised = block_numbers(source.type) != 1;
  const bool is_copied = source.file != nullptr;
  const std::uint32_t at_once = is_quantised ? kQuantisedRowsAtOnce : is_copied ? kCopiedRowsAtOnce : kRowsAtOnce;
  const auto decoded = std::make_unique_for_overwrite<float[]>(is_quantised ? std::size_t{at_once} * width() : 0);
  // Rows of a file pass through a buffer that stays in the cache; their pages needn't be mapped then.
  const std::size_t row_bytes = source.row_bytes();
  const auto copied = std::make_unique_for_overwrite<std::byte[]>(is_copied ? std::min(at_once, count) * row_bytes : 0);
  std::array<const std::byte*, kRowsAtOnce> pointers{};
  for (std::uint32_t begin = 0; begin < count; begin += at_once) {
    const std::uint32_t some = std::min(at_once, count - begin);
    for_each_run(first + begin, some, [&](std::uint32_t position, std::uint32_t row, std::uint32_t rows) {
      const std::byte* from = source.row(row);
      if (is_copied) {
        std::byte* to_copy = copied.get() + position * row_bytes;
        source.copy(from, rows * row_bytes, to_copy);
        from = to_copy;
      }
      for (std::uint32_t r = 0; r < rows; ++r) pointers[position + r] = from + r * row_bytes;
    });
    for (std::uint32_t r = 0; r < some && is_quantised; ++r) {
      float* row = decoded.get() + std::size_t{r} * width();
      decode(source.type, pointers[r], width(), row);
      pointers[r] = reinterpret_cast<const std::byte*>(row);
    }
    const auto from = std::span(std::as_const(pointers)).first(some);
    if constexpr (kDecodes) {
      rows_to_columns(is_quantised ? ElementType::F32 : source.type, from, width(), to + begin, stride);
    } else {
      rows_to_columns(from, width(), to + begin, stride);
    }
  }
}

void Parameter::read_blocks(std::uint32_t first, std::uint32_t count, std::byte* to) const {
  const Source& source = *source_;
  assert(!is_transposed_ && width() == source.columns && first + count <= row_count());
  for_each_run(first, count, [&](std::uint32_t position, std::uint32_t row, std::uint32_t rows) {
    source.copy(source.row(row), rows * source.row_bytes(), to + position * source.row_bytes());
  });
}

StoredColumns Parameter::stored_columns(std::uint32_t first, std::uint32_t count, std::uint32_t first_column,
                                        std::uint32_t columns, std::vector<float>& room) const {
  assert(has_stored_columns() && first + count <= row_count() && first_column + columns <= width());
  const Source& source = *source_;
  const std::uint32_t begin = source_row(first);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(source.bytes.data()) % alignof(float) == 0;
  if (source.type == ElementType::F32 && is_aligned) {
    return {reinterpret_cast<const float*>(source.at(first_column, begin)), source.columns};
  }
  const std::size_t bytes = count * block_bytes(source.type);
  const auto stored = std::make_unique_for_overwrite<std::byte[]>(bytes);
  room.resize(std::size_t{columns} * count);
  for (std::uint32_t c = 0; c < columns; ++c) {
    source.copy(source.at(first_column + c, begin), bytes, stored.get());
    decode(source.type, stored.get(), count, room.data() + std::size_t{c} * count);
  }
  return {room.data(), count};
}

Tensor Parameter::tensor() const {
  if (is_empty()) return {};
  Tensor tensor(shape_);
  read(0, row_count(), tensor.values);
  return tensor;
}

bool Parameter::is_plain() const {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(address()) % alignof(float) == 0;
  return is_empty() ||
         (!is_transposed_ && !order_ && type() == ElementType::F32 && width() == source_->columns && is_aligned);
}

std::span<const float> Parameter::values() const {
  if (is_empty()) return {};
  assert(is_plain());
  const auto* begin = reinterpret_cast<const float*>(source_->bytes.data()) + std::size_t{first_} * source_->columns;
  return {begin, element_count()};
}

bool operator==(const Parameter& left, const Parameter& right) {
  return left.is_empty() == right.is_empty() && left.shape_ == right.shape_ && left.tensor().values == right.tensor().values;
}

}  // namespace headlight::model
