#pragma once

#include <bit>

#include "gpu/buffer.h"
#include "gpu/handles.h"

namespace headlight::gpu {

/// llvmpipe compiles a kernel again for texel buffers of another kind of size: where the buffer's is a power of two, and
/// where bits 8 to 15 of the view's are zero, which it takes for a mip level. Where a kernel is compiled when it runs,
/// buffers have room after their bytes and some views reach into it, so that one compiled kernel serves them all.
inline constexpr std::size_t kViewRoom = 256;

inline std::size_t size_with_room(std::size_t bytes) {
  const std::size_t size = bytes + kViewRoom;
  return std::has_single_bit(size) ? size + kViewRoom : size;
}

inline std::size_t view_size(std::size_t bytes) {
  constexpr std::size_t kLevelBits = 0xff00;
  return (bytes & kLevelBits) == 0 ? bytes + kViewRoom : bytes;
}

class MemoryPool;
struct MemoryBlock;

/// A part of a block of device memory; returned when it goes.
struct MemoryRange {
  MemoryRange() = default;
  MemoryRange(MemoryPool* pool, std::shared_ptr<MemoryBlock> block, vk::DeviceSize offset, vk::DeviceSize size);
  MemoryRange(MemoryRange&&) noexcept;
  MemoryRange& operator=(MemoryRange&&) noexcept;
  ~MemoryRange();

  bool is_empty() const { return block_ == nullptr; }
  vk::DeviceMemory memory() const;
  vk::DeviceSize offset() const { return offset_; }
  std::uint32_t type() const;
  /// Empty where the host can't reach it.
  std::span<std::byte> mapped() const;
  bool is_host_cached() const;

 private:
  MemoryPool* pool_ = nullptr;
  std::shared_ptr<MemoryBlock> block_;
  vk::DeviceSize offset_ = 0, size_ = 0;
};

struct Buffer::Handles {
  MemoryRange range;
  vk::raii::Buffer buffer = nullptr;
  std::size_t size = 0;  ///< of the buffer, at least what was asked for
  Memory memory = Memory::Device;
};

}  // namespace headlight::gpu
