#include "app/shell/heatmap_variants.h"

#include <array>
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

/// Only rounded corners let through what is below.
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

}  // namespace

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
