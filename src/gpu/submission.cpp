#include "gpu/submission.h"

#include <cassert>
#include <limits>

#include "core/error.h"
#include "gpu/recording.h"

namespace headlight::gpu {
namespace {

std::uint64_t read_timestamp(const Recording& recording, std::uint32_t index) {
  const auto [result, value] =
      recording.timestamps.getResult<std::uint64_t>(index, 1, sizeof(std::uint64_t), vk::QueryResultFlagBits::e64);
  return result == vk::Result::eSuccess ? value : 0;
}

double milliseconds(const Recording& recording, std::uint64_t from, std::uint64_t to) {
  return static_cast<double>(to - from) * static_cast<double>(recording.context->device().timestamp_period_ns) * 1e-6;
}

}  // namespace

Submission::Submission(std::unique_ptr<Recording> recording) : recording_(std::move(recording)) {}
Submission::Submission(Submission&&) noexcept = default;
Submission& Submission::operator=(Submission&& other) noexcept {
  std::swap(recording_, other.recording_);  // the other one waits for ours when it goes
  return *this;
}

Submission::~Submission() {
  try {
    if (recording_) wait();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): a lost device has nothing left to wait for
  }
}

bool Submission::is_ready() const {
  return recording_->is_finished || recording_->fence.getStatus() == vk::Result::eSuccess;
}

void Submission::wait() {
  if (recording_->is_finished) return;
  recording_->is_finished = true;
  const vk::raii::Device& device = recording_->context->handles().device;
  try {
    if (device.waitForFences(*recording_->fence, VK_TRUE, std::numeric_limits<std::uint64_t>::max()) !=
        vk::Result::eSuccess) {
      throw Error("the device '{}' did not finish its work; choose another device", recording_->context->device().name);
    }
  } catch (const vk::DeviceLostError&) {
    throw Error("the device '{}' was lost while it worked (a driver reset); start again or choose another device",
                recording_->context->device().name);
  }
}

std::span<const std::byte> Submission::bytes(Download download) const {
  assert(is_ready());
  return recording_->downloads.at(download.index).mapped();
}

double Submission::gpu_ms() const {
  if (!recording_->has_timestamps()) return 0.0;
  return milliseconds(*recording_, read_timestamp(*recording_, 0),
                      read_timestamp(*recording_, Recording::kMaxTimestamps - 1));
}

std::vector<Submission::Section> Submission::sections() const {
  std::vector<Section> sections;
  if (!recording_->has_timestamps()) return sections;
  std::uint64_t previous = read_timestamp(*recording_, 0);
  for (std::uint32_t i = 0; i < recording_->marks.size(); ++i) {
    const std::uint64_t now = read_timestamp(*recording_, i + 1);
    sections.push_back({recording_->marks[i], milliseconds(*recording_, previous, now)});
    previous = now;
  }
  return sections;
}

std::uint32_t Submission::dispatches() const { return recording_->dispatches; }

}  // namespace headlight::gpu
