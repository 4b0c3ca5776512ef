#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace headlight {

/// Sizes of a tensor's axes, outermost first. An empty shape is a scalar.
using Shape = std::vector<std::uint32_t>;

/// Number of elements: the product of all axes.
std::size_t element_count(std::span<const std::uint32_t> shape);

/// "[2, 3, 8]", the way PyTorch prints it.
std::string to_string(std::span<const std::uint32_t> shape);

/// A dense float32 tensor in host memory, row-major (the last axis is contiguous).
struct Tensor {
  Shape shape;
  std::vector<float> values;

  Tensor() = default;
  explicit Tensor(Shape of_shape) : shape(std::move(of_shape)), values(element_count(shape)) {}
  /// Throws Error when `of_values` doesn't fill `of_shape`.
  Tensor(Shape of_shape, std::vector<float> of_values);

  bool is_empty() const { return values.empty(); }
  std::uint32_t axis(std::size_t index) const { return shape.at(index); }

  /// Element at a full set of indices; checked in debug builds only.
  float& at(std::initializer_list<std::uint32_t> indices) { return values[offset(indices)]; }
  float at(std::initializer_list<std::uint32_t> indices) const { return values[offset(indices)]; }

 private:
  std::size_t offset(std::initializer_list<std::uint32_t> indices) const;
};

inline constexpr std::size_t kMaxTextNumbers = std::size_t{1} << 20U;

/// Numbers as they are printed or typed elsewhere, as a tensor of one to four axes:
///   tensor([[0.1, -2.], [3., 4.]], dtype=torch.float64)   PyTorch, with its common factor too: tensor(1e-02 * [[…]])
///   array([[0.1, -2.], …]) or [[0.1 -2.]\n [3. 4.]]        numpy
///   0.1, -2 / 3, 4 on lines                                rows, separated by commas, semicolons or blanks
/// Fails in one line that names row and number, counted from 0: not a number, infinite, NaN or too large for float32, rows
/// of different lengths, numbers left out by "...", more than kMaxTextNumbers numbers. Takes time linear in the text.
Result<Tensor> read_tensor_text(std::string_view text);

/// "[[0.1, -2],\n [3, 0.0045]]": a list of lists of the shortest numbers that read_tensor_text() and Python read back
/// without a difference.
std::string tensor_text(const Tensor& tensor);

}  // namespace headlight
