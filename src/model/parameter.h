#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "model/element_type.h"

namespace headlight::model {

class MappedFile;

/// Columns of some rows of a Parameter: number `row` of column `c` is `numbers[c · stride + row]`.
struct StoredColumns {
  const float* numbers = nullptr;
  std::size_t stride = 0;
};

/// One weight, stored in a Tensor or in a mapped file, in any element type, possibly a transposed or rearranged view. Copies
/// are cheap and share the numbers; they are decoded when a caller reads them.
class Parameter {
 public:
  Parameter() = default;     ///< empty
  Parameter(Tensor values);  // NOLINT: a tensor is a parameter
  /// `bytes` are of `shape` (one or two axes), row after row; `owner` keeps them in memory. Throws Error when their
  /// count doesn't match shape and type, or when blocks don't fill rows.
  Parameter(Shape shape, ElementType type, std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  Parameter(Shape shape, ElementType type, std::span<const std::byte> bytes, std::shared_ptr<const MappedFile> file);

  const Shape& shape() const { return shape_; }
  std::uint32_t axis(std::size_t index) const { return shape_.at(index); }
  std::size_t element_count() const { return is_empty() ? 0 : headlight::element_count(shape_); }
  bool is_empty() const { return source_ == nullptr; }
  ElementType type() const;
  /// The address of the stored weight: equal for all its views.
  const std::byte* address() const;
  /// Row of the stored weight (column, when transposed) where the view begins.
  std::uint32_t first_row() const { return source_row(0); }

  /// [columns, rows] of a [rows, columns] weight (GPT-2's Conv1D). Of unquantised parameters only.
  Parameter transposed() const;
  /// Rows [first, first + count) of axis 0.
  Parameter rows(std::uint32_t first, std::uint32_t count) const;
  /// The rows of axis 0 in the order of `rows`.
  Parameter gathered(std::vector<std::uint32_t> rows) const;

  /// Rows [first, first + count) of axis 0, row-major.
  void read(std::uint32_t first, std::uint32_t count, std::span<float> to) const;
  /// The same rows as columns: number i of row first + r goes to `to[i · stride + r]`.
  void read_columns(std::uint32_t first, std::uint32_t count, float* to, std::size_t stride) const;
  /// Likewise without decoding; of F16 and BF16 alone.
  void read_columns(std::uint32_t first, std::uint32_t count, std::uint16_t* to, std::size_t stride) const;
  /// The stored blocks of rows [first, first + count), row after row; of a view that isn't transposed, whose rows are whole.
  void read_blocks(std::uint32_t first, std::uint32_t count, std::byte* to) const;
  /// Is the view transposed, so that its columns are rows of the stored weight, or parts of them?
  bool has_stored_columns() const { return is_transposed_ && !order_; }
  /// Of such a view: columns [first_column, first_column + columns) of rows [first, first + count). Numbers that are stored
  /// as float32 are read where they lie, others are decoded into `room`; what is returned is valid until that is changed.
  StoredColumns stored_columns(std::uint32_t first, std::uint32_t count, std::uint32_t first_column, std::uint32_t columns,
                               std::vector<float>& room) const;
  /// Throws Error when reads of the mapped file of the weight may have returned something else than what it held
  /// (MappedFile::expect_intact). read() calls it itself; after the other reads, which several threads call, the caller
  /// does.
  void expect_intact() const;
  /// Returns the memory of the whole stored weight's mapped pages to the system, when no read will follow soon.
  void release_pages() const;
  /// All numbers.
  Tensor tensor() const;
  /// The numbers themselves, without decoding; asserts that they are stored as float32 in order (is_plain()).
  std::span<const float> values() const;
  bool is_plain() const;

  /// Equal shapes and equal numbers.
  friend bool operator==(const Parameter& left, const Parameter& right);

 private:
  struct Source;
  template <typename Number>
  void read_columns_as(std::uint32_t first, std::uint32_t count, Number* to, std::size_t stride) const;
  template <typename Use>
  void for_each_run(std::uint32_t first, std::uint32_t count, const Use& use) const;
  std::uint32_t row_count() const { return shape_.empty() ? 1 : shape_[0]; }
  std::uint32_t width() const { return shape_.size() < 2 ? 1 : shape_[1]; }
  std::uint32_t source_row(std::uint32_t row) const { return order_ ? (*order_)[first_ + row] : first_ + row; }

  Shape shape_;
  std::shared_ptr<const Source> source_;
  std::uint32_t first_ = 0;                                  ///< row of the source (or of the order) where the view begins
  std::shared_ptr<const std::vector<std::uint32_t>> order_;  ///< rows of the source; none: in the source's order
  bool is_transposed_ = false;
};

}  // namespace headlight::model
