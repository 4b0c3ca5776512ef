#include "gpu/recording.h"

#include <algorithm>
#include <array>

#include "gpu/context.h"

namespace headlight::gpu {
namespace {

constexpr std::uint32_t kSetsPerPool = 64;
constexpr std::uint32_t kBindingsPerSet = 12;

}  // namespace

Recording::Recording(Context& of_context) : context(&of_context) {
  Context::Handles& handles = context->handles();
  pool = vk::raii::CommandPool(handles.device, vk::CommandPoolCreateInfo{.flags = vk::CommandPoolCreateFlagBits::eTransient,
                                                                         .queueFamilyIndex = handles.queue_family});
  buffers = vk::raii::CommandBuffers(
      handles.device, vk::CommandBufferAllocateInfo{
                          .commandPool = *pool, .level = vk::CommandBufferLevel::ePrimary, .commandBufferCount = 1});
  fence = vk::raii::Fence(handles.device, vk::FenceCreateInfo{});
  commands().begin({.flags = vk::CommandBufferUsageFlagBits::eOneTimeSubmit});
  if (has_timestamps()) {
    timestamps = vk::raii::QueryPool(
        handles.device, vk::QueryPoolCreateInfo{.queryType = vk::QueryType::eTimestamp, .queryCount = kMaxTimestamps});
    commands().resetQueryPool(*timestamps, 0, kMaxTimestamps);
    commands().writeTimestamp(vk::PipelineStageFlagBits::eTopOfPipe, *timestamps, 0);
  }
}

void Recording::write_timestamp(std::uint32_t index) {
  if (has_timestamps()) commands().writeTimestamp(vk::PipelineStageFlagBits::eBottomOfPipe, *timestamps, index);
}

void Recording::order(std::span<const VkBuffer> reads, std::span<const VkBuffer> writes) {
  const auto was_written = [&](VkBuffer buffer) { return written.contains(buffer); };
  const bool has_hazard = std::any_of(reads.begin(), reads.end(), was_written) ||
                          std::any_of(writes.begin(), writes.end(), was_written) ||
                          std::any_of(writes.begin(), writes.end(), [&](VkBuffer buffer) { return read.contains(buffer); });
  if (has_hazard) {
    const auto stages = vk::PipelineStageFlagBits::eComputeShader | vk::PipelineStageFlagBits::eTransfer;
    const vk::MemoryBarrier barrier{.srcAccessMask = vk::AccessFlagBits::eShaderWrite | vk::AccessFlagBits::eTransferWrite,
                                    .dstAccessMask = vk::AccessFlagBits::eShaderRead | vk::AccessFlagBits::eShaderWrite |
                                                     vk::AccessFlagBits::eTransferRead | vk::AccessFlagBits::eTransferWrite};
    commands().pipelineBarrier(stages, stages, {}, barrier, {}, {});
    read.clear();
    written.clear();
  }
  read.insert(reads.begin(), reads.end());
  written.insert(writes.begin(), writes.end());
}

vk::DescriptorSet Recording::allocate_set(vk::DescriptorSetLayout layout) {
  const vk::raii::Device& device = context->handles().device;
  if (sets_left == 0) {
    const std::array<vk::DescriptorPoolSize, 2> sizes{
        {{.type = vk::DescriptorType::eStorageBuffer, .descriptorCount = kSetsPerPool * kBindingsPerSet},
         {.type = vk::DescriptorType::eUniformTexelBuffer, .descriptorCount = kSetsPerPool * kBindingsPerSet}}};
    descriptor_pools.emplace_back(
        device,
        vk::DescriptorPoolCreateInfo{
            .maxSets = kSetsPerPool, .poolSizeCount = static_cast<std::uint32_t>(sizes.size()), .pPoolSizes = sizes.data()});
    sets_left = kSetsPerPool;
  }
  --sets_left;
  // The pool frees its sets together, so the handle is enough.
  const vk::DescriptorSetAllocateInfo info{
      .descriptorPool = *descriptor_pools.back(), .descriptorSetCount = 1, .pSetLayouts = &layout};
  return (*device).allocateDescriptorSets(info, *device.getDispatcher()).front();
}

}  // namespace headlight::gpu
