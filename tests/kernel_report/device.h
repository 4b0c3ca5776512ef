#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <vulkan/vulkan.h>

#include "gpu/kernel.h"

namespace headlight::kernel_report {

/// What a driver says about the machine code of one kernel, by the driver's own names: "VGPRs", "Spilled VGPRs", "Scratch
/// size".
using Statistics = std::map<std::string, double>;

/// Milliseconds of this process' processor time; llvmpipe compiles in it, and other programs don't count.
struct CompileTime {
  double create_ms = 0.0;  ///< vkCreateComputePipelines
  double first_ms = 0.0;   ///< the first dispatch, in which llvmpipe compiles
  double second_ms = 0.0;  ///< the same again
};

/// The loader's first device, with everything on that pipeline statistics need. It may be one that can't execute, like
/// RADV's null hardware. Throws Error on any failure. The program ends with it: nothing is freed.
class Device {
 public:
  Device();

  const std::string& name() const { return name_; }
  /// Does the driver describe its machine code (VK_KHR_pipeline_executable_properties)?
  bool has_statistics() const { return has_statistics_; }

  Statistics statistics(const gpu::KernelSource& source) const;
  /// Dispatches no workgroup at all: the compiler runs, the kernel doesn't.
  CompileTime compile_time(const gpu::KernelSource& source) const;

 private:
  struct Pipeline;
  Pipeline create(const gpu::KernelSource& source) const;
  /// A set whose bindings are all the same small buffer.
  VkDescriptorSet bind_buffer(const Pipeline& pipeline) const;
  std::uint32_t memory_type(std::uint32_t allowed) const;

  std::string name_;
  bool has_statistics_ = false;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
};

}  // namespace headlight::kernel_report
