#pragma once

#include <deque>
#include <functional>
#include <set>

#include "gpu/buffer.h"
#include "gpu/handles.h"
#include "gpu/stream.h"

namespace headlight::gpu {

/// Vulkan objects of a recording that another one can use after it; freed in the reverse order.
struct RecordingObjects {
  vk::raii::CommandPool pool = nullptr;
  std::vector<vk::raii::CommandBuffer> buffers;  ///< allocated so far
  vk::raii::Fence fence = nullptr;
  vk::raii::QueryPool timestamps = nullptr;
  vk::raii::QueryPool ends = nullptr;              ///< timestamp i is the end of command buffer i
  vk::raii::DescriptorPool descriptors = nullptr;  ///< the first of the recording's descriptor pools
};

/// Objects of recordings that have ended, for the next ones: a steady stream of submissions creates none. Any thread.
class IdleRecordings {
 public:
  /// Objects that are not in use and were used before, or none.
  std::optional<RecordingObjects> take();
  /// Keeps a few; frees the rest.
  void keep(RecordingObjects&& objects);

 private:
  std::mutex mutex_;
  std::vector<RecordingObjects> kept_;
};

/// Everything that the command buffers of one stream need while they are recorded and while they run; freed in the reverse
/// order. When it has ended without an error, its Vulkan objects go to the context's idle recordings.
struct Recording : RecordingObjects {
  static constexpr std::uint32_t kMaxTimestamps = 256;

  explicit Recording(Context& of_context);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  Context* context;
  /// One list a command buffer: what the host does when it has ended and before the next one begins.
  std::vector<std::vector<std::function<void()>>> host_steps;
  double host_work = 0.0;                                  ///< multiply-adds of all of them
  std::vector<vk::raii::DescriptorPool> more_descriptors;  ///< pools after the first; the last one isn't full
  std::uint32_t sets_left = 0;
  std::vector<vk::raii::BufferView> views;
  std::vector<Buffer> uploads;
  std::vector<Buffer> downloads;
  std::deque<Buffer> scratch;  ///< the last one is in use
  std::vector<std::string> marks;
  std::uint32_t dispatches = 0;
  bool is_complete = true;  ///< no dispatch was left out
  bool is_submitted = false;
  bool is_finished = false;

  /// Multiply-adds of each command buffer that was begun: one a submission, in order; the last one is being recorded.
  std::vector<double> work;

  // Buffers touched since the last barrier: what the next command must wait for.
  std::set<VkBuffer> read, written;

  const vk::raii::CommandBuffer& commands() const { return buffers[work.size() - 1]; }
  bool has_timestamps() const { return context->device().timestamp_period_ns > 0.0f; }
  void write_timestamp(std::uint32_t index);
  /// Places one global barrier if anything in `reads` or `writes` conflicts with earlier commands, then notes them.
  void order(std::span<const VkBuffer> reads, std::span<const VkBuffer> writes);
  vk::DescriptorSet allocate_set(vk::DescriptorSetLayout layout);

  /// Begins another command buffer when the next command's multiply-adds would make this one too long.
  void add_work(double multiply_adds);
  /// Ends the last command buffer, unless the host works after the one before and nothing was recorded since, and lists the
  /// step after it.
  void add_host_step(std::function<void()> work);
  /// Ends the last command buffer, hands all of them to the queue and runs the host's steps between them. When that fails,
  /// nothing of it runs any more.
  void submit();
  /// Reports the time that the device needed to Context::work_per_submission(). Only when ready.
  void measure() const;
  /// Milliseconds between two timestamps of this device's clock.
  double milliseconds(std::uint64_t from, std::uint64_t to) const;

 private:
  void begin_buffer();
  void end_buffer();
  /// Makes what the device wrote visible to the host, and complete before the host writes there.
  void release_to_host();
  /// Waits for what was handed over, then runs the steps after that command buffer.
  void run_host_steps(const std::vector<std::function<void()>>& steps);

  bool has_commands_ = false;  ///< in the last command buffer
};

}  // namespace headlight::gpu
