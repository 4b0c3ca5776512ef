#pragma once

#include "app/shell/swapchain.h"
#include "app/shell/ui.h"
#include "app/shell/window.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

namespace headlight::shell {

/// GLFW, initialised while at least one of these objects exists.
class GlfwSession {
 public:
  /// Throws Error in one line when there is no display.
  GlfwSession();
  ~GlfwSession();
  GlfwSession(const GlfwSession&) = delete;
  GlfwSession& operator=(const GlfwSession&) = delete;

  /// Returns GLFW's last error, in one line.
  static std::string last_error();
};

/// A window that is never shown, for asking devices whether they can show one. While a GlfwSession exists.
class HiddenWindow {
 public:
  /// Throws Error in one line.
  HiddenWindow();
  ~HiddenWindow() { glfwDestroyWindow(window_); }
  HiddenWindow(const HiddenWindow&) = delete;
  HiddenWindow& operator=(const HiddenWindow&) = delete;

  /// Throws Error in one line.
  vk::raii::SurfaceKHR surface(const vk::raii::Instance& instance) const;

 private:
  GLFWwindow* window_ = nullptr;
};

struct Window::Impl {
  Impl(RenderDevice& device, Ui& interface) : handles(device.handles()), ui(interface) {}
  ~Impl();

  /// Throws Error in one line.
  void open(const std::string& title, const WindowPlacement& placement);
  /// Throws Error in one line.
  void make_swapchain();
  /// Registers the callbacks below with GLFW; they find this object through the window's user pointer.
  void install_callbacks();
  void show_pointer(MousePointer pointer);
  /// Returns a mouse position in pixels of the frame, from GLFW's screen coordinates.
  MouseMove to_pixels(glm::dvec2 position) const;
  Modifiers held_modifiers() const;
  void note_placement();
  /// Returns the size that the displays together have in screen coordinates, and the device in an image.
  glm::ivec2 room() const;
  /// Shrinks a window that another program has made larger than room() to that size.
  void keep_in_room();

  RenderDevice::Handles& handles;
  Ui& ui;
  GlfwSession session;
  GLFWwindow* window = nullptr;
  std::optional<Swapchain> swapchain;
  std::array<GLFWcursor*, 6> cursors{};  ///< by MousePointer; made when first needed
  MousePointer shown_pointer = MousePointer::Arrow;
  bool needs_redraw = true;
  KeyPress last_press;        ///< Escape for keys without a meaning
  WindowPlacement placement;  ///< the last one while not maximised
  std::function<void(std::vector<std::string>)> on_drop;
};

}  // namespace headlight::shell
