#include "gpu/buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <optional>

#include "core/error.h"
#include "gpu/buffer_handles.h"
#include "gpu/context.h"
#include "gpu/failure.h"
#include "gpu/staging.h"

namespace headlight::gpu {
namespace {

using Flags = vk::MemoryPropertyFlags;
using Flag = vk::MemoryPropertyFlagBits;

/// First memory type that is allowed and has all of `wanted`.
std::optional<std::uint32_t> find_type(const vk::PhysicalDeviceMemoryProperties& memory, std::uint32_t allowed,
                                       Flags wanted) {
  for (std::uint32_t type = 0; type < memory.memoryTypeCount; ++type) {
    if ((allowed >> type & 1u) != 0 && (memory.memoryTypes[type].propertyFlags & wanted) == wanted) return type;
  }
  return std::nullopt;
}

std::uint32_t choose_type(const Context::Handles& handles, std::uint32_t allowed, Memory memory) {
  const Flags host = Flag::eHostVisible | Flag::eHostCoherent;
  const Flags preferred[] = {Flag::eDeviceLocal, host, host | Flag::eHostCached};
  const Flags needed[] = {{}, host, host};
  const auto index = static_cast<std::size_t>(memory);
  // Memory that is both, where the machine has only such memory: writing weights needs no copy then.
  const bool is_shared = handles.info.kind != "discrete GPU" && !handles.options.has_private_memory;
  if (memory == Memory::Device && is_shared) {
    if (const auto type = find_type(handles.memory, allowed, host | Flag::eDeviceLocal)) return *type;
  }
  if (const auto type = find_type(handles.memory, allowed, preferred[index])) return *type;
  if (const auto type = find_type(handles.memory, allowed, needed[index])) return *type;
  throw Error("the device '{}' offers no memory that the host can see; choose another device", handles.info.name);
}

/// A processor's device memory is the process' own: with large pages half a gigabyte of weights costs hundreds of page
/// faults instead of a hundred thousand, and reading it fewer misses of the address cache. A wish; without it nothing is
/// lost.
void use_large_pages(std::span<std::byte> memory) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory.data()) + kLargePage - 1) / kLargePage * kLargePage;
  const auto end = reinterpret_cast<std::uintptr_t>(memory.data() + memory.size()) / kLargePage * kLargePage;
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
  static_cast<void>(memory);
#endif
}

vk::BufferUsageFlags usage_of(Memory memory) {
  using Usage = vk::BufferUsageFlagBits;
  switch (memory) {
    case Memory::Upload:
      return Usage::eTransferSrc;
    case Memory::Readback:
      return Usage::eTransferDst;
    case Memory::Device:
      break;
  }
  return Usage::eStorageBuffer | Usage::eUniformTexelBuffer | Usage::eTransferSrc | Usage::eTransferDst;
}

}  // namespace

Buffer::Buffer(Context& context, std::size_t bytes, Memory memory, std::string_view purpose) : size_(bytes) {
  if (bytes == 0) return;
  Context::Handles& device = context.handles();
  const auto refuse = [&] {
    const double mib = 1024.0 * 1024.0;
    throw Error(
        ErrorKind::OutOfDeviceMemory,
        "the device '{}' can't hold {}: {:.1f} MiB needed, {:.1f} MiB there are ({:.1f} MiB in use); make the text or the "
        "model smaller",
        device.info.name, purpose, static_cast<double>(bytes) / mib, static_cast<double>(device.info.memory_bytes) / mib,
        static_cast<double>(device.allocated_bytes.load()) / mib);
  };
  if (memory == Memory::Device && device.allocated_bytes + bytes > device.info.memory_bytes) refuse();
  if (device.info.max_allocation != 0 && bytes > device.info.max_allocation) refuse();
  handles_ = std::make_unique<Handles>();
  handles_->context = &context;
  try {
    const bool has_room = memory == Memory::Device && device.info.compiles_when_run;
    const std::size_t size = has_room ? size_with_room(bytes) : bytes;
    handles_->buffer = vk::raii::Buffer(device.device, vk::BufferCreateInfo{.size = size, .usage = usage_of(memory)});
    const vk::MemoryRequirements needs = handles_->buffer.getMemoryRequirements();
    const std::uint32_t type = choose_type(device, needs.memoryTypeBits, memory);
    handles_->memory =
        vk::raii::DeviceMemory(device.device, vk::MemoryAllocateInfo{.allocationSize = needs.size, .memoryTypeIndex = type});
    handles_->buffer.bindMemory(*handles_->memory, 0);
    handles_->allocated = bytes;
    device.allocated_bytes += bytes;
    const Flags flags = device.memory.memoryTypes[type].propertyFlags;
    const bool is_hidden = memory == Memory::Device && device.options.has_private_memory;
    if ((flags & Flag::eHostVisible) && (flags & Flag::eHostCoherent) && !is_hidden) {
      mapped_ = {static_cast<std::byte*>(handles_->memory.mapMemory(0, VK_WHOLE_SIZE)), bytes};
      if (device.info.is_cpu) use_large_pages(mapped_);
    }
  } catch (const vk::OutOfDeviceMemoryError&) {
    refuse();
  } catch (const vk::OutOfHostMemoryError&) {
    refuse();
  } catch (const vk::MemoryMapFailedError&) {
    refuse();
  } catch (const vk::SystemError& error) {
    fail(device.info, error);
  }
}

Buffer::Handles::~Handles() {
  Context::Handles& device = context->handles();
  if (device.staging) device.staging->let_go_of(static_cast<VkBuffer>(*buffer));
  device.allocated_bytes -= allocated;
}

Buffer::Buffer() = default;
Buffer::~Buffer() = default;
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;

}  // namespace headlight::gpu
