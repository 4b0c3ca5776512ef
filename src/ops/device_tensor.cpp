#include "ops/device_tensor.h"

#include <algorithm>
#include <vector>

#include "core/error.h"

namespace headlight::ops {

DeviceTensor::DeviceTensor(gpu::Stream& stream, std::uint32_t items_, std::uint32_t heads_, std::uint32_t tokens_,
                           std::uint32_t width_, std::string_view purpose)
    : items(items_), heads(heads_), tokens(tokens_), width(width_) {
  buffer_ = gpu::Buffer(stream.context(), items * item_bytes(), gpu::Memory::Device, purpose);
  stream.clear(buffer_);
}

void DeviceTensor::upload(gpu::Stream& stream, const Tensor& values) const {
  const std::size_t rows = std::size_t{heads} * tokens;
  if (values.values.size() != items * rows * width) {
    throw Error("a tensor of shape {} does not fill [{}, {}, {}, {}]", headlight::to_string(values.shape), items, heads,
                tokens, width);
  }
  std::vector<float> item(std::size_t{stride4()} * 4);
  const std::size_t padded = std::size_t{width4()} * 4;
  for (std::uint32_t i = 0; i < items; ++i) {
    const float* source = values.values.data() + i * rows * width;
    for (std::size_t row = 0; row < rows; ++row) std::copy_n(source + row * width, width, item.data() + row * padded);
    stream.upload(buffer_, i * item_bytes(), std::span<const float>(item));
  }
}

void DeviceTensor::upload_rows(gpu::Stream& stream, const Tensor& values, Rows rows) const {
  if (heads != 1 || values.values.size() != std::size_t{items} * rows.count * width || rows.end() > tokens) {
    throw Error("a tensor of shape {} is not {} rows of [{}, 1, {}, {}]", headlight::to_string(values.shape), rows.count,
                items, tokens, width);
  }
  const std::size_t padded = std::size_t{width4()} * 4, numbers = std::size_t{rows.count} * width;
  std::vector<float> some(padded == width ? 0 : rows.count * padded);
  for (std::uint32_t i = 0; i < items; ++i) {
    std::span<const float> source = std::span(values.values).subspan(i * numbers, numbers);
    if (padded != width) {
      for (std::size_t row = 0; row < rows.count; ++row) {
        std::ranges::copy(source.subspan(row * width, width), some.begin() + static_cast<std::ptrdiff_t>(row * padded));
      }
      source = some;
    }
    stream.upload(buffer_, i * item_bytes() + rows.first * padded * sizeof(float), source);
  }
}

}  // namespace headlight::ops
