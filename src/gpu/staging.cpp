#include "gpu/staging.h"

#include <algorithm>
#include <cstring>

#include "gpu/buffer_handles.h"
#include "gpu/failure.h"

namespace headlight::gpu {
namespace {

constexpr std::size_t kHalfBytes = std::size_t{16} << 20;

}  // namespace

Staging::~Staging() = default;  // what runs waits for itself

void Staging::write(const Buffer& to, std::size_t offset, std::span<const std::byte> bytes) {
  const VkBuffer target = static_cast<VkBuffer>(*to.handles().buffer);
  while (!bytes.empty()) {
    if (halves_[current_].used == kHalfBytes) {
      flush();
      current_ = 1 - current_;
    }
    Half& half = halves_[current_];
    if (half.submission) wait(half);
    if (half.buffer.is_empty())
      half.buffer = Buffer(context_, kHalfBytes, Memory::Upload, "weights on their way to the device");
    const std::size_t count = std::min(bytes.size(), kHalfBytes - half.used);
    std::memcpy(half.buffer.mapped().data() + half.used, bytes.data(), count);
    guarded(context_.handles(), [&] {
      if (!half.recording) half.recording = std::make_unique<Recording>(context_);
      half.recording->order({}, {&target, 1});
      half.recording->commands().copyBuffer(*half.buffer.handles().buffer, target,
                                            vk::BufferCopy{.srcOffset = half.used, .dstOffset = offset, .size = count});
    });
    half.targets.insert(target);
    half.used += count;
    offset += count;
    bytes = bytes.subspan(count);
  }
}

void Staging::flush() {
  if (failure_) std::rethrow_exception(failure_);
  Half& half = halves_[current_];
  if (!half.recording) return;
  std::unique_ptr<Recording> recording = std::move(half.recording);
  try {
    guarded(context_.handles(), [&] { recording->submit(); });
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
  half.submission.emplace(std::move(recording));
}

void Staging::wait(Half& half) {
  half.submission->wait();
  half.submission.reset();
  half.targets.clear();
  half.used = 0;
}

void Staging::finish() {
  flush();
  for (Half& half : halves_) {
    if (half.submission) wait(half);
  }
}

void Staging::let_go_of(VkBuffer target) noexcept {
  const bool is_target =
      std::any_of(halves_.begin(), halves_.end(), [&](const Half& half) { return half.targets.contains(target); });
  if (!is_target) return;
  try {
    flush();
  } catch (...) {
    failure_ = std::current_exception();
  }
  for (Half& half : halves_) {
    half.submission.reset();  // waits, whatever became of the copies
    half.targets.clear();
    half.used = 0;
  }
}

}  // namespace headlight::gpu
