#pragma once

#include <set>
#include <string>
#include <vector>

#include "gpu/buffer.h"
#include "gpu/handles.h"
#include "gpu/submission.h"

namespace headlight::gpu {

/// Everything one command buffer needs while it is recorded and while it runs; freed in the reverse order.
struct Recording {
  static constexpr std::uint32_t kMaxTimestamps = 256;

  explicit Recording(Context& of_context);

  Context* context;
  vk::raii::CommandPool pool = nullptr;
  vk::raii::CommandBuffers buffers = nullptr;
  vk::raii::Fence fence = nullptr;
  vk::raii::QueryPool timestamps = nullptr;
  std::vector<vk::raii::DescriptorPool> descriptor_pools;
  std::uint32_t sets_left = 0;
  std::vector<vk::raii::BufferView> views;
  std::vector<Buffer> uploads;
  std::vector<Buffer> downloads;
  std::vector<std::string> marks;
  std::uint32_t dispatches = 0;
  bool is_finished = false;

  // Buffers touched since the last barrier: what the next command must wait for.
  std::set<VkBuffer> read, written;

  const vk::raii::CommandBuffer& commands() const { return buffers[0]; }
  bool has_timestamps() const { return context->device().timestamp_period_ns > 0.0f; }
  void write_timestamp(std::uint32_t index);
  /// Places one global barrier if anything in `reads` or `writes` conflicts with earlier commands, then notes them.
  void order(std::span<const VkBuffer> reads, std::span<const VkBuffer> writes);
  vk::DescriptorSet allocate_set(vk::DescriptorSetLayout layout);
};

}  // namespace headlight::gpu
