#pragma once

#include <span>

#include <glm/vec3.hpp>

#include "app/shell/frame_tiles.h"
#include "app/shell/pixels.h"
#include "app/shell/vulkan_handles.h"

namespace headlight::shell {

/// A plain rectangle of an image, in pixels, and its colour, 0 … 1.
struct Ground {
  glm::ivec2 origin{0};
  glm::uvec2 size{0};
  glm::vec3 color{0.0F};
};

/// The image that a frame is drawn into, with its render pass, and the way back to host memory. One frame is in flight at a
/// time; between frames the image keeps its pixels and is ready to be copied from (TRANSFER_SRC_OPTIMAL).
class Canvas {
 public:
  explicit Canvas(RenderDevice::Handles& handles);
  /// Waits for the frame in flight.
  ~Canvas();
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  /// Pipelines made for it draw in begin()'s render pass, whichever rectangles that is for.
  vk::RenderPass render_pass() const { return *clearing_pass_; }
  glm::uvec2 size() const { return size_; }
  vk::Image image() const { return *image_; }

  /// Throws Error when the device can't draw into an image of that size.
  void resize(glm::uvec2 size);
  /// Waits until the frame in flight is drawn.
  void wait();
  /// Waits before the frame's resources are freed, and ignores errors of the device.
  void finish() noexcept;
  /// Begins the render pass in these rectangles, on a background of [r, g, b], 0 … 1, with other rectangles on it; all other
  /// pixels stay as they are. At least one rectangle, inside of the image; after resize() it must be the whole image.
  vk::CommandBuffer begin(const glm::vec3& ground, std::span<const Ground> grounds, std::span<const PixelRect> rects);
  void end_and_submit();
  PixelImage read();

 private:
  void fill(const glm::vec3& color, std::span<const vk::ClearRect> areas);

  RenderDevice::Handles& handles_;
  vk::raii::RenderPass clearing_pass_ = nullptr;
  vk::raii::RenderPass keeping_pass_ = nullptr;  ///< compatible with it
  glm::uvec2 size_{0};
  vk::raii::DeviceMemory memory_ = nullptr;
  vk::raii::Image image_ = nullptr;
  vk::raii::ImageView view_ = nullptr;
  vk::raii::Framebuffer framebuffer_ = nullptr;
  vk::raii::CommandBuffer commands_ = nullptr;
  vk::raii::Fence done_ = nullptr;
  bool is_in_flight_ = false;
};

}  // namespace headlight::shell
