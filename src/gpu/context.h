#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "gpu/device_info.h"

namespace headlight::gpu {

/// Options for opening a device.
struct ContextOptions {
  /// Empty: the first discrete GPU, else integrated, else any. A number is an index of list_devices(), anything else a part
  /// of a device's name, upper or lower case.
  std::string device = {};
  /// Turn the Khronos validation layer on (also by the environment variable HEADLIGHT_VALIDATION=1).
  bool validation = false;
  /// Pretend that the device has less than it has, to test what small devices do. 0: as it is.
  std::size_t max_storage_range = 0;
  std::size_t memory_bytes = 0;
  std::uint32_t max_texel_elements = 0;
  std::uint32_t max_groups = 0;       ///< of a dispatch along each axis
  std::uint32_t max_invocations = 0;  ///< of a workgroup
  /// Cores of the device, more or fewer than it has.
  std::uint32_t cores = 0;
  /// Bits of a timestamp that count (36 on Intel); the others are cut off.
  std::uint32_t timestamp_bits = 0;
  /// Multiply-adds that a submission may hold, instead of what is measured.
  double max_work = 0.0;
  /// Pretend that the host can't reach the device's memory, as on most discrete GPUs: weights are then copied through
  /// staging buffers on every device, and suspending the computer may lose them.
  bool has_private_memory = false;
  /// Compute with Vulkan's kernels alone, also where functions of the program could work beside them (a processor as the
  /// device). Also by the environment variable HEADLIGHT_KERNELS=shaders.
  bool shaders_only = false;
  /// Fill buffers with NaN before they are given out, where the host can reach them: nothing may depend on what memory held.
  bool poisons_memory = false;
  /// Pretend that the driver compiles a kernel when its pipeline is made, as GPUs' drivers do.
  bool compiles_when_made = false;
  /// Pretend that the computer has been suspended for so long.
  std::function<std::chrono::nanoseconds()> slept = {};
  /// Pretend that the driver refuses to make the pipelines of these kernels, by name.
  std::function<bool(std::string_view kernel)> refuses = {};
  /// A folder of GLSL sources to compile kernels from, instead of those built in: edit a shader, start again, see. Also by
  /// the environment variable HEADLIGHT_SHADERS.
  std::filesystem::path shader_folder = {};
};

/// Counts of calls of vkAllocateMemory and vkCreateBuffer.
struct MemoryCalls {
  std::uint64_t allocations = 0, buffers = 0;

  bool operator==(const MemoryCalls&) const = default;
};

/// One opened device with one compute queue. Everything of gpu/ is made from a context and must not outlive it.
/// Throws Error in one line when there is no Vulkan, no such device, or the device lacks something.
class Context {
 public:
  explicit Context(const ContextOptions& options = {});
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const DeviceInfo& device() const;
  const ContextOptions& options() const;

  /// Returns the validation layer's messages so far, in order. Tests require that there are none.
  std::vector<std::string> validation_messages() const;

  /// Bytes of device memory that buffers of this context hold now.
  std::size_t allocated_bytes() const;

  /// Returns the bytes of device memory that the driver has given: allocated_bytes(), freed buffers that wait to be
  /// used again, and unused parts of blocks.
  std::size_t reserved_bytes() const;

  /// Gives blocks without a buffer in use and waiting buffers back to the driver. For when nothing has been computed
  /// for a while: the next pass may have to ask for memory. Any thread.
  void give_back_unused_memory();

  /// Calls of the driver for memory so far.
  MemoryCalls memory_calls() const;

  /// Returns how often the Vulkan objects of a recording (command pool, fence, query pools) were created so far; a new
  /// recording takes those of one that has ended, if there are any.
  std::uint64_t recordings_created() const;

  /// Returns how often work was handed to the device so far.
  std::uint64_t submissions() const;

  /// Returns how often a stream's work was handed over in a further part because functions of the program had to run
  /// between the two (Stream::run_on_host).
  std::uint64_t host_waits() const;

  /// Multiply-adds that keep the device busy for some 50 ms: what one submission should hold at most, so that the window's
  /// frames find a gap between two of them and no driver takes the device for hung (some do so after 2 s). Measured from
  /// timestamps of long submissions; guessed from the kind of device until then. Infinity on a processor, whose driver has
  /// no such limit.
  double work_per_submission() const;

  /// The Vulkan objects, for the rest of gpu/ only.
  struct Handles;
  Handles& handles() const { return *handles_; }

 private:
  std::unique_ptr<Handles> handles_;
};

}  // namespace headlight::gpu
