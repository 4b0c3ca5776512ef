#include "gpu/device_facts.h"

#include <fmt/ranges.h>

#include "gpu/cooperative_matrices.h"
#include "gpu/handles.h"

namespace headlight::gpu {
namespace {

using Facts = std::vector<DeviceFact>;

std::string limits_text(const DeviceInfo& device, const vk::PhysicalDeviceLimits& limits) {
  return fmt::format(
      "workgroups of {} lanes, {} KiB shared, grids of {} x {} x {}; bindings of {} MiB, {} texels, offsets by {} bytes, {} "
      "bytes of push constants; {} allocations of up to {} MiB",
      device.max_invocations, device.shared_memory_bytes >> 10, device.max_groups[0], device.max_groups[1],
      device.max_groups[2], device.max_storage_range >> 20, device.max_texel_elements, device.offset_alignment,
      limits.maxPushConstantsSize, limits.maxMemoryAllocationCount, device.max_allocation >> 20);
}

void add_memory(Facts& facts, const vk::PhysicalDeviceMemoryProperties& memory) {
  for (std::uint32_t heap = 0; heap < memory.memoryHeapCount; ++heap) {
    std::vector<std::string> types;
    for (std::uint32_t type = 0; type < memory.memoryTypeCount; ++type) {
      if (memory.memoryTypes[type].heapIndex == heap) types.push_back(vk::to_string(memory.memoryTypes[type].propertyFlags));
    }
    const bool is_local = static_cast<bool>(memory.memoryHeaps[heap].flags & vk::MemoryHeapFlagBits::eDeviceLocal);
    facts.push_back({"heaps", fmt::format("heap {}", heap),
                     fmt::format("{} MiB{}, types {}", memory.memoryHeaps[heap].size >> 20,
                                 is_local ? ", of the device" : "", fmt::join(types, " "))});
  }
}

void add_queues(Facts& facts, const Context::Handles& handles) {
  const auto families = handles.physical.getQueueFamilyProperties();
  for (std::uint32_t family = 0; family < families.size(); ++family) {
    facts.push_back({"queues", fmt::format("family {}", family),
                     fmt::format("{} of {}, timestamps of {} bits{}", families[family].queueCount,
                                 vk::to_string(families[family].queueFlags), families[family].timestampValidBits,
                                 family == handles.queue_family ? "; computes here" : "")});
  }
}

/// Only drivers of Vulkan 1.2 state them.
std::string float_controls(const vk::raii::PhysicalDevice& physical) {
  if (physical.getProperties().apiVersion < VK_API_VERSION_1_2) return "not stated: the driver is of Vulkan 1.1";
  const auto chain = physical.getProperties2<vk::PhysicalDeviceProperties2, vk::PhysicalDeviceFloatControlsProperties>();
  const auto& can = chain.get<vk::PhysicalDeviceFloatControlsProperties>();
  std::vector<std::string> words;
  const auto add = [&](vk::Bool32 of_halves, vk::Bool32 of_floats, const char* what) {
    if (of_halves != VK_FALSE) words.push_back(fmt::format("{} of float16", what));
    if (of_floats != VK_FALSE) words.push_back(fmt::format("{} of float32", what));
  };
  add(can.shaderDenormPreserveFloat16, can.shaderDenormPreserveFloat32, "can keep subnormals");
  add(can.shaderDenormFlushToZeroFloat16, can.shaderDenormFlushToZeroFloat32, "can flush subnormals");
  add(can.shaderSignedZeroInfNanPreserveFloat16, can.shaderSignedZeroInfNanPreserveFloat32, "can keep NaN and infinity");
  add(can.shaderRoundingModeRTEFloat16, can.shaderRoundingModeRTEFloat32, "can round to even");
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::vector<DeviceFact> device_facts(const Context& context) {
  const Context::Handles& handles = context.handles();
  const DeviceInfo& device = handles.info;
  const std::string driver = fmt::format("{}, {}, Vulkan {}", device.kind, device.driver, device.api);
  Facts facts{{"driver", device.name, driver},
              {"limits", "limits", limits_text(device, handles.physical.getProperties().limits)}};
  facts.push_back({"limits", "subgroups",
                   fmt::format("{} lanes, {}", device.subgroup_size,
                               device.has_subgroup_shuffle ? "which shuffle" : "without shuffles")});
  add_memory(facts, handles.physical.getMemoryProperties());
  add_queues(facts, handles);
  facts.push_back({"float controls", "float controls", float_controls(handles.physical)});
  const std::vector<std::string> shapes = matrix_shapes(handles.instance, handles.physical);
  facts.push_back({"cooperative matrices", "cooperative matrices",
                   shapes.empty() ? "none" : fmt::format("{}", fmt::join(shapes, ", "))});
  return facts;
}

}  // namespace headlight::gpu
