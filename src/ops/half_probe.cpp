#include "ops/half_probe.h"

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "core/error.h"
#include "core/half.h"
#include "gpu/stream.h"
#include "gpu/transfer.h"
#include "ops/kernels.h"

namespace headlight::ops {

HalfConversions probe_halves(Kernels& kernels) {
  // The smallest and the largest subnormal number, one between them with a sign, and the smallest normal one.
  constexpr std::array<std::uint16_t, 4> kNumbers{0x0001, 0x03ff, 0x8200, 0x0400};
  try {
    gpu::Context& context = kernels.context();
    const gpu::Buffer halves(context, sizeof(kNumbers), gpu::Memory::Device, "a probe of the device");
    const gpu::Buffer result(context, 2 * kNumbers.size() * sizeof(std::uint32_t), gpu::Memory::Device,
                             "a probe of the device");
    gpu::write(context, halves, 0, std::span<const std::uint16_t>(kNumbers));
    gpu::Stream stream(context);
    const std::array<gpu::Slice, 3> bindings{halves, gpu::Slice(halves, 0, sizeof(kNumbers), true), result};
    stream.dispatch(kernels[{.shader = Shader::HalfProbe}], bindings, std::span<const std::byte>(), {1, 1, 1});
    const gpu::Download download = stream.download(result);
    gpu::Submission submission = std::move(stream).submit();
    submission.wait();
    const auto bits = submission.values<std::uint32_t>(download);
    HalfConversions conversions{.unpacking_keeps = true, .texels_keep = true};
    for (std::size_t i = 0; i < kNumbers.size(); ++i) {
      const auto expected = std::bit_cast<std::uint32_t>(from_half(kNumbers.at(i)));
      if (bits[i] != expected) conversions.unpacking_keeps = false;
      if (bits[kNumbers.size() + i] != expected) conversions.texels_keep = false;
    }
    return conversions;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::DeviceLost) throw;
    return {};
  }
}

}  // namespace headlight::ops
