#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/shell/pixels.h"
#include "core/error.h"

namespace headlight::shell {

class RenderDevice;
class Ui;

/// The placement of a window, in screen coordinates, kept between starts.
struct WindowPlacement {
  std::optional<glm::ivec2> position;  ///< nullopt where the system places windows itself (Wayland)
  glm::ivec2 size{0};                  ///< 0 in either direction: by the display's size
  bool maximized = false;

  bool operator==(const WindowPlacement&) const = default;
};

/// A desktop window (X11 or Wayland) that feeds its input to a Ui and shows the Ui's image. Only on the main thread, except
/// wake(). Both the device and the Ui must outlive it.
///
///   while (!window.should_close()) {
///     window.wait_events(ui.redraw_after_s());
///     if (window.is_visible() && (window.take_redraw() || ui.redraw_after_s() <= 0 || state changed)) {
///       ui.begin_frame(window.framebuffer_size(), window.content_scale() * zoom, elapsed); … ui.end_frame();
///       window.present();
///     }
///   }
class Window {
 public:
  /// Opens the window. Failure in one line when there is no display, or the device can't show images on it.
  static Result<std::unique_ptr<Window>> open(RenderDevice& device, Ui& ui, const std::string& title,
                                              const WindowPlacement& placement);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  void poll_events();
  /// Sleeps until an event, a wake() or the timeout; 0 returns immediately, infinity never times out.
  void wait_events(double timeout_s);
  /// Ends wait_events(); from any thread, also when no window is open.
  static void wake();

  bool should_close() const;
  void set_should_close(bool close);

  /// Shows it again where it is minimised.
  void raise();
  /// Is the window visible? False while minimised, of no size, or larger than the device's images: don't draw then.
  bool is_visible() const;
  /// Returns true once after anything that requires a new frame: input, resize, uncovering, another scale, wake().
  bool take_redraw();

  glm::uvec2 framebuffer_size() const;
  /// Returns the pixels per UI unit of this display: 1, 1.25, 2, …
  float content_scale() const;
  /// Returns the placement to save; while maximised the size before maximising.
  WindowPlacement placement() const;
  void set_title(const std::string& title);

  /// Called from poll_events() or wait_events() with the paths of files dropped on the window.
  void on_drop(std::function<void(std::vector<std::string>)> callback);

  /// Shows the Ui's last frame, synchronised with the display. A frame of another size than the window is scaled. Throws
  /// Error of kind DeviceLost or OutOfDeviceMemory when the device fails.
  void present();

  /// Frees everything on the device before RenderDevice::reopen(), and creates it again afterwards. The window itself stays.
  void release_device();
  /// Throws Error in one line; may be tried again then.
  void use_device();

  /// The window's parts for the shell's own files (shell/window_impl.h).
  struct Impl;

 private:
  explicit Window(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headlight::shell
