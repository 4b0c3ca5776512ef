#include "gpu/memory_pool.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "core/error.h"
#include "gpu/context.h"
#include "platform/memory.h"

namespace headlight::gpu {
namespace {

using Flags = vk::MemoryPropertyFlags;
using Flag = vk::MemoryPropertyFlagBits;

constexpr vk::DeviceSize kBlockBytes = vk::DeviceSize{32} << 20;
/// A buffer of a larger part of a block has its own memory: it would leave gaps. Those that share, a small model's weights
/// among them, lie side by side in large pages (use_large_pages()), of which one alone has none at its ends.
constexpr vk::DeviceSize kMaxShared = kBlockBytes * 3 / 8;
/// Larger ones aren't rounded up.
constexpr std::size_t kMaxRounded = std::size_t{4} << 20;
/// The most bytes, and the most buffers, that wait to be used again.
constexpr std::size_t kMaxWaitingBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxWaiting = 512;
/// The bytes that keep waiting where the driver would have to be asked for more memory: the newest buffers, of tiles
/// and logits.
constexpr std::size_t kAlwaysWaitingBytes = std::size_t{4} << 20;

/// The allowed memory types to try, best first, one of each heap.
std::vector<std::uint32_t> choose_types(const Context::Handles& handles, std::uint32_t allowed, Memory memory) {
  const Flags host = Flag::eHostVisible | Flag::eHostCoherent;
  const bool is_on_device = memory == Memory::Device || memory == Memory::Transient;
  const Flags preferred = is_on_device               ? Flags(Flag::eDeviceLocal)
                          : memory == Memory::Upload ? host
                                                     : host | Flag::eHostCached;
  // Memory that is both, where the machine has only such memory: writing weights needs no copy then.
  const bool is_shared = handles.info.kind != "discrete GPU" && !handles.options.has_private_memory;
  std::vector<Flags> wishes{preferred, is_on_device ? Flags() : host};
  if (is_on_device && is_shared) wishes.insert(wishes.begin(), host | Flag::eDeviceLocal);
  std::vector<std::uint32_t> types;
  const auto has_heap_of = [&](std::uint32_t type) {
    return std::ranges::any_of(types, [&](std::uint32_t other) {
      return handles.memory.memoryTypes[other].heapIndex == handles.memory.memoryTypes[type].heapIndex;
    });
  };
  for (const Flags wanted : wishes) {
    // The computer's memory takes the place of a discrete GPU's only where the GPU lists none: over the bus, kernels crawl.
    if (!types.empty() && is_on_device && wanted == Flags() && !is_shared) break;
    for (std::uint32_t type = 0; type < handles.memory.memoryTypeCount; ++type) {
      const bool is_allowed = (allowed >> type & 1u) != 0;
      const Flags has = handles.memory.memoryTypes[type].propertyFlags;
      if (is_allowed && (has & wanted) == wanted && !has_heap_of(type)) types.push_back(type);
    }
  }
  if (!types.empty()) return types;
  throw Error("the device '{}' offers no memory that the host can see; choose another device", handles.info.name);
}

vk::BufferUsageFlags usage_of(Memory memory) {
  using Usage = vk::BufferUsageFlagBits;
  if (memory == Memory::Upload) return Usage::eTransferSrc;
  if (memory == Memory::Readback) return Usage::eTransferDst;
  return Usage::eStorageBuffer | Usage::eUniformTexelBuffer | Usage::eTransferSrc | Usage::eTransferDst;
}

/// Buffers that are made for a moment are rounded up, four sizes to each power of two, so that one of a slightly other size
/// can be used again.
std::size_t rounded(std::size_t bytes, Memory memory) {
  if (memory == Memory::Device || bytes > kMaxRounded) return bytes;
  constexpr std::size_t kMin = 4096;
  if (bytes <= kMin) return kMin;
  const std::size_t step = std::bit_floor(bytes) / 4;
  return (bytes + step - 1) / step * step;
}

bool is_unused(const std::shared_ptr<MemoryBlock>& block) {
  return block->unused.size() == 1 && block->unused.begin()->second == block->size;
}

constexpr vk::DeviceSize align(vk::DeviceSize offset, vk::DeviceSize alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

}  // namespace

MemoryRange::MemoryRange(MemoryPool* pool, std::shared_ptr<MemoryBlock> block, vk::DeviceSize offset, vk::DeviceSize size)
    : pool_(pool), block_(std::move(block)), offset_(offset), size_(size) {}
MemoryRange::MemoryRange(MemoryRange&& other) noexcept { *this = std::move(other); }
MemoryRange& MemoryRange::operator=(MemoryRange&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(block_, other.block_);
  std::swap(offset_, other.offset_);
  std::swap(size_, other.size_);
  return *this;
}
MemoryRange::~MemoryRange() {
  if (block_) pool_->free_range(block_, offset_, size_);
}
vk::DeviceMemory MemoryRange::memory() const { return *block_->memory; }
std::uint32_t MemoryRange::type() const { return block_->type; }
bool MemoryRange::is_host_cached() const { return block_->is_host_cached; }
std::span<std::byte> MemoryRange::mapped() const {
  return block_->mapped.empty() ? block_->mapped : block_->mapped.subspan(offset_, size_);
}

MemoryPool::~MemoryPool() {
  const std::scoped_lock lock(mutex_);
  waiting_.clear();
}

MemoryCalls MemoryPool::calls() const {
  const std::scoped_lock lock(mutex_);
  return calls_;
}

std::unique_ptr<Buffer::Handles> MemoryPool::take(std::size_t bytes, Memory memory) {
  const bool is_on_device = memory == Memory::Device || memory == Memory::Transient;
  std::size_t size = rounded(bytes, memory);
  if (is_on_device && context_.info.compiles_when_run) size = size_with_room(size);
  const std::scoped_lock lock(mutex_);
  const auto fits = [&](const auto& waiting) { return waiting->size == size && waiting->memory == memory; };
  const auto found = std::ranges::find_if(waiting_, fits);
  if (found != waiting_.end()) {
    std::unique_ptr<Buffer::Handles> handles = std::move(*found);
    waiting_.erase(found);
    waiting_bytes_ -= size;
    return handles;
  }
  try {
    return make(size, memory);
  } catch (const vk::OutOfDeviceMemoryError&) {
    if (waiting_.empty()) throw;
  } catch (const vk::OutOfHostMemoryError&) {
    if (waiting_.empty()) throw;
  }
  trim(0);
  std::erase_if(blocks_, is_unused);
  return make(size, memory);
}

std::unique_ptr<Buffer::Handles> MemoryPool::make(std::size_t size, Memory memory) {
  auto handles = std::make_unique<Buffer::Handles>();
  handles->size = size;
  handles->memory = memory;
  handles->buffer = vk::raii::Buffer(context_.device, vk::BufferCreateInfo{.size = size, .usage = usage_of(memory)});
  ++calls_.buffers;
  const vk::MemoryRequirements needs = handles->buffer.getMemoryRequirements();
  const std::vector<std::uint32_t> types = choose_types(context_, needs.memoryTypeBits, memory);
  for (const std::uint32_t type : types) {
    try {
      handles->range = find_range(needs, type);
      break;
    } catch (const vk::OutOfDeviceMemoryError&) {  // a heap is full; there may be others
      if (type == types.back()) throw;
    }
  }
  handles->buffer.bindMemory(handles->range.memory(), handles->range.offset());
  return handles;
}

MemoryRange MemoryPool::find_range(const vk::MemoryRequirements& needs, std::uint32_t type) {
  if (needs.size > kMaxShared) {
    trim(kAlwaysWaitingBytes);
    return range_in(make_block(needs.size, type), needs);
  }
  MemoryRange range = range_in_blocks(needs, type);
  if (range.is_empty() && waiting_bytes_ > kAlwaysWaitingBytes) {
    trim(kAlwaysWaitingBytes);  // what a shorter text's run left behind makes room for the longer one's
    range = range_in_blocks(needs, type);
  }
  if (!range.is_empty()) return range;
  std::shared_ptr<MemoryBlock> block;
  try {
    const vk::DeviceSize most = context_.info.max_allocation;
    block = make_block(most == 0 ? kBlockBytes : std::min<vk::DeviceSize>(kBlockBytes, most), type);
  } catch (const vk::OutOfDeviceMemoryError&) {
    return range_in(make_block(needs.size, type), needs);  // nearly full: just what is needed
  }
  blocks_.push_back(block);
  return range_in(block, needs);
}

MemoryRange MemoryPool::range_in_blocks(const vk::MemoryRequirements& needs, std::uint32_t type) {
  for (const std::shared_ptr<MemoryBlock>& block : blocks_) {
    if (block->type != type) continue;
    MemoryRange range = range_in(block, needs);
    if (!range.is_empty()) return range;
  }
  return {};
}

MemoryRange MemoryPool::range_in(const std::shared_ptr<MemoryBlock>& block, const vk::MemoryRequirements& needs) {
  for (auto unused = block->unused.begin(); unused != block->unused.end(); ++unused) {
    const auto [begin, length] = *unused;
    const vk::DeviceSize offset = align(begin, needs.alignment), end = offset + needs.size;
    if (end > begin + length) continue;
    block->unused.erase(unused);
    if (offset > begin) block->unused.emplace(begin, offset - begin);
    if (end < begin + length) block->unused.emplace(end, begin + length - end);
    return {this, block, offset, needs.size};
  }
  return {};
}

std::shared_ptr<MemoryBlock> MemoryPool::make_block(vk::DeviceSize size, std::uint32_t type) {
  const auto count_out = [this](MemoryBlock* gone) {
    reserved_bytes_ -= gone->size;
    std::default_delete<MemoryBlock>()(gone);
  };
  const std::shared_ptr<MemoryBlock> block(std::make_unique<MemoryBlock>().release(), count_out);
  block->memory =
      vk::raii::DeviceMemory(context_.device, vk::MemoryAllocateInfo{.allocationSize = size, .memoryTypeIndex = type});
  ++calls_.allocations;
  block->type = type;
  block->size = size;
  reserved_bytes_ += size;
  block->unused.emplace(0, size);
  const Flags flags = context_.memory.memoryTypes[type].propertyFlags;
  block->is_host_cached = static_cast<bool>(flags & Flag::eHostCached);
  if ((flags & Flag::eHostVisible) && (flags & Flag::eHostCoherent)) {
    void* mapped = block->memory.mapMemory(0, VK_WHOLE_SIZE);
    // llvmpipe of Mesa 26 succeeds with mmap()'s -1 where address space is short.
    constexpr std::uintptr_t kNoAddress = ~std::uintptr_t{0};
    if (mapped == nullptr || reinterpret_cast<std::uintptr_t>(mapped) == kNoAddress) {
      throw vk::OutOfHostMemoryError("vkMapMemory");
    }
    block->mapped = {static_cast<std::byte*>(mapped), size};
    // A processor's device memory is the process' own: with large pages half a gigabyte of weights costs hundreds of page
    // faults instead of a hundred thousand, and reading it fewer misses of the address cache.
    if (context_.info.is_cpu) platform::use_large_pages(block->mapped);
  }
  return block;
}

void MemoryPool::free_range(const std::shared_ptr<MemoryBlock>& block, vk::DeviceSize offset, vk::DeviceSize size) {
  const std::scoped_lock lock(mutex_);
  const auto next = block->unused.lower_bound(offset);
  if (next != block->unused.end() && next->first == offset + size) {
    size += next->second;
    block->unused.erase(next);
  }
  const auto after = block->unused.lower_bound(offset);
  if (after != block->unused.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      block->unused.erase(before);
    }
  }
  block->unused.emplace(offset, size);
  if (size < block->size) return;
  // One unused block of a type stays: the next small buffer would allocate it again.
  const auto is_spare = [&](const auto& other) { return other != block && other->type == block->type && is_unused(other); };
  if (std::ranges::any_of(blocks_, is_spare)) std::erase(blocks_, block);
}

void MemoryPool::give_back(std::unique_ptr<Buffer::Handles> handles) noexcept {
  const std::scoped_lock lock(mutex_);
  if (handles->size > kMaxWaitingBytes / 4) return;  // freed
  try {
    waiting_bytes_ += handles->size;
    waiting_.push_back(std::move(handles));
    trim(kMaxWaitingBytes);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): then it is freed
  }
}

void MemoryPool::give_back_unused() {
  const std::scoped_lock lock(mutex_);
  trim(0);  // even one small buffer would keep its whole block
  std::erase_if(blocks_, is_unused);
}

void MemoryPool::trim(std::size_t most_bytes) {
  std::size_t count = 0;
  while (count < waiting_.size() && (waiting_bytes_ > most_bytes || waiting_.size() - count > kMaxWaiting)) {
    waiting_bytes_ -= waiting_[count++]->size;
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace headlight::gpu
