#pragma once

// The only header that sees Vulkan-Hpp; included by gpu/*.cpp alone, because it costs seconds to compile.
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include <vulkan/vulkan_raii.hpp>

#include "gpu/context.h"

namespace headlight::gpu {

/// Collects what the validation layer says; the driver may call it from any thread.
struct ValidationLog {
  std::mutex mutex;
  std::vector<std::string> messages;
};

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
  std::atomic<std::size_t> allocated_bytes{0};
  std::atomic<std::uint64_t> submissions{0};
};

/// Fills everything about a physical device but its index.
DeviceInfo describe(const vk::raii::PhysicalDevice& physical);

/// Family with compute (and timestamps if any has), or nullopt.
std::optional<std::uint32_t> find_compute_family(const vk::raii::PhysicalDevice& physical);

}  // namespace headlight::gpu
