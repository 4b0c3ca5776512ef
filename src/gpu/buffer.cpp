#include "gpu/buffer.h"

#include <algorithm>

#include "core/error.h"
#include "gpu/buffer_handles.h"
#include "gpu/context.h"
#include "gpu/failure.h"
#include "gpu/memory_pool.h"
#include "gpu/staging.h"

namespace headlight::gpu {

Buffer::Buffer(Context& context, std::size_t bytes, Memory memory, std::string_view purpose)
    : context_(&context), size_(bytes) {
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
  const bool is_on_device = memory == Memory::Device || memory == Memory::Transient;
  if (is_on_device && device.allocated_bytes + bytes > device.info.memory_bytes) refuse();
  if (device.info.max_allocation != 0 && bytes > device.info.max_allocation) refuse();
  try {
    handles_ = device.memory_pool->take(bytes, memory);
    device.allocated_bytes += bytes;
    const std::span<std::byte> mapped = handles_->range.mapped();
    const bool is_hidden = is_on_device && device.options.has_private_memory;
    if (device.options.poisons_memory) std::ranges::fill(mapped, std::byte{0xff});
    if (!mapped.empty() && !is_hidden) mapped_ = mapped.first(bytes);
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

bool Buffer::is_host_cached() const { return !mapped_.empty() && handles_->range.is_host_cached(); }

void Buffer::free() {
  if (!handles_) return;
  Context::Handles& device = context_->handles();
  if (device.staging) device.staging->let_go_of(static_cast<VkBuffer>(*handles_->buffer));
  device.allocated_bytes -= size_;
  device.memory_pool->give_back(std::move(handles_));
}

Buffer::Buffer() = default;
Buffer::~Buffer() { free(); }
Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }
Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  free();
  context_ = std::exchange(other.context_, nullptr);
  handles_ = std::move(other.handles_);
  mapped_ = std::exchange(other.mapped_, {});
  size_ = std::exchange(other.size_, 0);
  return *this;
}

}  // namespace headlight::gpu
