#pragma once

#include "app/shell/canvas.h"
#include "app/shell/vulkan_handles.h"

namespace headlight::shell {

/// The images that a window shows, synchronised with the display. Created again when the window's size changes.
class Swapchain {
 public:
  /// Throws Error in one line when the device can't show images on the surface.
  Swapchain(RenderDevice::Handles& handles, vk::raii::SurfaceKHR surface);
  /// Waits for the device.
  ~Swapchain();
  Swapchain(const Swapchain&) = delete;
  Swapchain& operator=(const Swapchain&) = delete;

  /// Copies the canvas' frame to a window of `size` pixels and shows it. False when the window took no image this time (it
  /// is being resized, or hidden): draw again after the next event. Throws Error; the swapchain is then unusable.
  bool present(const Canvas& canvas, glm::uvec2 size);

 private:
  bool try_to_present(const Canvas& canvas, glm::uvec2 size);
  void recreate(glm::uvec2 size);
  void record_copy(const Canvas& canvas, vk::Image target);

  RenderDevice::Handles& handles_;
  vk::raii::SurfaceKHR surface_;
  vk::SurfaceFormatKHR format_;
  vk::raii::SwapchainKHR swapchain_ = nullptr;
  glm::uvec2 size_{0};
  std::vector<vk::Image> images_;
  std::vector<vk::raii::Semaphore> copied_;  ///< one per image: presenting waits for it
  vk::raii::Semaphore acquired_ = nullptr;
  vk::raii::CommandBuffer commands_ = nullptr;
  vk::raii::Fence done_ = nullptr;  ///< signalled while no copy is in flight
};

}  // namespace headlight::shell
