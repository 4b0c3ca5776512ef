#include "app/shell/swapchain.h"

#include <algorithm>

#include "core/error.h"

namespace headlight::shell {
namespace {

// A hidden window returns no image; then the frame is skipped instead of blocking.
constexpr std::uint64_t kPatience_ns = 500'000'000;

constexpr vk::ImageSubresourceRange kWhole{.aspectMask = vk::ImageAspectFlagBits::eColor, .levelCount = 1, .layerCount = 1};

/// Chooses a format of 8 bits and not SRGB, so that the copy keeps the encoded values.
vk::SurfaceFormatKHR choose_format(const std::vector<vk::SurfaceFormatKHR>& formats) {
  for (const vk::Format wanted : {vk::Format::eB8G8R8A8Unorm, vk::Format::eR8G8B8A8Unorm, vk::Format::eA8B8G8R8UnormPack32,
                                  vk::Format::eA2B10G10R10UnormPack32, vk::Format::eA2R10G10B10UnormPack32}) {
    for (const vk::SurfaceFormatKHR& format : formats) {
      if (format.format == wanted && format.colorSpace == vk::ColorSpaceKHR::eSrgbNonlinear) return format;
    }
  }
  return formats.front();
}

vk::CompositeAlphaFlagBitsKHR choose_alpha(vk::CompositeAlphaFlagsKHR supported) {
  using Alpha = vk::CompositeAlphaFlagBitsKHR;
  for (const Alpha alpha : {Alpha::eOpaque, Alpha::eInherit, Alpha::ePreMultiplied}) {
    if (supported & alpha) return alpha;
  }
  return Alpha::ePostMultiplied;
}

vk::ImageMemoryBarrier transition(vk::Image image, vk::ImageLayout from, vk::ImageLayout to, vk::AccessFlags before,
                                  vk::AccessFlags after) {
  return {.srcAccessMask = before,
          .dstAccessMask = after,
          .oldLayout = from,
          .newLayout = to,
          .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
          .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
          .image = image,
          .subresourceRange = kWhole};
}

}  // namespace

Swapchain::Swapchain(RenderDevice::Handles& handles, vk::raii::SurfaceKHR surface)
    : handles_(handles), surface_(std::move(surface)) {
  const bool is_supported =
      handles.can_present && handles.physical.getSurfaceSupportKHR(handles.queue_family, *surface_) == VK_TRUE;
  if (!is_supported) throw Error("{} can't show a window on this display; choose another device", handles.name);
  format_ = choose_format(handles.physical.getSurfaceFormatsKHR(*surface_));
  const vk::SurfaceCapabilitiesKHR capabilities = handles.physical.getSurfaceCapabilitiesKHR(*surface_);
  if (!(capabilities.supportedUsageFlags & vk::ImageUsageFlagBits::eTransferDst)) {
    throw Error("{} can't copy images to a window; choose another device", handles.name);
  }
  auto buffers = vk::raii::CommandBuffers(handles.device, {.commandPool = *handles.command_pool, .commandBufferCount = 1});
  commands_ = std::move(buffers[0]);
  acquired_ = vk::raii::Semaphore(handles.device, vk::SemaphoreCreateInfo{});
  done_ = vk::raii::Fence(handles.device, vk::FenceCreateInfo{.flags = vk::FenceCreateFlagBits::eSignaled});
}

Swapchain::~Swapchain() { handles_.wait_until_idle(); }

void Swapchain::recreate(glm::uvec2 size) {
  handles_.device.waitIdle();
  const vk::SurfaceCapabilitiesKHR capabilities = handles_.physical.getSurfaceCapabilitiesKHR(*surface_);
  vk::Extent2D extent = capabilities.currentExtent;
  if (extent.width == UINT32_MAX) {  // Wayland: the swapchain determines the window's size
    extent.width = std::clamp(size.x, capabilities.minImageExtent.width, capabilities.maxImageExtent.width);
    extent.height = std::clamp(size.y, capabilities.minImageExtent.height, capabilities.maxImageExtent.height);
  }
  size_ = {};
  if (extent.width == 0 || extent.height == 0) return;
  const std::uint32_t most = capabilities.maxImageCount == 0 ? UINT32_MAX : capabilities.maxImageCount;
  const vk::SwapchainCreateInfoKHR info{.surface = *surface_,
                                        .minImageCount = std::min(capabilities.minImageCount + 1, most),
                                        .imageFormat = format_.format,
                                        .imageColorSpace = format_.colorSpace,
                                        .imageExtent = extent,
                                        .imageArrayLayers = 1,
                                        .imageUsage = vk::ImageUsageFlagBits::eTransferDst,
                                        .imageSharingMode = vk::SharingMode::eExclusive,
                                        .preTransform = capabilities.currentTransform,
                                        .compositeAlpha = choose_alpha(capabilities.supportedCompositeAlpha),
                                        .presentMode = vk::PresentModeKHR::eFifo,
                                        .clipped = VK_TRUE,
                                        .oldSwapchain = *swapchain_};
  swapchain_ = vk::raii::SwapchainKHR(handles_.device, info);
  const auto images = swapchain_.getImages();
  images_.assign(images.begin(), images.end());
  copied_.clear();
  for (std::size_t i = 0; i < images_.size(); ++i) copied_.emplace_back(handles_.device, vk::SemaphoreCreateInfo{});
  size_ = {extent.width, extent.height};
}

void Swapchain::record_copy(const Canvas& canvas, vk::Image target) {
  using vk::ImageLayout;
  using Stage = vk::PipelineStageFlagBits;
  commands_.reset();
  commands_.begin({.flags = vk::CommandBufferUsageFlagBits::eOneTimeSubmit});
  const auto to_target =
      transition(target, ImageLayout::eUndefined, ImageLayout::eTransferDstOptimal, {}, vk::AccessFlagBits::eTransferWrite);
  commands_.pipelineBarrier(Stage::eTransfer, Stage::eTransfer, {}, {}, {}, to_target);
  const auto corner = [](glm::uvec2 size) {
    return vk::Offset3D{.x = static_cast<std::int32_t>(size.x), .y = static_cast<std::int32_t>(size.y), .z = 1};
  };
  const vk::ImageSubresourceLayers layers{.aspectMask = vk::ImageAspectFlagBits::eColor, .layerCount = 1};
  const vk::ImageBlit blit{.srcSubresource = layers,
                           .srcOffsets = std::array{vk::Offset3D{}, corner(canvas.size())},
                           .dstSubresource = layers,
                           .dstOffsets = std::array{vk::Offset3D{}, corner(size_)}};
  commands_.blitImage(canvas.image(), ImageLayout::eTransferSrcOptimal, target, ImageLayout::eTransferDstOptimal, blit,
                      canvas.size() == size_ ? vk::Filter::eNearest : vk::Filter::eLinear);
  const auto to_screen = transition(target, ImageLayout::eTransferDstOptimal, ImageLayout::ePresentSrcKHR,
                                    vk::AccessFlagBits::eTransferWrite, {});
  commands_.pipelineBarrier(Stage::eTransfer, Stage::eBottomOfPipe, {}, {}, {}, to_screen);
  commands_.end();
}

bool Swapchain::present(const Canvas& canvas, glm::uvec2 size) {
  return handles_.guarded([&] { return try_to_present(canvas, size); });
}

bool Swapchain::try_to_present(const Canvas& canvas, glm::uvec2 size) {
  static_cast<void>(handles_.device.waitForFences(*done_, VK_TRUE, UINT64_MAX));
  try {
    if (size_ != size || images_.empty()) recreate(size);
    if (size_.x == 0) return false;
    const auto [acquired, index] = swapchain_.acquireNextImage(kPatience_ns, *acquired_);
    if (acquired == vk::Result::eTimeout || acquired == vk::Result::eNotReady) return false;
    record_copy(canvas, images_[index]);
    handles_.device.resetFences(*done_);
    const vk::PipelineStageFlags copy_stage = vk::PipelineStageFlagBits::eTransfer;
    handles_.queue.submit(vk::SubmitInfo{.waitSemaphoreCount = 1,
                                         .pWaitSemaphores = &*acquired_,
                                         .pWaitDstStageMask = &copy_stage,
                                         .commandBufferCount = 1,
                                         .pCommandBuffers = &*commands_,
                                         .signalSemaphoreCount = 1,
                                         .pSignalSemaphores = &*copied_[index]},
                          *done_);
    const vk::Result shown = handles_.queue.presentKHR({.waitSemaphoreCount = 1,
                                                        .pWaitSemaphores = &*copied_[index],
                                                        .swapchainCount = 1,
                                                        .pSwapchains = &*swapchain_,
                                                        .pImageIndices = &index});
    if (shown == vk::Result::eSuboptimalKHR || acquired == vk::Result::eSuboptimalKHR) images_.clear();
    return true;
  } catch (const vk::OutOfDateKHRError&) {
    images_.clear();  // created again at the next frame, with the window's current size
    return false;
  }
}

}  // namespace headlight::shell
