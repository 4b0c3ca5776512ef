#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "gpu/device_info.h"

namespace headlight::ops {

class Kernels;

/// Kernels that compute y = x·Wᵀ + b: one lane an output, registers fed by storage or texel buffers, shared-memory tiles.
enum class LinearKernel : std::uint8_t { Naive, Vec4, Vec4Texel, Tiled };
/// Ways to compute attention: two passes a query, blocks of queries in three steps fed by storage or texel buffers, one pass
/// with the online softmax over shared-memory tiles.
enum class AttentionKernel : std::uint8_t { Naive, Blocks, BlocksTexel, Tiled };

std::string_view to_string(LinearKernel kernel);
std::string_view to_string(AttentionKernel kernel);

/// Which kernel a device runs. Drivers disagree about the fastest structure by more than ten times, so it is measured.
struct Tuning {
  LinearKernel few_rows = LinearKernel::Vec4;   ///< at most kFewRows rows: typing one token
  LinearKernel many_rows = LinearKernel::Vec4;
  AttentionKernel attention = AttentionKernel::Blocks;
  bool texel_reads = false;  ///< do the small kernels read through texel buffers?

  bool operator==(const Tuning&) const = default;
};
inline constexpr std::uint32_t kFewRows = 8;

/// A guess without measuring: texel buffers on CPUs, tiles on GPUs.
Tuning default_tuning(const gpu::DeviceInfo& device);

/// Times every candidate on the device (some milliseconds each, plus compiling it) and returns the fastest.
Tuning measure_tuning(Kernels& kernels);

/// The tuning of this device and driver from `cache_file`, measured and added to the file when it isn't there. A file that
/// can't be read or written only costs the measuring again.
Tuning tune(Kernels& kernels, const std::filesystem::path& cache_file);

}  // namespace headlight::ops
