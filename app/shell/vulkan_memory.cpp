#include <algorithm>

#include "app/shell/vulkan_handles.h"
#include "core/error.h"

namespace headlight::shell {
namespace {

/// Returns the allowed types, those with the preferred properties first.
std::vector<std::uint32_t> find_memory_types(const vk::PhysicalDeviceMemoryProperties& memory, std::uint32_t type_bits,
                                             vk::MemoryPropertyFlags required, vk::MemoryPropertyFlags preferred) {
  std::vector<std::uint32_t> types;
  for (const vk::MemoryPropertyFlags wanted : {required | preferred, required}) {
    for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
      const bool is_allowed = (type_bits >> i & 1U) != 0 && std::ranges::find(types, i) == types.end();
      if (is_allowed && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) types.push_back(i);
    }
  }
  return types;
}

}  // namespace

vk::raii::DeviceMemory allocate_memory(const RenderDevice::Handles& handles, const vk::MemoryRequirements& needs,
                                       vk::MemoryPropertyFlags required, vk::MemoryPropertyFlags preferred) {
  const auto types = find_memory_types(handles.memory, needs.memoryTypeBits, required, preferred);
  for (const std::uint32_t type : types) {
    try {
      return {handles.device, vk::MemoryAllocateInfo{.allocationSize = needs.size, .memoryTypeIndex = type}};
    } catch (const vk::OutOfDeviceMemoryError&) {
      if (type == types.back()) throw;
    }
  }
  throw Error("the graphics device has no memory that is {}; choose another device", vk::to_string(required));
}

MappedBuffer::MappedBuffer(const RenderDevice::Handles& handles, std::size_t size, vk::BufferUsageFlags usage,
                           vk::MemoryPropertyFlags preferred)
    : bytes(size) {
  using Property = vk::MemoryPropertyFlagBits;
  buffer = vk::raii::Buffer(handles.device, vk::BufferCreateInfo{.size = size, .usage = usage});
  const vk::MemoryRequirements needs = buffer.getMemoryRequirements();
  memory = allocate_memory(handles, needs, Property::eHostVisible | Property::eHostCoherent, preferred);
  buffer.bindMemory(*memory, 0);
  data = memory.mapMemory(0, VK_WHOLE_SIZE);
}

}  // namespace headlight::shell
