#include "app/shell/heatmap_pipeline.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace headlight::shell {
namespace {

constexpr std::uint32_t kVertexCode[] = {
#include "heatmap_vert.spv.inc"
};
constexpr std::uint32_t kFragmentCode[] = {
#include "heatmap_frag.spv.inc"
};
constexpr std::uint32_t kTexelFragmentCode[] = {
#include "heatmap_frag_texel.spv.inc"
};

static_assert(sizeof(params::HeatmapParameters) <= 128, "every device has 128 bytes of push constants, not more");

// Bit i is heatmap.frag's constant i.
constexpr std::uint32_t kHatched = 1U << 0;
constexpr std::uint32_t kHasGrid = 1U << 1;
constexpr std::uint32_t kHasCrosshair = 1U << 2;
constexpr std::uint32_t kIsRounded = 1U << 3;
constexpr std::uint32_t kConstants = 4;

constexpr std::uint32_t kNoCrosshair = 0xFFFFFFFFU;

bool is_visible(std::uint32_t color) { return color >> 24 != 0; }

/// Returns the blending of a draw: only rounded corners let through what is below.
vk::PipelineColorBlendAttachmentState blending_of(std::uint32_t features) {
  using Channel = vk::ColorComponentFlagBits;
  return {.blendEnable = (features & kIsRounded) != 0 ? VK_TRUE : VK_FALSE,
          .srcColorBlendFactor = vk::BlendFactor::eSrcAlpha,
          .dstColorBlendFactor = vk::BlendFactor::eOneMinusSrcAlpha,
          .colorBlendOp = vk::BlendOp::eAdd,
          .srcAlphaBlendFactor = vk::BlendFactor::eOne,
          .dstAlphaBlendFactor = vk::BlendFactor::eOneMinusSrcAlpha,
          .alphaBlendOp = vk::BlendOp::eAdd,
          .colorWriteMask = Channel::eR | Channel::eG | Channel::eB | Channel::eA};
}

constexpr std::uint32_t kFirstWords = 1U << 18;  // 1 MiB, enough for a sentence; doubled when full
constexpr std::uint32_t kMissingWord = 0;        // never a heatmap's
constexpr std::size_t kNoColorMap = ~std::size_t{0};

/// Are texel buffers long enough? A processor gathers texels of a buffer at once but loops over the lanes of a storage
/// buffer, which is used only where texel buffers are short, as the least that Vulkan promises.
bool has_long_texel_buffers(const RenderDevice::Handles& handles, std::size_t words) { return handles.most_texels >= words; }

}  // namespace

HeatmapRenderer::Pipeline::Pipeline(RenderDevice::Handles& device_handles, vk::RenderPass render_pass, Budget wanted)
    : handles(device_handles),
      budget(wanted),
      uses_texels_(has_long_texel_buffers(handles, budget.bytes / sizeof(std::uint32_t))),
      variants_(handles, render_pass, uses_texels_) {
  const std::size_t range = uses_texels_ ? budget.bytes : handles.physical.getProperties().limits.maxStorageBufferRange;
  max_words_ = static_cast<std::uint32_t>(std::min(budget.bytes, range) / sizeof(std::uint32_t));
  const vk::DescriptorPoolSize one{.type = variants_.descriptor(), .descriptorCount = 1};
  pool_ = vk::raii::DescriptorPool(handles.device,
                                   vk::DescriptorPoolCreateInfo{.maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &one});
  const vk::DescriptorSetLayout set_layout = variants_.set_layout();
  set_ = (*handles.device)
             .allocateDescriptorSets({.descriptorPool = *pool_, .descriptorSetCount = 1, .pSetLayouts = &set_layout})[0];
  grow(std::min(kFirstWords, max_words_));
  static_cast<void>(allocator_.allocate(1));  // kMissingWord
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

const HeatmapRenderer::Pipeline::Entry* HeatmapRenderer::Pipeline::upload(const HeatmapImage& image,
                                                                          const CellColoring& coloring) {
  const std::size_t cells = std::size_t{image.rows} * image.columns;
  if (cells > max_words_) return nullptr;
  Entry& entry = entries[image.key];
  const std::size_t color_map = image.pixels.empty() ? color_map_number(image.color_map) : kNoColorMap;
  const bool is_same = entry.words != 0 && entry.revision == image.revision && entry.rows == image.rows &&
                       entry.columns == image.columns && entry.has_mask == !image.masked.empty() &&
                       entry.has_row_scale == !image.row_scale.empty() && entry.color_map == color_map &&
                       entry.coloring == coloring;
  entry.last_frame = frame;
  if (is_same) return &entry;
  const auto words = static_cast<std::uint32_t>(cells);
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
  entry.color_map = color_map;
  entry.coloring = coloring;
  entry.upload = ++uploads;
  color_cells(image, coloring, {words_at(entry.offset), cells});
  return &entry;
}

std::uint32_t HeatmapRenderer::Pipeline::upload_missing(Color color) {
  constexpr std::uint32_t kColorBits = 0x00FF'FFFFU;  // without stripes
  *words_at(kMissingWord) = color & kColorBits;
  return kMissingWord;
}

std::size_t HeatmapRenderer::Pipeline::color_map_number(std::span<const std::uint32_t> table) {
  const auto known = std::ranges::find_if(color_maps_, [&](const auto& map) { return std::ranges::equal(table, map); });
  const auto number = static_cast<std::size_t>(known - color_maps_.begin());
  if (known == color_maps_.end()) std::ranges::copy(table, color_maps_.emplace_back().begin());
  return number;
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

/// Copies by the device: memory that the host has mapped may not be cached, and is slow to read then.
void HeatmapRenderer::Pipeline::copy(const MappedBuffer& from, const MappedBuffer& to) {
  handles.run_once([&](vk::CommandBuffer commands) {
    commands.copyBuffer(*from.buffer, *to.buffer, vk::BufferCopy{.size = from.bytes});
    const vk::MemoryBarrier written{.srcAccessMask = vk::AccessFlagBits::eTransferWrite,
                                    .dstAccessMask = vk::AccessFlagBits::eShaderRead | vk::AccessFlagBits::eHostWrite};
    commands.pipelineBarrier(vk::PipelineStageFlagBits::eTransfer,
                             vk::PipelineStageFlagBits::eFragmentShader | vk::PipelineStageFlagBits::eHost, {}, written, {},
                             {});
  });
}

bool HeatmapRenderer::Pipeline::grow(std::uint32_t words) {
  using Usage = vk::BufferUsageFlagBits;
  const std::uint32_t target = std::min(words, max_words_);
  try {
    MappedBuffer larger(
        handles, std::size_t{target} * sizeof(std::uint32_t),
        Usage::eTransferSrc | Usage::eTransferDst | (uses_texels_ ? Usage::eUniformTexelBuffer : Usage::eStorageBuffer),
        vk::MemoryPropertyFlagBits::eDeviceLocal);
    if (buffer_.bytes != 0) copy(buffer_, larger);
    vk::raii::BufferView view = nullptr;
    if (uses_texels_) {
      view = vk::raii::BufferView(
          handles.device,
          vk::BufferViewCreateInfo{
              .buffer = *larger.buffer, .format = vk::Format::eR32Uint, .offset = 0, .range = VK_WHOLE_SIZE});
    }
    view_ = std::move(view);
    buffer_ = std::move(larger);
  } catch (const vk::DeviceLostError&) {
    throw;
  } catch (const vk::SystemError&) {  // no memory for a larger one
    if (buffer_.bytes == 0) throw;
    max_words_ = allocator_.size();
    return false;
  }
  bind_buffer();
  allocator_.grow(target);
  return true;
}

void HeatmapRenderer::Pipeline::bind_buffer() {
  const vk::DescriptorBufferInfo info{.buffer = *buffer_.buffer, .offset = 0, .range = VK_WHOLE_SIZE};
  const vk::BufferView view = *view_;
  vk::WriteDescriptorSet write{
      .dstSet = set_, .dstBinding = 0, .descriptorCount = 1, .descriptorType = variants_.descriptor()};
  if (uses_texels_) {
    write.pTexelBufferView = &view;
  } else {
    write.pBufferInfo = &info;
  }
  handles.device.updateDescriptorSets(write, {});
}

void HeatmapRenderer::Pipeline::record(const Draw& draw, glm::vec2 clip_low, glm::vec2 clip_high) const {
  const glm::vec2 low = glm::max(glm::floor(clip_low), glm::vec2(0.0F));
  const glm::vec2 high = glm::min(glm::floor(clip_high), glm::vec2(size));
  if (high.x <= low.x || high.y <= low.y) return;
  recording.bindPipeline(vk::PipelineBindPoint::eGraphics, draw.variant);
  recording.bindDescriptorSets(vk::PipelineBindPoint::eGraphics, variants_.layout(), 0, set_, {});
  const glm::ivec2 offset(low);
  const glm::uvec2 extent(high - low);
  recording.setScissor(
      0, vk::Rect2D{.offset = {.x = offset.x, .y = offset.y}, .extent = {.width = extent.x, .height = extent.y}});
  recording.pushConstants<params::HeatmapParameters>(variants_.layout(), HeatmapVariants::kStages, 0, draw.parameters);
  recording.draw(4, 1, 0, 0);
}

HeatmapVariants::HeatmapVariants(RenderDevice::Handles& handles, vk::RenderPass render_pass, bool uses_texels)
    : handles_(handles), render_pass_(render_pass), uses_texels_(uses_texels) {
  const vk::DescriptorSetLayoutBinding binding{
      .binding = 0, .descriptorType = descriptor(), .descriptorCount = 1, .stageFlags = vk::ShaderStageFlagBits::eFragment};
  set_layout_ = vk::raii::DescriptorSetLayout(handles.device,
                                              vk::DescriptorSetLayoutCreateInfo{.bindingCount = 1, .pBindings = &binding});
  const vk::PushConstantRange push{.stageFlags = kStages, .offset = 0, .size = sizeof(params::HeatmapParameters)};
  layout_ = vk::raii::PipelineLayout(
      handles.device,
      vk::PipelineLayoutCreateInfo{
          .setLayoutCount = 1, .pSetLayouts = &*set_layout_, .pushConstantRangeCount = 1, .pPushConstantRanges = &push});
}

vk::Pipeline HeatmapVariants::pipeline_of(const params::HeatmapParameters& p, bool has_mask) {
  std::uint32_t features = 0;
  if (has_mask && is_visible(p.hatch)) features |= kHatched;
  if (is_visible(p.grid)) features |= kHasGrid;
  if (is_visible(p.crosshair) && (p.crosshair_row != kNoCrosshair || p.crosshair_column != kNoCrosshair))
    features |= kHasCrosshair;
  if (p.rounding > 0.0F) features |= kIsRounded;
  const auto known = pipelines_.find(features);
  return *(known != pipelines_.end() ? known : pipelines_.emplace(features, make(features)).first)->second;
}

vk::raii::Pipeline HeatmapVariants::make(std::uint32_t features) const {
  const std::span<const std::uint32_t> fragment_code =
      uses_texels_ ? std::span<const std::uint32_t>(kTexelFragmentCode) : std::span<const std::uint32_t>(kFragmentCode);
  const vk::raii::ShaderModule vertex(handles_.device, {.codeSize = sizeof(kVertexCode), .pCode = kVertexCode});
  const vk::raii::ShaderModule fragment(handles_.device,
                                        {.codeSize = fragment_code.size_bytes(), .pCode = fragment_code.data()});
  std::array<vk::Bool32, kConstants> constants{};
  std::array<vk::SpecializationMapEntry, kConstants> entries{};
  for (std::uint32_t i = 0; i < kConstants; ++i) {
    constants[i] = features >> i & 1U;
    entries[i] = vk::SpecializationMapEntry{
        .constantID = i, .offset = i * std::uint32_t{sizeof(vk::Bool32)}, .size = sizeof(vk::Bool32)};
  }
  const vk::SpecializationInfo specialization{
      .mapEntryCount = kConstants, .pMapEntries = entries.data(), .dataSize = sizeof(constants), .pData = constants.data()};
  const std::array stages{
      vk::PipelineShaderStageCreateInfo{.stage = vk::ShaderStageFlagBits::eVertex, .module = *vertex, .pName = "main"},
      vk::PipelineShaderStageCreateInfo{.stage = vk::ShaderStageFlagBits::eFragment,
                                        .module = *fragment,
                                        .pName = "main",
                                        .pSpecializationInfo = &specialization}};
  const vk::PipelineVertexInputStateCreateInfo no_vertices;
  const vk::PipelineInputAssemblyStateCreateInfo assembly{.topology = vk::PrimitiveTopology::eTriangleStrip};
  const vk::PipelineViewportStateCreateInfo viewport{.viewportCount = 1, .scissorCount = 1};
  const vk::PipelineRasterizationStateCreateInfo raster{
      .polygonMode = vk::PolygonMode::eFill, .cullMode = vk::CullModeFlagBits::eNone, .lineWidth = 1.0F};
  const vk::PipelineMultisampleStateCreateInfo multisample{.rasterizationSamples = vk::SampleCountFlagBits::e1};
  const vk::PipelineColorBlendAttachmentState blend = blending_of(features);
  const vk::PipelineColorBlendStateCreateInfo blending{.attachmentCount = 1, .pAttachments = &blend};
  const std::array dynamic{vk::DynamicState::eViewport, vk::DynamicState::eScissor};
  const vk::PipelineDynamicStateCreateInfo dynamics{.dynamicStateCount = static_cast<std::uint32_t>(dynamic.size()),
                                                    .pDynamicStates = dynamic.data()};
  return {handles_.device, nullptr,
          vk::GraphicsPipelineCreateInfo{.stageCount = static_cast<std::uint32_t>(stages.size()),
                                         .pStages = stages.data(),
                                         .pVertexInputState = &no_vertices,
                                         .pInputAssemblyState = &assembly,
                                         .pViewportState = &viewport,
                                         .pRasterizationState = &raster,
                                         .pMultisampleState = &multisample,
                                         .pColorBlendState = &blending,
                                         .pDynamicState = &dynamics,
                                         .layout = *layout_,
                                         .renderPass = render_pass_}};
}

}  // namespace headlight::shell
