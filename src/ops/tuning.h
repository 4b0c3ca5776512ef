#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "gpu/device_info.h"

namespace headlight::ops {

class Kernels;

/// Kernels that compute y = x·Wᵀ + b: one lane per output, registers loaded from storage or texel buffers, shared-memory
/// tiles, registers whose rows lanes exchange by shuffles, sums of few rows in parts (more rows: tiles); functions of the
/// program, where the device is a processor; or, of float16 weights alone (others: tiles), units that multiply matrices.
enum class LinearKernel : std::uint8_t { Naive, Vec4, Vec4Texel, Tiled, Shuffle, ShuffleTexel, Gemv, Host, Matrix };
/// Kernels for attention: two passes per query, blocks of queries in three steps reading storage or texel buffers, one pass
/// with the online softmax over shared-memory tiles, blocks whose rows lanes exchange by shuffles; or functions of the
/// program.
enum class AttentionKernel : std::uint8_t { Naive, Blocks, BlocksTexel, Tiled, BlocksShuffle, BlocksShuffleTexel, Host };

constexpr bool is_texel(LinearKernel kernel) {
  return kernel == LinearKernel::Vec4Texel || kernel == LinearKernel::ShuffleTexel;
}
constexpr bool is_texel(AttentionKernel kernel) {
  return kernel == AttentionKernel::BlocksTexel || kernel == AttentionKernel::BlocksShuffleTexel;
}
constexpr bool is_shuffle(LinearKernel kernel) {
  return kernel == LinearKernel::Shuffle || kernel == LinearKernel::ShuffleTexel;
}
constexpr bool is_shuffle(AttentionKernel kernel) {
  return kernel == AttentionKernel::BlocksShuffle || kernel == AttentionKernel::BlocksShuffleTexel;
}

/// Functions of the program, only where DeviceInfo::runs_host_steps; elsewhere a shader takes their place.
constexpr bool is_host(LinearKernel kernel) { return kernel == LinearKernel::Host; }
constexpr bool is_host(AttentionKernel kernel) { return kernel == AttentionKernel::Host; }

/// Can lanes of a workgroup of 8 shuffle rows? Only where a subgroup is exactly these 8, as on llvmpipe with AVX2; elsewhere
/// the shuffle kernels fall back to those without.
constexpr bool can_shuffle(const gpu::DeviceInfo& device) {
  return device.has_subgroup_shuffle && device.subgroup_size == 8;
}

std::string_view to_string(LinearKernel kernel);
std::string_view to_string(AttentionKernel kernel);

/// The kernels that a device runs. The fastest structure differs between drivers by more than ten times, so it is measured.
struct Tuning {
  LinearKernel few_rows = LinearKernel::Vec4;  ///< at most kFewRows rows: typing one token
  LinearKernel many_rows = LinearKernel::Vec4;
  /// Many rows and weights as float16, where the device has units for them and they were the fastest; else none: many_rows.
  std::optional<LinearKernel> many_rows_of_halves = {};
  AttentionKernel attention = AttentionKernel::Blocks;
  bool texel_reads = false;  ///< do the small kernels read through texel buffers?

  bool operator==(const Tuning&) const = default;
};
inline constexpr std::uint32_t kFewRows = 8;

/// A default without measuring: functions of the program on processors where these can work beside kernels, which read texel
/// buffers there; tiles and sums in parts on GPUs.
Tuning default_tuning(const gpu::DeviceInfo& device);
/// The default among shaders.
LinearKernel default_shader(const gpu::DeviceInfo& device);

/// The kernels that are worth a trial on this device: at most kFewRows rows, or more.
std::vector<LinearKernel> linear_candidates(const gpu::DeviceInfo& device, bool has_few_rows);
std::vector<AttentionKernel> attention_candidates(const gpu::DeviceInfo& device);

/// Can Matrix multiply by the device's own units? Elsewhere it computes the same numbers by plain code, for tests.
bool multiplies_matrices(const gpu::DeviceInfo& device);

/// Can the costs of kernels be measured? Not on a GPU without timestamps: there the defaults stay.
bool can_measure(const gpu::DeviceInfo& device);

/// Sizes of the layers and attentions that kernels are timed with: those of a small real model on a processor, of larger
/// ones on GPUs, which finish a small one before all of their cores have begun.
struct TrialSize {
  std::uint32_t width = 256, heads = 4, tokens = 64;

  bool operator==(const TrialSize&) const = default;
};
TrialSize trial_size(const gpu::DeviceInfo& device);

/// The most candidates of a trial, and trials: few rows, many rows, many rows of float16 weights, attention.
inline constexpr std::uint32_t kCandidates = 7, kTrials = 4;
/// Measuring is split into steps that fit between other work: each compiles one candidate, the last of a trial compares
/// them, which takes a few milliseconds per candidate.
inline constexpr std::uint32_t kTuningSteps = kTrials * (kCandidates + 1);

/// Step 0 … kTuningSteps − 1, in this order, of a device that can be measured. The last step of a trial stores the fastest
/// in `tuning`; after every step, also one that throws, `kernels` uses `tuning`. A candidate that the driver refuses, or
/// that fails, is left out; throws Error of kind DeviceLost.
void measure_step(Kernels& kernels, std::uint32_t step, Tuning& tuning);

/// All steps; the defaults where the device can't be measured.
Tuning measure_tuning(Kernels& kernels);

/// The tuning of this device and driver, or nullopt when the file doesn't have it, can't be read or is invalid.
std::optional<Tuning> load_tuning(const gpu::DeviceInfo& device, const std::filesystem::path& file);
/// Adds it to the file. Errors are ignored: the next start measures again.
void save_tuning(const gpu::DeviceInfo& device, const std::filesystem::path& file, const Tuning& tuning);

/// Names of the kernels that were found to compute wrong numbers on this device with this driver (Kernels::exclude), in a
/// file beside that of tunings. Empty where it can't be read.
std::set<std::string> load_faults(const gpu::DeviceInfo& device, const std::filesystem::path& tuning_file);
/// Stores them in place of those found before. Throws Error where the file can't be written.
void save_faults(const gpu::DeviceInfo& device, const std::filesystem::path& tuning_file,
                 const std::set<std::string>& kernels);

/// load_tuning(), else measure_tuning() and save_tuning(); the kernels use the result,
/// and leave out those of load_faults(). What can't be measured isn't saved.
Tuning tune(Kernels& kernels, const std::filesystem::path& file);

}  // namespace headlight::ops
