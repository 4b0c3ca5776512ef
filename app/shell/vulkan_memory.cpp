#include "app/shell/vulkan_handles.h"
#include "core/error.h"

namespace headlight::shell {

std::uint32_t find_memory_type(const vk::PhysicalDeviceMemoryProperties& memory, std::uint32_t type_bits,
                               vk::MemoryPropertyFlags required, vk::MemoryPropertyFlags preferred) {
  for (const vk::MemoryPropertyFlags wanted : {required | preferred, required}) {
    for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
      const bool is_allowed = (type_bits >> i & 1U) != 0;
      if (is_allowed && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
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
  const std::uint32_t type =
      find_memory_type(handles.memory, needs.memoryTypeBits, Property::eHostVisible | Property::eHostCoherent, preferred);
  memory = vk::raii::DeviceMemory(handles.device, {.allocationSize = needs.size, .memoryTypeIndex = type});
  buffer.bindMemory(*memory, 0);
  data = memory.mapMemory(0, VK_WHOLE_SIZE);
}

}  // namespace headlight::shell
