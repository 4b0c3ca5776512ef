#pragma once

#include <array>
#include <deque>
#include <map>
#include <unordered_map>

#include "app/shell/cell_colors.h"
#include "app/shell/drawn_shapes.h"
#include "app/shell/heatmap_renderer.h"
#include "app/shell/pixels.h"
#include "app/shell/vulkan_handles.h"
#include "app/shell/word_allocator.h"

namespace headlight::shell {

namespace params {
using uint = std::uint32_t;
#include "params/heatmap.h"
}  // namespace params

/// The pipelines of heatmap.{vert,frag}: one for each set of features, made when a heatmap first has them, so that a plain
/// heatmap pays for none. All share a layout: one buffer of colours and HeatmapParameters as push constants.
class HeatmapVariants {
 public:
  /// Makes the variants. `uses_texels`: the buffer is bound as a texel buffer, otherwise as a storage buffer.
  HeatmapVariants(RenderDevice::Handles& handles, vk::RenderPass render_pass, bool uses_texels);

  vk::PipelineLayout layout() const { return *layout_; }
  vk::DescriptorSetLayout set_layout() const { return *set_layout_; }
  vk::DescriptorType descriptor() const {
    return uses_texels_ ? vk::DescriptorType::eUniformTexelBuffer : vk::DescriptorType::eStorageBuffer;
  }
  static constexpr vk::ShaderStageFlags kStages = vk::ShaderStageFlagBits::eVertex | vk::ShaderStageFlagBits::eFragment;

  /// Returns the pipeline that draws a heatmap with these parameters.
  vk::Pipeline pipeline_of(const params::HeatmapParameters& parameters, bool has_mask);

 private:
  vk::raii::Pipeline make(std::uint32_t features) const;

  RenderDevice::Handles& handles_;
  vk::RenderPass render_pass_;
  bool uses_texels_;
  vk::raii::DescriptorSetLayout set_layout_ = nullptr;
  vk::raii::PipelineLayout layout_ = nullptr;
  std::map<std::uint32_t, vk::raii::Pipeline> pipelines_;  ///< by features
};

/// The Vulkan side of HeatmapRenderer: the pipelines, the buffer that holds every cached heatmap, and this frame's draws.
struct HeatmapRenderer::Pipeline {
  Pipeline(RenderDevice::Handles& handles, vk::RenderPass render_pass, Budget budget = {});

  /// Called after the previous frame was drawn, so that its values may be overwritten. Drops long unused heatmaps.
  void begin_frame(glm::uvec2 size, float scale);

  /// A heatmap's colours in the buffer, a word per cell, and what they were found from.
  struct Entry {
    std::uint64_t revision = 0;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    bool has_mask = false;
    bool has_row_scale = false;
    std::size_t color_map = 0;
    CellColoring coloring;
    std::uint32_t offset = 0;
    std::uint32_t words = 0;
    std::uint64_t last_frame = 0;
    std::uint64_t upload = 0;  ///< number of the upload that wrote the colours
  };
  /// Colours the cells if anything changed that they depend on; nullptr when they don't fit even after dropping all others.
  const Entry* upload(const HeatmapImage& image, const CellColoring& coloring);
  /// Returns the word that a heatmap without an entry reads in place of its cells; one colour a frame.
  std::uint32_t upload_missing(Color color);

  /// The argument of a draw-list callback; valid until the next frame.
  struct Draw : DrawnByCallback {
    Pipeline* pipeline = nullptr;
    params::HeatmapParameters parameters{};
    vk::Pipeline variant;
  };
  vk::Pipeline variant_of(const params::HeatmapParameters& parameters, bool has_mask) {
    return variants_.pipeline_of(parameters, has_mask);
  }
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
  void copy(const MappedBuffer& from, const MappedBuffer& to);
  void bind_buffer();
  std::size_t color_map_number(std::span<const std::uint32_t> table);
  std::uint32_t* words_at(std::uint32_t offset) { return static_cast<std::uint32_t*>(buffer_.data) + offset; }

  std::vector<std::array<std::uint32_t, 256>> color_maps_;  ///< all that were drawn with
  WordAllocator allocator_;
  std::uint32_t max_words_ = 0;
  bool uses_texels_ = false;  ///< the colours are read as a texel buffer, otherwise as a storage buffer
  MappedBuffer buffer_;
  vk::raii::BufferView view_ = nullptr;  ///< of the buffer, for texels
  HeatmapVariants variants_;
  vk::raii::DescriptorPool pool_ = nullptr;
  vk::DescriptorSet set_;  ///< freed with its pool
};

}  // namespace headlight::shell
