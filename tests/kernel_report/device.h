#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <vulkan/vulkan.h>

#include "gpu/kernel.h"

namespace headlight::kernel_report {

/// A driver's statistics of one kernel's machine code, by the driver's names: "VGPRs", "Spilled VGPRs", "Scratch size".
using Statistics = std::map<std::string, double>;

/// Milliseconds of this process' CPU time, in which llvmpipe compiles; other programs' time is excluded.
struct CompileTime {
  double create_ms = 0.0;  ///< vkCreateComputePipelines
  double first_ms = 0.0;   ///< the first dispatch, in which llvmpipe compiles
  double second_ms = 0.0;  ///< the same again
};

/// The loader's first device, with the features for pipeline statistics. It may be one that can't execute, like RADV's null
/// hardware. Throws Error on any failure. Nothing is freed, because the program ends with it.
class Device {
 public:
  Device();

  const std::string& name() const { return name_; }
  /// Does the driver describe its machine code (VK_KHR_pipeline_executable_properties)?
  bool has_statistics() const { return has_statistics_; }
  /// Does it compile kernels that multiply matrices of float16 (gpu::kMatrixExtensions)?
  bool has_matrices() const { return has_matrices_; }
  /// Is the device the processor?
  bool is_cpu() const { return is_cpu_; }

  Statistics statistics(const gpu::KernelSource& source) const;
  /// The driver's listing of the machine code; empty where it gives none.
  std::string assembly(const gpu::KernelSource& source) const;
  /// Dispatches zero workgroups: the compiler runs, the kernel doesn't.
  CompileTime compile_time(const gpu::KernelSource& source) const;

 private:
  struct Pipeline;
  Pipeline create(const gpu::KernelSource& source) const;
  /// A descriptor set whose bindings are all the same small buffer.
  VkDescriptorSet bind_buffer(const Pipeline& pipeline) const;
  std::uint32_t memory_type(std::uint32_t allowed) const;

  std::string name_;
  bool has_statistics_ = false, has_matrices_ = false, is_cpu_ = false;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
};

}  // namespace headlight::kernel_report
