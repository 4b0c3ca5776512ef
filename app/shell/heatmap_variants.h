#pragma once

#include <cstdint>
#include <map>

#include "app/shell/vulkan_handles.h"

namespace headlight::shell {

namespace params {
using uint = std::uint32_t;
#include "params/heatmap.h"
}  // namespace params

/// The pipelines of heatmap.{vert,frag}: one for each set of features, made when a heatmap first has them, so that a plain
/// heatmap pays for none. All share a layout: one buffer of colours and HeatmapParameters as push constants.
class HeatmapVariants {
 public:
  /// `uses_texels`: the buffer is bound as a texel buffer, otherwise as a storage buffer.
  HeatmapVariants(RenderDevice::Handles& handles, vk::RenderPass render_pass, bool uses_texels);

  vk::PipelineLayout layout() const { return *layout_; }
  vk::DescriptorSetLayout set_layout() const { return *set_layout_; }
  vk::DescriptorType descriptor() const {
    return uses_texels_ ? vk::DescriptorType::eUniformTexelBuffer : vk::DescriptorType::eStorageBuffer;
  }
  static constexpr vk::ShaderStageFlags kStages = vk::ShaderStageFlagBits::eVertex | vk::ShaderStageFlagBits::eFragment;

  /// The pipeline that draws a heatmap with these parameters.
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

}  // namespace headlight::shell
