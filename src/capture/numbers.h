#pragma once

#include <memory>

#include "core/tensor.h"
#include "model/mapped_file.h"

namespace headlight::capture {

/// The type in which a capture's numbers are stored. U8, for pixels alone: 0 … 255 are read as 0 … 1.
enum class NumberType : std::uint8_t { F16, BF16, F32, F64, U8 };
std::size_t byte_count(NumberType type);

/// Cells [row, row + rows) × [column, column + columns) of one matrix of an array.
struct Rectangle {
  std::uint32_t item = 0, head = 0;
  std::uint32_t row = 0, rows = 0;
  std::uint32_t column = 0, columns = 0;
};

/// One array of a capture, [batch, heads, rows, columns]: its numbers are read from the file when they are asked for.
/// Not thread-safe.
class Numbers {
 public:
  Numbers(std::string name, Shape shape) : name_(std::move(name)), shape_(std::move(shape)) {}
  virtual ~Numbers() = default;
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  /// The array's name in the file: "attention.0".
  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }
  /// [rows, columns], row after row. Throws Error naming the file when it can't be read any more.
  virtual void read(const Rectangle& cells, float* to) const = 0;
  /// Numbers of f64 that were read and aren't the same as f32.
  virtual std::uint64_t rounded() const { return 0; }

 protected:
  /// The number of the array's element at the rectangle's row, as the array is stored.
  std::size_t element(const Rectangle& cells, std::uint32_t row) const;

 private:
  std::string name_;
  Shape shape_;
};

/// `count` numbers as float32; `from` need not be aligned. Returns how many of them were rounded (of F64).
std::size_t decode(NumberType type, const std::byte* from, std::size_t count, float* to);

/// An array in a mapped file. `bytes` are of `shape`, four axes, row-major.
std::shared_ptr<const Numbers> mapped_numbers(std::string name, Shape shape, NumberType type,
                                              std::span<const std::byte> bytes,
                                              std::shared_ptr<const model::MappedFile> file);

/// Returns the numbers as rows from `first` on of matrices that have so many rows more; rows before `first` are 0.
std::shared_ptr<const Numbers> later_rows(std::shared_ptr<const Numbers> numbers, std::uint32_t first);

}  // namespace headlight::capture
