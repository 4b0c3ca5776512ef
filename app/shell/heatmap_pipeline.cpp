#include "app/shell/heatmap_pipeline.h"

#include <algorithm>
#include <cmath>

namespace headlight::shell {
namespace {

constexpr std::uint32_t kFirstWords = 1U << 18;  // 1 MiB, enough for a sentence; doubled when full
constexpr std::uint32_t kMissingWord = 0;        // never a heatmap's
constexpr std::size_t kNoColorMap = ~std::size_t{0};

/// A processor gathers texels of a buffer at once but loops over the lanes of a storage buffer. Where texel buffers are
/// short, as the least that Vulkan promises, the storage buffer it is.
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

/// By the device: what the host has mapped may not be cached, and is slow to read then.
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

}  // namespace headlight::shell
