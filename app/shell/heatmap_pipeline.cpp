#include "app/shell/heatmap_pipeline.h"

#include <algorithm>
#include <cmath>

namespace headlight::shell {
namespace {

constexpr std::uint32_t kVertexCode[] = {
#include "heatmap_vert.spv.inc"
};
constexpr std::uint32_t kFragmentCode[] = {
#include "heatmap_frag.spv.inc"
};
constexpr std::uint32_t kFirstWords = 1U << 18;  // 1 MiB, enough for a sentence; doubled when full
constexpr vk::ShaderStageFlags kStages = vk::ShaderStageFlagBits::eVertex | vk::ShaderStageFlagBits::eFragment;

static_assert(sizeof(params::HeatmapParameters) <= 128, "every device has 128 bytes of push constants, not more");

vk::raii::Pipeline make_pipeline(const vk::raii::Device& device, vk::PipelineLayout layout, vk::RenderPass render_pass) {
  const vk::raii::ShaderModule vertex(device, {.codeSize = sizeof(kVertexCode), .pCode = kVertexCode});
  const vk::raii::ShaderModule fragment(device, {.codeSize = sizeof(kFragmentCode), .pCode = kFragmentCode});
  const std::array stages{
      vk::PipelineShaderStageCreateInfo{.stage = vk::ShaderStageFlagBits::eVertex, .module = *vertex, .pName = "main"},
      vk::PipelineShaderStageCreateInfo{.stage = vk::ShaderStageFlagBits::eFragment, .module = *fragment, .pName = "main"}};
  const vk::PipelineVertexInputStateCreateInfo no_vertices;
  const vk::PipelineInputAssemblyStateCreateInfo assembly{.topology = vk::PrimitiveTopology::eTriangleStrip};
  const vk::PipelineViewportStateCreateInfo viewport{.viewportCount = 1, .scissorCount = 1};
  const vk::PipelineRasterizationStateCreateInfo raster{
      .polygonMode = vk::PolygonMode::eFill, .cullMode = vk::CullModeFlagBits::eNone, .lineWidth = 1.0F};
  const vk::PipelineMultisampleStateCreateInfo multisample{.rasterizationSamples = vk::SampleCountFlagBits::e1};
  using Channel = vk::ColorComponentFlagBits;
  const vk::PipelineColorBlendAttachmentState blend{.blendEnable = VK_TRUE,
                                                    .srcColorBlendFactor = vk::BlendFactor::eSrcAlpha,
                                                    .dstColorBlendFactor = vk::BlendFactor::eOneMinusSrcAlpha,
                                                    .colorBlendOp = vk::BlendOp::eAdd,
                                                    .srcAlphaBlendFactor = vk::BlendFactor::eOne,
                                                    .dstAlphaBlendFactor = vk::BlendFactor::eOneMinusSrcAlpha,
                                                    .alphaBlendOp = vk::BlendOp::eAdd,
                                                    .colorWriteMask = Channel::eR | Channel::eG | Channel::eB | Channel::eA};
  const vk::PipelineColorBlendStateCreateInfo blending{.attachmentCount = 1, .pAttachments = &blend};
  const std::array dynamic{vk::DynamicState::eViewport, vk::DynamicState::eScissor};
  const vk::PipelineDynamicStateCreateInfo dynamics{.dynamicStateCount = static_cast<std::uint32_t>(dynamic.size()),
                                                    .pDynamicStates = dynamic.data()};
  return {device, nullptr,
          vk::GraphicsPipelineCreateInfo{.stageCount = static_cast<std::uint32_t>(stages.size()),
                                         .pStages = stages.data(),
                                         .pVertexInputState = &no_vertices,
                                         .pInputAssemblyState = &assembly,
                                         .pViewportState = &viewport,
                                         .pRasterizationState = &raster,
                                         .pMultisampleState = &multisample,
                                         .pColorBlendState = &blending,
                                         .pDynamicState = &dynamics,
                                         .layout = layout,
                                         .renderPass = render_pass}};
}

}  // namespace

HeatmapRenderer::Pipeline::Pipeline(RenderDevice::Handles& device_handles, vk::RenderPass render_pass, Budget wanted)
    : handles(device_handles), budget(wanted) {
  const std::uint32_t range = handles.physical.getProperties().limits.maxStorageBufferRange;
  max_words_ = static_cast<std::uint32_t>(std::min<std::size_t>(budget.bytes, range) / sizeof(std::uint32_t));
  const vk::DescriptorSetLayoutBinding binding{.binding = 0,
                                               .descriptorType = vk::DescriptorType::eStorageBuffer,
                                               .descriptorCount = 1,
                                               .stageFlags = vk::ShaderStageFlagBits::eFragment};
  set_layout_ = vk::raii::DescriptorSetLayout(handles.device,
                                              vk::DescriptorSetLayoutCreateInfo{.bindingCount = 1, .pBindings = &binding});
  const vk::PushConstantRange push{.stageFlags = kStages, .offset = 0, .size = sizeof(params::HeatmapParameters)};
  layout_ = vk::raii::PipelineLayout(
      handles.device,
      vk::PipelineLayoutCreateInfo{
          .setLayoutCount = 1, .pSetLayouts = &*set_layout_, .pushConstantRangeCount = 1, .pPushConstantRanges = &push});
  pipeline_ = make_pipeline(handles.device, *layout_, render_pass);
  const vk::DescriptorPoolSize one{.type = vk::DescriptorType::eStorageBuffer, .descriptorCount = 1};
  pool_ = vk::raii::DescriptorPool(handles.device,
                                   vk::DescriptorPoolCreateInfo{.maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &one});
  set_ = (*handles.device)
             .allocateDescriptorSets({.descriptorPool = *pool_, .descriptorSetCount = 1, .pSetLayouts = &*set_layout_})[0];
  grow(std::min(kFirstWords, max_words_));
  static_cast<void>(allocator_.allocate(1));  // offset 0 means "none"
}

void HeatmapRenderer::Pipeline::begin_frame(glm::uvec2 image_size, float pixels_per_unit) {
  ++frame;
  size = image_size;
  scale = pixels_per_unit;
  draws.clear();
  std::erase_if(entries, [&](const auto& item) {
    const bool is_stale = frame - item.second.last_frame > budget.unused_frames;
    if (is_stale) allocator_.free(item.second.offset, item.second.words);
    return is_stale;
  });
}

const HeatmapRenderer::Pipeline::Entry* HeatmapRenderer::Pipeline::upload(const HeatmapImage& image) {
  const std::size_t cells = std::size_t{image.rows} * image.columns;
  const std::size_t needed = cells + (image.masked.empty() ? 0 : (cells + 31) / 32) + image.row_scale.size();
  if (needed > max_words_) return nullptr;
  Entry& entry = entries[image.key];
  const bool is_same = entry.words != 0 && entry.revision == image.revision && entry.rows == image.rows &&
                       entry.columns == image.columns && entry.has_mask == !image.masked.empty() &&
                       entry.has_row_scale == !image.row_scale.empty();
  entry.last_frame = frame;
  if (is_same) return &entry;
  const auto words = static_cast<std::uint32_t>(needed);
  if (entry.words != words) {
    if (entry.words != 0) allocator_.free(entry.offset, entry.words);
    entry.words = 0;
    const auto offset = allocate(words);
    if (!offset) {
      entries.erase(image.key);
      return nullptr;
    }
    entry.offset = *offset;
    entry.words = words;
  }
  entry.revision = image.revision;
  entry.rows = image.rows;
  entry.columns = image.columns;
  entry.has_mask = !image.masked.empty();
  entry.has_row_scale = !image.row_scale.empty();
  write(entry, image);
  ++uploads;
  return &entry;
}

void HeatmapRenderer::Pipeline::write(const Entry& entry, const HeatmapImage& image) {
  std::uint32_t* out = words_at(entry.offset);
  std::memcpy(out, image.values.data(), image.values.size_bytes());
  out += image.values.size();
  for (std::size_t first = 0; first < image.masked.size(); first += 32) {
    std::uint32_t bits = 0;
    const std::size_t count = std::min<std::size_t>(32, image.masked.size() - first);
    for (std::size_t i = 0; i < count; ++i) bits |= (image.masked[first + i] != 0 ? 1U : 0U) << i;
    *out++ = bits;
  }
  if (!image.row_scale.empty()) std::memcpy(out, image.row_scale.data(), image.row_scale.size_bytes());
}

std::uint32_t HeatmapRenderer::Pipeline::upload_color_map(std::span<const std::uint32_t> table) {
  for (const ColorMap& known : color_maps_) {
    if (std::equal(table.begin(), table.end(), known.table.begin())) return known.offset;
  }
  const auto offset = allocate(256);
  if (!offset) return 0;
  ColorMap& added = color_maps_.emplace_back();
  std::copy(table.begin(), table.end(), added.table.begin());
  added.offset = *offset;
  std::copy(table.begin(), table.end(), words_at(*offset));
  return *offset;
}

std::optional<std::uint32_t> HeatmapRenderer::Pipeline::allocate(std::uint32_t words) {
  while (true) {
    if (const auto offset = allocator_.allocate(words)) return offset;
    const bool has_room = allocator_.size() < max_words_ && grow(allocator_.size() + std::max(allocator_.size(), words));
    if (!has_room && !drop_oldest()) return std::nullopt;
  }
}

bool HeatmapRenderer::Pipeline::drop_oldest() {
  auto oldest = entries.end();
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    if (entry->second.words == 0 || entry->second.last_frame == frame) continue;  // used by this frame's draws
    if (oldest == entries.end() || entry->second.last_frame < oldest->second.last_frame) oldest = entry;
  }
  if (oldest == entries.end()) return false;
  allocator_.free(oldest->second.offset, oldest->second.words);
  entries.erase(oldest);
  return true;
}

bool HeatmapRenderer::Pipeline::grow(std::uint32_t words) {
  const std::uint32_t target = std::min(words, max_words_);
  try {
    MappedBuffer larger(handles, std::size_t{target} * sizeof(std::uint32_t), vk::BufferUsageFlagBits::eStorageBuffer,
                        vk::MemoryPropertyFlagBits::eDeviceLocal);
    if (buffer_.bytes != 0) std::memcpy(larger.data, buffer_.data, buffer_.bytes);
    buffer_ = std::move(larger);
  } catch (const vk::DeviceLostError&) {
    throw;
  } catch (const vk::SystemError&) {  // no memory for a larger one
    if (buffer_.bytes == 0) throw;
    max_words_ = allocator_.size();
    return false;
  }
  const vk::DescriptorBufferInfo info{.buffer = *buffer_.buffer, .offset = 0, .range = VK_WHOLE_SIZE};
  handles.device.updateDescriptorSets(vk::WriteDescriptorSet{.dstSet = set_,
                                                             .dstBinding = 0,
                                                             .descriptorCount = 1,
                                                             .descriptorType = vk::DescriptorType::eStorageBuffer,
                                                             .pBufferInfo = &info},
                                      {});
  allocator_.grow(target);
  return true;
}

void HeatmapRenderer::Pipeline::record(const Draw& draw, glm::vec2 clip_low, glm::vec2 clip_high) const {
  const glm::vec2 low = glm::max(glm::floor(clip_low), glm::vec2(0.0F));
  const glm::vec2 high = glm::min(glm::floor(clip_high), glm::vec2(size));
  if (high.x <= low.x || high.y <= low.y) return;
  recording.bindPipeline(vk::PipelineBindPoint::eGraphics, *pipeline_);
  recording.bindDescriptorSets(vk::PipelineBindPoint::eGraphics, *layout_, 0, set_, {});
  const glm::ivec2 offset(low);
  const glm::uvec2 extent(high - low);
  recording.setScissor(
      0, vk::Rect2D{.offset = {.x = offset.x, .y = offset.y}, .extent = {.width = extent.x, .height = extent.y}});
  recording.pushConstants<params::HeatmapParameters>(*layout_, kStages, 0, draw.parameters);
  recording.draw(4, 1, 0, 0);
}

}  // namespace headlight::shell
