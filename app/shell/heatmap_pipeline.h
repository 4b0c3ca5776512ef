#pragma once

#include <array>
#include <deque>
#include <unordered_map>
#include <vector>

#include "app/shell/heatmap_renderer.h"
#include "app/shell/pixels.h"
#include "app/shell/vulkan_handles.h"
#include "app/shell/word_allocator.h"

namespace headlight::shell {

namespace params {
using uint = std::uint32_t;
#include "params/heatmap.h"
}  // namespace params

/// The Vulkan side of HeatmapRenderer: the pipeline, the buffer that holds every cached heatmap, and this frame's draws.
struct HeatmapRenderer::Pipeline {
  Pipeline(RenderDevice::Handles& handles, vk::RenderPass render_pass, Budget budget = {});

  /// After the previous frame was drawn, so that its values may be overwritten. Drops long unused heatmaps.
  void begin_frame(glm::uvec2 size, float scale);

  /// A heatmap's words in the buffer: values, then mask bits, then row scales.
  struct Entry {
    std::uint64_t revision = 0;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    bool has_mask = false;
    bool has_row_scale = false;
    std::uint32_t offset = 0;
    std::uint32_t words = 0;
    std::uint64_t last_frame = 0;
  };
  /// Uploads the image if it changed; nullptr when it doesn't fit even after dropping all others.
  const Entry* upload(const HeatmapImage& image);
  /// Offset of the colour map, or 0 when there is no room.
  std::uint32_t upload_color_map(std::span<const std::uint32_t> table);

  /// The argument of a draw-list callback; valid until the next frame.
  struct Draw {
    Pipeline* pipeline = nullptr;
    params::HeatmapParameters parameters{};
  };
  /// Records the draw into `recording`, clipped to a rectangle from its upper left to its lower right corner, in pixels.
  void record(const Draw& draw, glm::vec2 clip_low, glm::vec2 clip_high) const;

  RenderDevice::Handles& handles;
  Budget budget;
  glm::uvec2 size{0};
  float scale = 1.0F;
  std::uint64_t frame = 0;
  std::uint64_t uploads = 0;
  vk::CommandBuffer recording;
  std::deque<Draw> draws;
  std::unordered_map<std::uint64_t, Entry> entries;

 private:
  std::optional<std::uint32_t> allocate(std::uint32_t words);
  bool drop_oldest();
  bool grow(std::uint32_t words);
  void write(const Entry& entry, const HeatmapImage& image);
  std::uint32_t* words_at(std::uint32_t offset) { return static_cast<std::uint32_t*>(buffer_.data) + offset; }

  struct ColorMap {
    std::array<std::uint32_t, 256> table;
    std::uint32_t offset = 0;
  };
  std::vector<ColorMap> color_maps_;
  WordAllocator allocator_;
  std::uint32_t max_words_ = 0;
  MappedBuffer buffer_;
  vk::raii::DescriptorSetLayout set_layout_ = nullptr;
  vk::raii::PipelineLayout layout_ = nullptr;
  vk::raii::Pipeline pipeline_ = nullptr;
  vk::raii::DescriptorPool pool_ = nullptr;
  vk::DescriptorSet set_;  ///< freed with its pool
};

}  // namespace headlight::shell
