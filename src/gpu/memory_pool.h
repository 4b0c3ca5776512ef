#pragma once

#include <map>

#include "gpu/buffer_handles.h"
#include "gpu/handles.h"

namespace headlight::gpu {

/// One piece of a device's memory, from which ranges are given out.
struct MemoryBlock {
  vk::raii::DeviceMemory memory = nullptr;
  std::uint32_t type = 0;
  bool is_host_cached = false;
  vk::DeviceSize size = 0;
  std::span<std::byte> mapped;                      ///< all of it, where the host can reach it
  std::map<vk::DeviceSize, vk::DeviceSize> unused;  ///< offset → size; neighbours are joined
};

/// The memory of a context's buffers. Small buffers share blocks, so that a model of a thousand tensors needs a few dozen
/// allocations (a driver may allow only 4,096); a large one has its own. Freed buffers wait, up to a limit, for a buffer of
/// the same use and size: what every keystroke makes and frees costs no call of the driver. Most of them go before the
/// driver is asked for more memory. Any thread.
class MemoryPool {
 public:
  explicit MemoryPool(Context::Handles& context) : context_(context) {}
  ~MemoryPool();

  /// A buffer of at least that many bytes with memory behind it. Throws vk::SystemError, an Error when the device has no
  /// memory of that kind.
  std::unique_ptr<Buffer::Handles> take(std::size_t bytes, Memory memory);
  /// Keeps a buffer that nothing uses any more, or frees it.
  void give_back(std::unique_ptr<Buffer::Handles> handles) noexcept;

  /// Frees waiting buffers and blocks without a buffer. Called while nothing is computed.
  void give_back_unused();

  /// Returns the bytes that the driver has given: in use, waiting, and the unused parts of blocks.
  std::size_t reserved_bytes() const { return reserved_bytes_; }
  MemoryCalls calls() const;

 private:
  friend struct MemoryRange;
  std::unique_ptr<Buffer::Handles> make(std::size_t size, Memory memory);
  MemoryRange find_range(const vk::MemoryRequirements& needs, std::uint32_t type);
  /// Empty: no block has so much unused memory in one piece.
  MemoryRange range_in_blocks(const vk::MemoryRequirements& needs, std::uint32_t type);
  MemoryRange range_in(const std::shared_ptr<MemoryBlock>& block, const vk::MemoryRequirements& needs);
  std::shared_ptr<MemoryBlock> make_block(vk::DeviceSize size, std::uint32_t type);
  void free_range(const std::shared_ptr<MemoryBlock>& block, vk::DeviceSize offset, vk::DeviceSize size);
  /// Frees waiting buffers, those that have waited longest first, until at most so many bytes are left.
  void trim(std::size_t most_bytes);

  Context::Handles& context_;
  mutable std::recursive_mutex mutex_;           ///< freeing a waiting buffer frees its range
  std::atomic<std::size_t> reserved_bytes_ = 0;  ///< blocks count themselves out of it
  std::vector<std::shared_ptr<MemoryBlock>> blocks_;
  std::vector<std::unique_ptr<Buffer::Handles>> waiting_;  ///< longest first
  std::size_t waiting_bytes_ = 0;
  MemoryCalls calls_;
};

}  // namespace headlight::gpu
