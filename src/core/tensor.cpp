#include "core/tensor.h"

#include <cassert>

#include <fmt/ranges.h>

#include "core/error.h"

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

}  // namespace headlight
