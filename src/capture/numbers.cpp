#include "capture/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "model/element_type.h"

namespace headlight::capture {
namespace {

class MappedNumbers final : public Numbers {
 public:
  MappedNumbers(std::string name, Shape shape, NumberType type, std::span<const std::byte> bytes,
                std::shared_ptr<const model::MappedFile> file)
      : Numbers(std::move(name), std::move(shape)), type_(type), bytes_(bytes), file_(std::move(file)) {}

  void read(const Rectangle& cells, float* to) const override {
    for (std::uint32_t row = 0; row < cells.rows; ++row) {
      const std::byte* from = bytes_.data() + element(cells, row) * byte_count(type_);
      rounded_ += decode(type_, from, cells.columns, to + std::size_t{row} * cells.columns);
    }
    file_->expect_intact();
  }
  std::uint64_t rounded() const override { return rounded_; }

 private:
  NumberType type_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const model::MappedFile> file_;
  mutable std::uint64_t rounded_ = 0;
};

class LaterRows final : public Numbers {
 public:
  LaterRows(std::shared_ptr<const Numbers> numbers, Shape shape, std::uint32_t first)
      : Numbers(numbers->name(), std::move(shape)), numbers_(std::move(numbers)), first_(first) {}

  void read(const Rectangle& cells, float* to) const override {
    const std::uint32_t missing = std::min(cells.rows, first_ - std::min(first_, cells.row));
    to = std::fill_n(to, std::size_t{missing} * cells.columns, 0.0F);
    if (missing == cells.rows) return;
    Rectangle there = cells;
    there.row = cells.row + missing - first_;
    there.rows = cells.rows - missing;
    numbers_->read(there, to);
  }
  std::uint64_t rounded() const override { return numbers_->rounded(); }

 private:
  std::shared_ptr<const Numbers> numbers_;
  std::uint32_t first_;
};

std::size_t decode_doubles(const std::byte* from, std::size_t count, float* to) {
  std::size_t rounded = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double value = 0.0;
    std::memcpy(&value, from + i * sizeof(value), sizeof(value));
    to[i] = static_cast<float>(value);
    if (std::isfinite(value) && double{to[i]} != value) ++rounded;
  }
  return rounded;
}

}  // namespace

std::size_t byte_count(NumberType type) {
  constexpr std::array<std::size_t, 5> kBytes{2, 2, 4, 8, 1};
  return kBytes.at(static_cast<std::size_t>(type));
}

std::size_t Numbers::element(const Rectangle& cells, std::uint32_t row) const {
  const std::size_t matrix = std::size_t{cells.item} * shape_[1] + cells.head;
  return (matrix * shape_[2] + cells.row + row) * shape_[3] + cells.column;
}

std::size_t decode(NumberType type, const std::byte* from, std::size_t count, float* to) {
  switch (type) {
    case NumberType::F16:
      model::decode(model::ElementType::F16, from, count, to);
      return 0;
    case NumberType::BF16:
      model::decode(model::ElementType::BF16, from, count, to);
      return 0;
    case NumberType::F32:
      model::decode(model::ElementType::F32, from, count, to);
      return 0;
    case NumberType::F64:
      return decode_doubles(from, count, to);
    case NumberType::U8:
      for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(std::to_integer<std::uint8_t>(from[i])) / 255.0F;
      return 0;
  }
  return 0;
}

std::shared_ptr<const Numbers> mapped_numbers(std::string name, Shape shape, NumberType type,
                                              std::span<const std::byte> bytes,
                                              std::shared_ptr<const model::MappedFile> file) {
  return std::make_shared<const MappedNumbers>(std::move(name), std::move(shape), type, bytes, std::move(file));
}

std::shared_ptr<const Numbers> later_rows(std::shared_ptr<const Numbers> numbers, std::uint32_t first) {
  if (first == 0) return numbers;
  Shape shape = numbers->shape();
  shape[2] += first;
  return std::make_shared<const LaterRows>(std::move(numbers), std::move(shape), first);
}

}  // namespace headlight::capture
