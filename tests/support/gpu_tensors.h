#pragma once

#include <algorithm>
#include <string_view>

#include "gpu/stream.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"
#include "support/gpu.h"

namespace headlight::test {

/// The kernels of the shared device: compiled once for a test program. Tests set the tuning that they need.
inline ops::Kernels& shared_kernels() {
  static std::unique_ptr<ops::Kernels> holder;
  return keep_until_end(holder, [] { return std::make_unique<ops::Kernels>(shared_context()); });
}

/// A tensor on the device with these values, [item, head, token, width].
inline ops::DeviceTensor put(gpu::Stream& stream, const Tensor& values) {
  ops::DeviceTensor tensor(stream, values.axis(0), values.axis(1), values.axis(2), values.axis(3), "a test");
  tensor.upload(stream, values);
  return tensor;
}

/// The values of a downloaded tensor, [item, head, token, width], and whether its padding is still zero.
struct Taken {
  Tensor values;
  bool is_padding_zero = true;
};
inline Taken take(const ops::DeviceTensor& tensor, std::span<const float> padded) {
  Taken taken{Tensor({tensor.items, tensor.heads, tensor.tokens, tensor.width}), true};
  const std::size_t row_width = std::size_t{tensor.width4()} * 4, rows = std::size_t{tensor.heads} * tensor.tokens;
  auto target = taken.values.values.begin();
  for (std::uint32_t item = 0; item < tensor.items; ++item) {
    for (std::size_t row = 0; row < rows; ++row) {
      const auto source = padded.subspan(item * tensor.item_bytes() / sizeof(float) + row * row_width, row_width);
      target = std::copy(source.begin(), source.begin() + tensor.width, target);
      taken.is_padding_zero = taken.is_padding_zero && std::all_of(source.begin() + tensor.width, source.end(),
                                                                   [](float value) { return value == 0.0f; });
    }
  }
  return taken;
}

}  // namespace headlight::test
