#include "gpu/submission.h"

#include <cassert>
#include <limits>

#include "core/error.h"
#include "gpu/failure.h"
#include "gpu/recording.h"

namespace headlight::gpu {
namespace {

std::uint64_t read_timestamp(const Recording& recording, std::uint32_t index) {
  return guarded(recording.context->handles(), [&] {
    const auto [result, value] =
        recording.timestamps.getResult<std::uint64_t>(index, 1, sizeof(std::uint64_t), vk::QueryResultFlagBits::e64);
    return result == vk::Result::eSuccess ? value : 0;
  });
}

}  // namespace

Submission::Submission(std::unique_ptr<Recording> recording) : recording_(std::move(recording)) {}
Submission::Submission(Submission&&) noexcept = default;
Submission& Submission::operator=(Submission&& other) noexcept {
  std::swap(recording_, other.recording_);  // the other one waits for ours when it goes
  return *this;
}

Submission::~Submission() {
  if (recording_) finish();
}

void Submission::finish() noexcept {
  constexpr int kAttempts = 3;  // a driver that lacks memory for waiting may have some a moment later
  for (int i = 0; i < kAttempts; ++i) {
    try {
      return wait();
    } catch (const std::exception& error) {
      if (recording_->is_finished) return;
      if (kind_of(error) == ErrorKind::DeviceLost) break;
    }
  }
  try {
    return recording_->context->handles().queue.waitIdle();
  } catch (const vk::DeviceLostError&) {
    return;                          // twice: it runs nothing any more
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): there is no other way to wait
  }
  // The device may still be using what the recording holds: it is never freed.
  static_cast<void>(recording_.release());
}

bool Submission::is_ready() const {
  return recording_->is_finished ||
         guarded(recording_->context->handles(), [&] { return recording_->fence.getStatus() == vk::Result::eSuccess; });
}

void Submission::wait() {
  if (recording_->is_finished) return;
  const Context::Handles& handles = recording_->context->handles();
  guarded(handles, [&] {
    if (handles.device.waitForFences(*recording_->fence, VK_TRUE, std::numeric_limits<std::uint64_t>::max()) !=
        vk::Result::eSuccess) {
      throw Error("the device '{}' did not finish its work; choose another device", handles.info.name);
    }
    recording_->is_finished = true;
    recording_->measure();
  });
  // The results may have been computed from memory that the device has lost. Drivers don't report that.
  if (handles.info.loses_memory_asleep && handles.sleep->has_slept()) {
    throw Error(ErrorKind::DeviceLost, "the device '{}' may have lost its memory while the computer was asleep; start again",
                handles.info.name);
  }
}

std::span<const std::byte> Submission::bytes(Download download) const {
  assert(is_ready());
  return recording_->downloads.at(download.index).mapped();
}

double Submission::gpu_ms() const {
  if (!recording_->has_timestamps()) return 0.0;
  return recording_->milliseconds(read_timestamp(*recording_, 0),
                                  read_timestamp(*recording_, Recording::kMaxTimestamps - 1));
}

std::vector<Submission::Section> Submission::sections() const {
  std::vector<Section> sections;
  if (!recording_->has_timestamps()) return sections;
  std::uint64_t previous = read_timestamp(*recording_, 0);
  for (std::uint32_t i = 0; i < recording_->marks.size(); ++i) {
    const std::uint64_t now = read_timestamp(*recording_, i + 1);
    sections.push_back({recording_->marks[i], recording_->milliseconds(previous, now)});
    previous = now;
  }
  return sections;
}

std::uint32_t Submission::dispatches() const { return recording_->dispatches; }

}  // namespace headlight::gpu
