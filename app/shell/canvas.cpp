#include "app/shell/canvas.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace headlight::shell {
namespace {

// UNORM although the colours are sRGB: ImGui blends in the encoded space and expects the values unchanged.
constexpr vk::Format kFormat = vk::Format::eR8G8B8A8Unorm;

/// Returns a pass that clears the image, or one that keeps its pixels. They are equal otherwise, so that pipelines fit both.
vk::raii::RenderPass make_render_pass(const vk::raii::Device& device, bool clears) {
  const vk::AttachmentDescription color{
      .format = kFormat,
      .samples = vk::SampleCountFlagBits::e1,
      .loadOp = clears ? vk::AttachmentLoadOp::eClear : vk::AttachmentLoadOp::eLoad,
      .storeOp = vk::AttachmentStoreOp::eStore,
      .stencilLoadOp = vk::AttachmentLoadOp::eDontCare,
      .stencilStoreOp = vk::AttachmentStoreOp::eDontCare,
      .initialLayout = clears ? vk::ImageLayout::eUndefined : vk::ImageLayout::eTransferSrcOptimal,
      .finalLayout = vk::ImageLayout::eTransferSrcOptimal};
  const vk::AttachmentReference reference{.attachment = 0, .layout = vk::ImageLayout::eColorAttachmentOptimal};
  const vk::SubpassDescription subpass{
      .pipelineBindPoint = vk::PipelineBindPoint::eGraphics, .colorAttachmentCount = 1, .pColorAttachments = &reference};
  using Stage = vk::PipelineStageFlagBits;
  using Access = vk::AccessFlagBits;
  // A window may still be copying the previous frame when the next one begins, and copies this one after it. A frame may be
  // drawn over the previous one.
  const std::array dependencies{
      vk::SubpassDependency{.srcSubpass = VK_SUBPASS_EXTERNAL,
                            .dstSubpass = 0,
                            .srcStageMask = Stage::eTransfer | Stage::eColorAttachmentOutput,
                            .dstStageMask = Stage::eColorAttachmentOutput,
                            .srcAccessMask = Access::eTransferRead | Access::eColorAttachmentWrite,
                            .dstAccessMask = Access::eColorAttachmentRead | Access::eColorAttachmentWrite},
      vk::SubpassDependency{.srcSubpass = 0,
                            .dstSubpass = VK_SUBPASS_EXTERNAL,
                            .srcStageMask = Stage::eColorAttachmentOutput,
                            .dstStageMask = Stage::eTransfer,
                            .srcAccessMask = Access::eColorAttachmentWrite,
                            .dstAccessMask = Access::eTransferRead}};
  return {device, vk::RenderPassCreateInfo{.attachmentCount = 1,
                                           .pAttachments = &color,
                                           .subpassCount = 1,
                                           .pSubpasses = &subpass,
                                           .dependencyCount = static_cast<std::uint32_t>(dependencies.size()),
                                           .pDependencies = dependencies.data()}};
}

PixelRect bounds_of(std::span<const PixelRect> rects) {
  PixelRect bounds = rects.front();
  for (const PixelRect& rect : rects) {
    bounds = {.left = std::min(bounds.left, rect.left),
              .top = std::min(bounds.top, rect.top),
              .right = std::max(bounds.right, rect.right),
              .bottom = std::max(bounds.bottom, rect.bottom)};
  }
  return bounds;
}

vk::Rect2D to_vulkan(const PixelRect& rect) {
  return {.offset = {.x = rect.left, .y = rect.top},
          .extent = {.width = static_cast<std::uint32_t>(rect.right - rect.left),
                     .height = static_cast<std::uint32_t>(rect.bottom - rect.top)}};
}

}  // namespace

Canvas::Canvas(RenderDevice::Handles& handles)
    : handles_(handles),
      clearing_pass_(make_render_pass(handles.device, true)),
      keeping_pass_(make_render_pass(handles.device, false)) {
  auto buffers = vk::raii::CommandBuffers(handles.device, {.commandPool = *handles.command_pool, .commandBufferCount = 1});
  commands_ = std::move(buffers[0]);
  done_ = vk::raii::Fence(handles.device, vk::FenceCreateInfo{});
}

Canvas::~Canvas() { finish(); }

void Canvas::finish() noexcept {
  if (is_in_flight_) handles_.wait_until_idle();
}

void Canvas::resize(glm::uvec2 size) {
  if (size == size_) return;
  const std::uint32_t limit = handles_.physical.getProperties().limits.maxImageDimension2D;
  if (size.x == 0 || size.y == 0 || size.x > limit || size.y > limit) {
    throw Error("can't draw an image of {} x {} pixels on {}: each side may have 1 to {}", size.x, size.y, handles_.name,
                limit);
  }
  wait();
  handles_.queue.waitIdle();  // a window may still be copying from the old image
  size_ = {};                 // until there is a new one
  framebuffer_ = nullptr;
  view_ = nullptr;
  image_ = nullptr;
  memory_ = nullptr;
  image_ = vk::raii::Image(handles_.device, vk::ImageCreateInfo{.imageType = vk::ImageType::e2D,
                                                                .format = kFormat,
                                                                .extent = {.width = size.x, .height = size.y, .depth = 1},
                                                                .mipLevels = 1,
                                                                .arrayLayers = 1,
                                                                .samples = vk::SampleCountFlagBits::e1,
                                                                .tiling = vk::ImageTiling::eOptimal,
                                                                .usage = vk::ImageUsageFlagBits::eColorAttachment |
                                                                         vk::ImageUsageFlagBits::eTransferSrc});
  const vk::MemoryRequirements needs = image_.getMemoryRequirements();
  memory_ = allocate_memory(handles_, needs, {}, vk::MemoryPropertyFlagBits::eDeviceLocal);
  image_.bindMemory(*memory_, 0);
  view_ = vk::raii::ImageView(
      handles_.device,
      vk::ImageViewCreateInfo{
          .image = *image_,
          .viewType = vk::ImageViewType::e2D,
          .format = kFormat,
          .subresourceRange = {.aspectMask = vk::ImageAspectFlagBits::eColor, .levelCount = 1, .layerCount = 1}});
  framebuffer_ = vk::raii::Framebuffer(handles_.device, vk::FramebufferCreateInfo{.renderPass = *clearing_pass_,
                                                                                  .attachmentCount = 1,
                                                                                  .pAttachments = &*view_,
                                                                                  .width = size.x,
                                                                                  .height = size.y,
                                                                                  .layers = 1});
  size_ = size;
}

void Canvas::wait() {
  if (!is_in_flight_) return;
  static_cast<void>(handles_.device.waitForFences(*done_, VK_TRUE, UINT64_MAX));
  handles_.device.resetFences(*done_);
  is_in_flight_ = false;
}

vk::CommandBuffer Canvas::begin(const glm::vec3& ground, std::span<const Ground> grounds, std::span<const PixelRect> rects) {
  wait();
  commands_.reset();
  commands_.begin({.flags = vk::CommandBufferUsageFlagBits::eOneTimeSubmit});
  const PixelRect drawn = bounds_of(rects);
  const bool is_whole = rects.size() == 1 && drawn.contains({.right = static_cast<std::int32_t>(size_.x),
                                                             .bottom = static_cast<std::int32_t>(size_.y)});
  const vk::ClearValue clear{.color = {.float32 = std::array{ground.r, ground.g, ground.b, 1.0F}}};
  commands_.beginRenderPass({.renderPass = is_whole ? *clearing_pass_ : *keeping_pass_,
                             .framebuffer = *framebuffer_,
                             .renderArea = to_vulkan(drawn),
                             .clearValueCount = 1,
                             .pClearValues = &clear},
                            vk::SubpassContents::eInline);
  std::vector<vk::ClearRect> areas;
  const auto fill_part = [&](const PixelRect& rect, const glm::vec3& color) {
    areas.clear();
    for (const PixelRect& part : rects) {
      const PixelRect area = intersection(rect, part);
      if (!area.is_empty()) areas.push_back({.rect = to_vulkan(area), .baseArrayLayer = 0, .layerCount = 1});
    }
    if (!areas.empty()) fill(color, areas);
  };
  if (!is_whole) fill_part(drawn, ground);
  for (const Ground& rect : grounds) {
    const glm::ivec2 end = rect.origin + glm::ivec2(rect.size);
    fill_part({.left = rect.origin.x, .top = rect.origin.y, .right = end.x, .bottom = end.y}, rect.color);
  }
  return *commands_;
}

void Canvas::fill(const glm::vec3& color, std::span<const vk::ClearRect> areas) {
  const vk::ClearAttachment fill{.aspectMask = vk::ImageAspectFlagBits::eColor,
                                 .colorAttachment = 0,
                                 .clearValue = {.color = {.float32 = std::array{color.r, color.g, color.b, 1.0F}}}};
  commands_.clearAttachments(fill,
                             vk::ArrayProxy<const vk::ClearRect>(static_cast<std::uint32_t>(areas.size()), areas.data()));
}

void Canvas::end_and_submit() {
  commands_.endRenderPass();
  commands_.end();
  handles_.queue.submit(vk::SubmitInfo{.commandBufferCount = 1, .pCommandBuffers = &*commands_}, *done_);
  is_in_flight_ = true;
}

PixelImage Canvas::read() {
  wait();
  PixelImage result{.size = size_, .rgba = std::vector<std::uint8_t>(std::size_t{size_.x} * size_.y * 4)};
  const MappedBuffer staging(handles_, result.rgba.size(), vk::BufferUsageFlagBits::eTransferDst,
                             vk::MemoryPropertyFlagBits::eHostCached);
  handles_.run_once([&](vk::CommandBuffer commands) {
    const vk::BufferImageCopy region{.imageSubresource = {.aspectMask = vk::ImageAspectFlagBits::eColor, .layerCount = 1},
                                     .imageExtent = {.width = size_.x, .height = size_.y, .depth = 1}};
    commands.copyImageToBuffer(*image_, vk::ImageLayout::eTransferSrcOptimal, *staging.buffer, region);
    const vk::MemoryBarrier to_host{.srcAccessMask = vk::AccessFlagBits::eTransferWrite,
                                    .dstAccessMask = vk::AccessFlagBits::eHostRead};
    commands.pipelineBarrier(vk::PipelineStageFlagBits::eTransfer, vk::PipelineStageFlagBits::eHost, {}, to_host, {}, {});
  });
  std::memcpy(result.rgba.data(), staging.data, result.rgba.size());
  for (std::size_t alpha = 3; alpha < result.rgba.size(); alpha += 4) result.rgba[alpha] = 255;
  return result;
}

}  // namespace headlight::shell
