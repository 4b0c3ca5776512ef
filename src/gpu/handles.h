#pragma once

// Sees Vulkan-Hpp; included by gpu/*.cpp alone, because it costs seconds to compile.
#include <atomic>

#include "core/sleep_watch.h"
#include "gpu/context.h"
#include "gpu/instance.h"
#include "gpu/kernel.h"

namespace headlight::gpu {

class IdleRecordings;
class MemoryPool;
class Staging;

struct Context::Handles {
  ContextOptions options;
  DeviceInfo info;
  ValidationLog validation;

  vk::raii::Context loader;
  vk::raii::Instance instance = nullptr;
  vk::raii::DebugUtilsMessengerEXT messenger = nullptr;
  vk::raii::PhysicalDevice physical = nullptr;
  vk::raii::Device device = nullptr;
  vk::raii::Queue queue = nullptr;
  std::uint32_t queue_family = 0;
  vk::PhysicalDeviceMemoryProperties memory;
  std::shared_ptr<MemoryPool> memory_pool;
  std::atomic<std::size_t> allocated_bytes{0};
  std::atomic<std::uint64_t> recordings_created{0};
  std::atomic<std::uint64_t> submissions{0};
  std::atomic<std::uint64_t> host_waits{0};
  std::optional<SleepWatch> sleep;  ///< since the device was opened
  double work_per_ms = 0.0;         ///< multiply-adds of a millisecond, as measured last; 0: not yet
  std::shared_ptr<IdleRecordings> idle_recordings;
  std::shared_ptr<Staging> staging;  ///< while something is written that the host can't reach
};

/// Fills everything about a physical device but its index.
DeviceInfo describe(const vk::raii::Instance& instance, const vk::raii::PhysicalDevice& physical);

/// See choose_compute_family().
std::optional<std::uint32_t> find_compute_family(const vk::raii::PhysicalDevice& physical);

struct Kernel::Handles {
  Context* context = nullptr;
  vk::raii::ShaderModule module = nullptr;  ///< until the pipeline is made
  vk::raii::DescriptorSetLayout set_layout = nullptr;
  vk::raii::PipelineLayout layout = nullptr;
  vk::raii::Pipeline pipeline = nullptr;
};

}  // namespace headlight::gpu
