#include "gpu/recording.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/error.h"
#include "gpu/context.h"

namespace headlight::gpu {
namespace {

constexpr std::uint32_t kSetsPerPool = 64;
constexpr std::uint32_t kBindingsPerSet = 12;

/// Places a barrier after all that this queue was given before, earlier submissions included: a queue starts submissions in
/// order but lets them overlap, and only barriers keep one from reading what another still writes.
void wait_for_earlier_commands(vk::CommandBuffer commands) {
  const auto stages = vk::PipelineStageFlagBits::eComputeShader | vk::PipelineStageFlagBits::eTransfer;
  const vk::MemoryBarrier barrier{.srcAccessMask = vk::AccessFlagBits::eShaderWrite | vk::AccessFlagBits::eTransferWrite,
                                  .dstAccessMask = vk::AccessFlagBits::eShaderRead | vk::AccessFlagBits::eShaderWrite |
                                                   vk::AccessFlagBits::eTransferRead | vk::AccessFlagBits::eTransferWrite};
  commands.pipelineBarrier(stages, stages, {}, barrier, {}, {});
}

std::optional<std::uint64_t> read_timestamp(const vk::raii::QueryPool& pool, std::uint32_t index) {
  const auto [result, value] = pool.getResult<std::uint64_t>(index, 1, sizeof(std::uint64_t), vk::QueryResultFlagBits::e64);
  return result == vk::Result::eSuccess ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<RecordingObjects> IdleRecordings::take() {
  const std::lock_guard lock(mutex_);
  if (kept_.empty()) return std::nullopt;
  std::optional<RecordingObjects> taken(std::move(kept_.back()));
  kept_.pop_back();
  return taken;
}

void IdleRecordings::keep(RecordingObjects&& objects) {
  constexpr std::size_t kMaxKept = 8, kMaxBuffers = 64;
  if (objects.buffers.size() > kMaxBuffers) return;
  const std::lock_guard lock(mutex_);
  if (kept_.size() < kMaxKept) kept_.push_back(std::move(objects));
}

Recording::Recording(Context& of_context) : context(&of_context) {
  Context::Handles& handles = context->handles();
  if (auto idle = handles.idle_recordings->take()) {
    static_cast<RecordingObjects&>(*this) = std::move(*idle);
    pool.reset();
    handles.device.resetFences(*fence);
    if (*descriptors) {
      descriptors.reset();
      sets_left = kSetsPerPool;
    }
  } else {
    ++handles.recordings_created;
    pool =
        vk::raii::CommandPool(handles.device, vk::CommandPoolCreateInfo{.flags = vk::CommandPoolCreateFlagBits::eTransient,
                                                                        .queueFamilyIndex = handles.queue_family});
    fence = vk::raii::Fence(handles.device, vk::FenceCreateInfo{});
    if (has_timestamps()) {
      const vk::QueryPoolCreateInfo queries{.queryType = vk::QueryType::eTimestamp, .queryCount = kMaxTimestamps};
      timestamps = vk::raii::QueryPool(handles.device, queries);
      ends = vk::raii::QueryPool(handles.device, queries);
    }
  }
  begin_buffer();
  if (has_timestamps()) {
    commands().resetQueryPool(*timestamps, 0, kMaxTimestamps);
    commands().resetQueryPool(*ends, 0, kMaxTimestamps);
    commands().writeTimestamp(vk::PipelineStageFlagBits::eTopOfPipe, *timestamps, 0);
  }
}

Recording::~Recording() {
  if (is_submitted && !is_finished) return;
  try {
    context->handles().idle_recordings->keep(std::move(*this));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): without memory for keeping them they are freed
  }
}

void Recording::begin_buffer() {
  if (buffers.size() == work.size()) {
    auto allocated = vk::raii::CommandBuffers(
        context->handles().device,
        vk::CommandBufferAllocateInfo{
            .commandPool = *pool, .level = vk::CommandBufferLevel::ePrimary, .commandBufferCount = 1});
    buffers.push_back(std::move(allocated[0]));
  }
  host_steps.emplace_back();
  work.push_back(0.0);
  has_commands_ = false;
  commands().begin({.flags = vk::CommandBufferUsageFlagBits::eOneTimeSubmit});
  wait_for_earlier_commands(*commands());
  read.clear();
  written.clear();
}

void Recording::end_buffer() {
  const std::size_t index = work.size() - 1;
  if (has_timestamps() && index < kMaxTimestamps) {
    commands().writeTimestamp(vk::PipelineStageFlagBits::eBottomOfPipe, *ends, static_cast<std::uint32_t>(index));
  }
  commands().end();
}

void Recording::add_work(double multiply_adds) {
  if (multiply_adds > 0.0 && work.back() > 0.0 && work.back() + multiply_adds > context->work_per_submission()) {
    end_buffer();
    begin_buffer();
  }
  work.back() += multiply_adds;
}

void Recording::add_host_step(std::function<void()> step) {
  const bool goes_on = !has_commands_ && work.size() > 1 && !host_steps[work.size() - 2].empty();
  if (!goes_on) {
    release_to_host();
    end_buffer();
    begin_buffer();
  }
  host_steps[work.size() - 2].push_back(std::move(step));
}

void Recording::release_to_host() {
  using Stage = vk::PipelineStageFlagBits;
  const vk::MemoryBarrier to_host{.srcAccessMask = vk::AccessFlagBits::eTransferWrite | vk::AccessFlagBits::eShaderWrite,
                                  .dstAccessMask = vk::AccessFlagBits::eHostRead | vk::AccessFlagBits::eHostWrite};
  commands().pipelineBarrier(Stage::eTransfer | Stage::eComputeShader, Stage::eHost, {}, to_host, {}, {});
}

void Recording::run_host_steps(const std::vector<std::function<void()>>& steps) {
  const Context::Handles& handles = context->handles();
  if (handles.device.waitForFences(*fence, VK_TRUE, std::numeric_limits<std::uint64_t>::max()) != vk::Result::eSuccess) {
    throw Error("the device '{}' did not finish its work; choose another device", handles.info.name);
  }
  handles.device.resetFences(*fence);
  for (const std::function<void()>& step : steps) step();
}

void Recording::submit() {
  Context::Handles& handles = context->handles();
  release_to_host();
  write_timestamp(kMaxTimestamps - 1);
  end_buffer();
  is_submitted = true;
  try {
    // One call each: drivers may make a single job of what one call hands over.
    for (std::size_t i = 0; i < work.size(); ++i) {
      const bool is_last = i + 1 == work.size(), waits = !host_steps[i].empty();
      const vk::CommandBuffer commands = *buffers[i];
      handles.queue.submit(vk::SubmitInfo{.commandBufferCount = 1, .pCommandBuffers = &commands},
                           is_last || waits ? *fence : vk::Fence());
      ++handles.submissions;
      if (!waits) continue;
      ++handles.host_waits;
      run_host_steps(host_steps[i]);
    }
  } catch (...) {
    // Command buffers that were handed over must end before they are freed. The first error is the one to report.
    try {
      handles.queue.waitIdle();
    } catch (const vk::SystemError&) {  // NOLINT(bugprone-empty-catch): a lost device runs nothing any more
    }
    throw;
  }
}

void Recording::write_timestamp(std::uint32_t index) {
  if (!has_timestamps()) return;
  has_commands_ = true;
  commands().writeTimestamp(vk::PipelineStageFlagBits::eBottomOfPipe, *timestamps, index);
}

double Recording::milliseconds(std::uint64_t from, std::uint64_t to) const {
  const DeviceInfo& device = context->device();
  return static_cast<double>(timestamp_difference(from, to, device.timestamp_bits)) *
         static_cast<double>(device.timestamp_period_ns) * 1e-6;
}

void Recording::measure() const {
  // Shorter ones say more about the time to start than about speed; they only show that a device is faster than thought.
  constexpr double kLongEnough_ms = 10.0;
  if (!has_timestamps() || *std::max_element(work.begin(), work.end()) == 0.0) return;
  // The host's steps take time between two ends that isn't the device's.
  const auto is_empty = [](const auto& steps) { return steps.empty(); };
  if (!std::all_of(host_steps.begin(), host_steps.end(), is_empty)) return;
  const double budget = context->work_per_submission();
  std::optional<double> slowest, slowest_brief;
  std::optional<std::uint64_t> previous = read_timestamp(timestamps, 0);
  for (std::uint32_t i = 0; i < std::min<std::size_t>(work.size(), kMaxTimestamps); ++i) {
    const std::optional<std::uint64_t> end = read_timestamp(ends, i);
    if (!previous || !end) return;
    const double ms = milliseconds(*previous, *end);
    previous = end;
    if (work[i] == 0.0 || ms <= 0.0) continue;
    const double speed = work[i] / ms;
    std::optional<double>* slot = ms >= kLongEnough_ms ? &slowest : work[i] >= budget / 2 ? &slowest_brief : nullptr;
    if (slot != nullptr) *slot = std::min(slot->value_or(speed), speed);
  }
  double& known = context->handles().work_per_ms;
  if (slowest) {
    known = *slowest;
  } else if (slowest_brief) {
    known = std::max(known, *slowest_brief);
  }
}

void Recording::order(std::span<const VkBuffer> reads, std::span<const VkBuffer> writes) {
  const auto was_written = [&](VkBuffer buffer) { return written.contains(buffer); };
  const bool has_hazard = std::any_of(reads.begin(), reads.end(), was_written) ||
                          std::any_of(writes.begin(), writes.end(), was_written) ||
                          std::any_of(writes.begin(), writes.end(), [&](VkBuffer buffer) { return read.contains(buffer); });
  if (has_hazard) {
    wait_for_earlier_commands(*commands());
    read.clear();
    written.clear();
  }
  has_commands_ = true;
  read.insert(reads.begin(), reads.end());
  written.insert(writes.begin(), writes.end());
}

vk::DescriptorSet Recording::allocate_set(vk::DescriptorSetLayout layout) {
  const vk::raii::Device& device = context->handles().device;
  if (sets_left == 0) {
    const std::array<vk::DescriptorPoolSize, 2> sizes{
        {{.type = vk::DescriptorType::eStorageBuffer, .descriptorCount = kSetsPerPool * kBindingsPerSet},
         {.type = vk::DescriptorType::eUniformTexelBuffer, .descriptorCount = kSetsPerPool * kBindingsPerSet}}};
    vk::raii::DescriptorPool made(
        device,
        vk::DescriptorPoolCreateInfo{
            .maxSets = kSetsPerPool, .poolSizeCount = static_cast<std::uint32_t>(sizes.size()), .pPoolSizes = sizes.data()});
    if (*descriptors) {
      more_descriptors.push_back(std::move(made));
    } else {
      descriptors = std::move(made);
    }
    sets_left = kSetsPerPool;
  }
  --sets_left;
  // The pool frees its sets together, so the handle is enough.
  const vk::DescriptorSetAllocateInfo info{
      .descriptorPool = more_descriptors.empty() ? *descriptors : *more_descriptors.back(),
      .descriptorSetCount = 1,
      .pSetLayouts = &layout};
  return (*device).allocateDescriptorSets(info, *device.getDispatcher()).front();
}

}  // namespace headlight::gpu
