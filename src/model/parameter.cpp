#include "model/parameter.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "core/error.h"

namespace headlight::model {

/// What is stored, shared by all views of it.
struct Parameter::Source {
  std::uint32_t rows = 0, columns = 0;
  ElementType type = ElementType::F32;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;

  std::size_t row_bytes() const { return std::size_t{columns} / block_numbers(type) * block_bytes(type); }

  /// `count` rows from `row` on, in order.
  void read(std::uint32_t row, std::uint32_t count, float* to) const {
    decode(type, bytes.data() + row * row_bytes(), std::size_t{count} * columns, to);
  }
  /// Numbers [column, column + count) of a row; of unquantised types.
  void read_part(std::uint32_t row, std::uint32_t column, std::uint32_t count, float* to) const {
    decode(type, bytes.data() + row * row_bytes() + std::size_t{column} * block_bytes(type), count, to);
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

ElementType Parameter::type() const { return source_ ? source_->type : ElementType::F32; }

std::size_t Parameter::stored_bytes() const {
  return source_ ? element_count() / block_numbers(source_->type) * block_bytes(source_->type) : 0;
}

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

void Parameter::read(std::uint32_t first, std::uint32_t count, std::span<float> to) const {
  assert(first + count <= shape_.at(0) && to.size() >= std::size_t{count} * width());
  if (is_transposed_) {
    for (std::uint32_t i = 0; i < width(); ++i) {
      for (std::uint32_t r = 0; r < count; ++r)
        source_->read_part(i, source_row(first + r), 1, to.data() + std::size_t{r} * width() + i);
    }
  } else if (order_) {
    for (std::uint32_t r = 0; r < count; ++r) source_->read(source_row(first + r), 1, to.data() + std::size_t{r} * width());
  } else {
    source_->read(first_ + first, count, to.data());
  }
}

void Parameter::read_columns(std::uint32_t first, std::uint32_t count, float* to, std::size_t stride) const {
  assert(first + count <= shape_.at(0));
  if (is_transposed_ && !order_) {
    for (std::uint32_t i = 0; i < width(); ++i) source_->read_part(i, first_ + first, count, to + i * stride);
    return;
  }
  // Rows are decoded some at a time and turned in squares that stay in the cache.
  constexpr std::uint32_t kSquare = 16;
  std::vector<float> rows(std::size_t{std::min(count, kSquare)} * width());
  for (std::uint32_t begin = 0; begin < count; begin += kSquare) {
    const std::uint32_t some = std::min(kSquare, count - begin);
    read(first + begin, some, rows);
    for (std::uint32_t i = 0; i < width(); ++i) {
      for (std::uint32_t r = 0; r < some; ++r) to[i * stride + begin + r] = rows[std::size_t{r} * width() + i];
    }
  }
}

Tensor Parameter::tensor() const {
  if (is_empty()) return {};
  Tensor tensor(shape_);
  read(0, shape_.empty() ? 1 : shape_[0], tensor.values);
  return tensor;
}

bool Parameter::is_plain() const {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(address()) % alignof(float) == 0;
  return is_empty() || (!is_transposed_ && !order_ && type() == ElementType::F32 && is_aligned);
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
