#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headlight::gpu {

/// The identity, the limits and the features of a Vulkan device.
struct DeviceInfo {
  std::string name;
  std::string driver;       ///< "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)"
  std::string api;          ///< "1.3.230"
  std::string kind;         ///< "discrete GPU", "integrated GPU", "virtual GPU", "CPU", "other"
  std::string uuid;         ///< 32 hexadecimal digits, stable across runs for the same driver
  std::uint32_t index = 0;  ///< position in list_devices()
  bool is_cpu = false;
  bool runs_host_steps = false;    ///< a processor whose memory is this program's: functions can work beside kernels, unless
                                   ///< HEADLIGHT_KERNELS=shaders
  bool compiles_when_run = false;  ///< a kernel's first dispatch compiles it, not the making of its pipeline (llvmpipe)

  /// Largest device-local heap, of a GPU without memory of its own all heaps, or what the driver says is left; of a
  /// processor what the computer has left.
  std::size_t memory_bytes = 0;
  bool loses_memory_asleep = false;   ///< it has memory of its own, which a driver may lose while the computer is suspended
  std::size_t max_storage_range = 0;  ///< bytes one storage buffer binding may span
  std::size_t max_allocation = 0;     ///< bytes of one allocation
  std::uint32_t max_texel_elements = 0;
  std::size_t offset_alignment = 0;  ///< bytes; of storage and texel buffer bindings alike
  std::uint32_t max_groups[3] = {};  ///< workgroups of one dispatch along x, y, z
  std::uint32_t subgroup_size = 0;
  bool has_subgroup_shuffle = false;  ///< in compute shaders
  /// Lanes of a subgroup that multiplies 16 × 16 matrices of float16 into sums of float32 (VK_KHR_cooperative_matrix);
  /// 0: the device has no such subgroup.
  std::uint32_t matrix_lanes = 0;
  std::uint32_t shared_memory_bytes = 0;
  std::uint32_t max_invocations = 0;  ///< lanes of one workgroup
  std::uint32_t cores = 0;  ///< what runs workgroups (compute units, multiprocessors): as the driver says, or a guess
  float timestamp_period_ns = 0.0f;  ///< 0: the queue has no timestamps
  std::uint32_t timestamp_bits = 0;  ///< of a timestamp's 64, from the lowest; the counter starts again after the last

  /// Why the engine can't use the device, one clause each; empty when it can.
  std::vector<std::string> lacks;
  bool is_usable() const { return lacks.empty(); }
};

/// The abilities of one family of a device's queues.
struct QueueFamily {
  bool computes = false, draws = false;
  std::uint32_t timestamp_bits = 0;
};

/// The family to compute with: one that doesn't draw if there is any, because the window's frames don't wait for its
/// work; among those one with timestamps, then the first. Nothing when none computes.
std::optional<std::uint32_t> choose_compute_family(std::span<const QueueFamily> families);

/// Ticks from one timestamp to a later one of a clock that has so many bits (1 to 64) and starts again after the last.
std::uint64_t timestamp_difference(std::uint64_t from, std::uint64_t to, std::uint32_t bits);

/// Every Vulkan device of this machine, usable or not, in the loader's order; empty when there is no Vulkan loader or
/// driver.
std::vector<DeviceInfo> list_devices();

}  // namespace headlight::gpu
