#include "app/shell/window.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "app/shell/ui_impl.h"
#include "app/shell/window_impl.h"
#include "core/error.h"
#include "platform/display.h"

namespace headlight::shell {
namespace {

constexpr glm::vec2 kDefaultSize(1440.0F, 900.0F);  // UI units
constexpr int kSmallest = 320;
constexpr int kReachable = 64;  // this much of the title bar must be on a display

std::mutex g_glfw_mutex;  // wake() may be called on any thread, also while GLFW ends
int g_sessions = 0;
std::atomic<bool> g_is_woken = false;

/// The part of a display that panels leave, in screen coordinates.
struct ScreenArea {
  glm::ivec2 origin{0}, size{0};
};

std::vector<ScreenArea> work_areas() {
  int count = 0;
  GLFWmonitor** monitors = glfwGetMonitors(&count);
  std::vector<ScreenArea> areas;
  for (int i = 0; i < count; ++i) {
    ScreenArea& area = areas.emplace_back();
    glfwGetMonitorWorkarea(monitors[i], &area.origin.x, &area.origin.y, &area.size.x, &area.size.y);
  }
  return areas;
}

void choose_size(WindowPlacement& placement) {
  if (placement.size.x > 0 && placement.size.y > 0) return;
  float scale = 1.0F;
  if (GLFWmonitor* monitor = glfwGetPrimaryMonitor()) glfwGetMonitorContentScale(monitor, &scale, nullptr);
  placement.size = glm::ivec2(kDefaultSize * scale);
  for (const ScreenArea& area : work_areas()) {
    if (area.size.x <= 0) continue;
    placement.size = glm::min(placement.size, glm::ivec2(area.size.x * 19 / 20, area.size.y * 9 / 10));
    break;
  }
}

/// Fits a saved placement, which may be of other displays: it becomes no larger than `room`, and loses a position that
/// leaves too little of the title bar on any display.
WindowPlacement fitted(WindowPlacement saved, glm::ivec2 room) {
  saved.size = glm::max(glm::min(saved.size, room), kSmallest);
  const auto has_title_bar = [&](const ScreenArea& area) {
    const glm::ivec2 at = *saved.position - area.origin;
    return at.x + saved.size.x >= kReachable && at.x + kReachable <= area.size.x && at.y >= 0 &&
           at.y + kReachable <= area.size.y;
  };
  if (saved.position && std::ranges::none_of(work_areas(), has_title_bar)) saved.position.reset();
  return saved;
}

/// Makes GLFW leave out Wayland where there can be none: GLFW 3.4 asks for it nevertheless, and Wayland's library writes
/// lines of its own to standard error.
void leave_out_wayland() {
#ifdef GLFW_PLATFORM_X11
  if (platform::may_find_wayland()) return;
  if (glfwPlatformSupported(GLFW_PLATFORM_X11) == GLFW_TRUE) glfwInitHint(GLFW_PLATFORM, GLFW_PLATFORM_X11);
#endif
}

}  // namespace

std::string GlfwSession::last_error() {
  const char* description = nullptr;
  glfwGetError(&description);
  return description != nullptr ? description : "no reason given";
}

GlfwSession::GlfwSession() {
  const std::lock_guard lock(g_glfw_mutex);
  if (g_sessions == 0) leave_out_wayland();
  if (g_sessions == 0 && glfwInit() != GLFW_TRUE) {
    throw Error("can't open a window: {} ({}); `headlight screenshot` and `headlight export` need no display",
                platform::has_display() ? "the display doesn't answer" : "there is no display", last_error());
  }
  ++g_sessions;
}

GlfwSession::~GlfwSession() {
  const std::lock_guard lock(g_glfw_mutex);
  if (--g_sessions == 0) glfwTerminate();
}

namespace {

GLFWwindow* create_hidden(glm::ivec2 size, const char* title) {
  glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
  glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);
  GLFWwindow* window = glfwCreateWindow(size.x, size.y, title, nullptr, nullptr);
  if (window == nullptr) throw Error("can't open a window: {}", GlfwSession::last_error());
  return window;
}

vk::raii::SurfaceKHR surface_of(GLFWwindow* window, const vk::raii::Instance& instance) {
  VkSurfaceKHR surface = VK_NULL_HANDLE;
  if (glfwCreateWindowSurface(*instance, window, nullptr, &surface) != VK_SUCCESS) {
    throw Error("can't show Vulkan images in a window: {}", GlfwSession::last_error());
  }
  return {instance, surface};
}

}  // namespace

HiddenWindow::HiddenWindow() : window_(create_hidden(glm::ivec2(kSmallest), "")) {}

vk::raii::SurfaceKHR HiddenWindow::surface(const vk::raii::Instance& instance) const {
  return surface_of(window_, instance);
}

Window::Impl::~Impl() {
  ui.set_clipboard({});
  swapchain.reset();
  for (GLFWcursor* cursor : cursors) {
    if (cursor != nullptr) glfwDestroyCursor(cursor);
  }
  if (window != nullptr) glfwDestroyWindow(window);
}

void Window::Impl::open(const std::string& title, const WindowPlacement& wanted) {
  placement = wanted;
  choose_size(placement);
  placement = fitted(placement, room());
  glfwWindowHint(GLFW_MAXIMIZED, placement.maximized ? GLFW_TRUE : GLFW_FALSE);
  glfwWindowHintString(GLFW_X11_CLASS_NAME, "headlight");
  glfwWindowHintString(GLFW_X11_INSTANCE_NAME, "headlight");
  window = create_hidden(placement.size, title.c_str());
  glfwSetWindowSizeLimits(window, kSmallest, kSmallest, GLFW_DONT_CARE, GLFW_DONT_CARE);

  make_swapchain();
  if (placement.position) glfwSetWindowPos(window, placement.position->x, placement.position->y);
  install_callbacks();
  glfwShowWindow(window);
}

void Window::Impl::make_swapchain() {
  handles.guarded([&] { swapchain.emplace(handles, surface_of(window, handles.instance)); });
}

void Window::Impl::note_placement() {
  placement.maximized = glfwGetWindowAttrib(window, GLFW_MAXIMIZED) == GLFW_TRUE;
  const bool is_iconified = glfwGetWindowAttrib(window, GLFW_ICONIFIED) == GLFW_TRUE;
  if (placement.maximized || is_iconified) return;
  glfwGetWindowSize(window, &placement.size.x, &placement.size.y);
  placement.size = glm::min(placement.size, room());
  glm::ivec2 position(0);
  glfwGetWindowPos(window, &position.x, &position.y);
  if (glfwGetError(nullptr) == GLFW_NO_ERROR) placement.position = position;  // Wayland doesn't report it
}

glm::ivec2 Window::Impl::room() const {
  int count = 0;
  GLFWmonitor** monitors = glfwGetMonitors(&count);
  glm::ivec2 low(std::numeric_limits<int>::max()), high(std::numeric_limits<int>::min());
  for (int i = 0; i < count; ++i) {
    const GLFWvidmode* const mode = glfwGetVideoMode(monitors[i]);
    if (mode == nullptr) continue;
    glm::ivec2 origin(0);
    glfwGetMonitorPos(monitors[i], &origin.x, &origin.y);
    low = glm::min(low, origin);
    high = glm::max(high, origin + glm::ivec2(mode->width, mode->height));
  }
  const glm::ivec2 most(handles.largest_image);
  return high.x > low.x ? glm::min(high - low, most) : most;
}

void Window::Impl::keep_in_room() {
  glm::ivec2 size(0);
  glfwGetWindowSize(window, &size.x, &size.y);
  const glm::ivec2 fitting = glm::min(size, room());
  if (fitting != size) glfwSetWindowSize(window, fitting.x, fitting.y);
}

MouseMove Window::Impl::to_pixels(glm::dvec2 position) const {
  glm::ivec2 size(1), pixels(1);
  glfwGetWindowSize(window, &size.x, &size.y);
  glfwGetFramebufferSize(window, &pixels.x, &pixels.y);
  return {glm::vec2(position * glm::dvec2(pixels) / glm::dvec2(glm::max(size, 1)))};
}

Modifiers Window::Impl::held_modifiers() const {
  const auto is_down = [&](int left, int right) {
    return glfwGetKey(window, left) == GLFW_PRESS || glfwGetKey(window, right) == GLFW_PRESS;
  };
  return {.control = is_down(GLFW_KEY_LEFT_CONTROL, GLFW_KEY_RIGHT_CONTROL),
          .shift = is_down(GLFW_KEY_LEFT_SHIFT, GLFW_KEY_RIGHT_SHIFT),
          .alt = glfwGetKey(window, GLFW_KEY_LEFT_ALT) == GLFW_PRESS,  // the right one is AltGr, which types characters
          .super = is_down(GLFW_KEY_LEFT_SUPER, GLFW_KEY_RIGHT_SUPER)};
}

void Window::Impl::show_pointer(MousePointer pointer) {
  static constexpr std::array kShapes{GLFW_ARROW_CURSOR,   GLFW_IBEAM_CURSOR, GLFW_VRESIZE_CURSOR,
                                      GLFW_HRESIZE_CURSOR, GLFW_HAND_CURSOR,  GLFW_ARROW_CURSOR};
  if (pointer == shown_pointer) return;
  shown_pointer = pointer;
  glfwSetInputMode(window, GLFW_CURSOR, pointer == MousePointer::Hidden ? GLFW_CURSOR_HIDDEN : GLFW_CURSOR_NORMAL);
  GLFWcursor*& cursor = cursors[static_cast<std::size_t>(pointer)];
  if (cursor == nullptr) cursor = glfwCreateStandardCursor(kShapes[static_cast<std::size_t>(pointer)]);
  glfwSetCursor(window, cursor);
}

Window::Window(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Window::~Window() = default;

Result<std::unique_ptr<Window>> Window::open(RenderDevice& device, Ui& ui, const std::string& title,
                                             const WindowPlacement& placement) {
  try {
    auto impl = std::make_unique<Impl>(device, ui);
    impl->open(title, placement);
    return std::unique_ptr<Window>(new Window(std::move(impl)));
  } catch (const Error& error) {
    return Failure{error.what()};
  } catch (const vk::SystemError& error) {
    return Failure{fmt::format("can't show images in a window ({}); choose another device", error.what())};
  }
}

void Window::poll_events() { glfwPollEvents(); }

void Window::wait_events(double timeout_s) {
  // Nothing is drawn while the window is minimised; becoming visible is an event of its own.
  const bool has_something_to_draw = (impl_->needs_redraw || g_is_woken) && is_visible();
  if (timeout_s <= 0.0 || has_something_to_draw) {
    glfwPollEvents();
  } else if (std::isinf(timeout_s)) {
    glfwWaitEvents();
  } else {
    glfwWaitEventsTimeout(timeout_s);
  }
}

void Window::wake() {
  g_is_woken = true;
  const std::lock_guard lock(g_glfw_mutex);
  if (g_sessions > 0) glfwPostEmptyEvent();
}

bool Window::should_close() const { return glfwWindowShouldClose(impl_->window) == GLFW_TRUE; }
void Window::set_should_close(bool close) { glfwSetWindowShouldClose(impl_->window, close ? GLFW_TRUE : GLFW_FALSE); }

void Window::raise() {
  if (glfwGetWindowAttrib(impl_->window, GLFW_ICONIFIED) == GLFW_TRUE) glfwRestoreWindow(impl_->window);
}

bool Window::is_visible() const {
  const glm::ivec2 size(framebuffer_size());
  const int most = impl_->handles.largest_image;
  return size.x > 0 && size.y > 0 && size.x <= most && size.y <= most &&
         glfwGetWindowAttrib(impl_->window, GLFW_ICONIFIED) == GLFW_FALSE;
}

bool Window::take_redraw() {
  const bool is_woken = g_is_woken.exchange(false);
  return std::exchange(impl_->needs_redraw, false) || is_woken;
}

glm::uvec2 Window::framebuffer_size() const {
  glm::ivec2 size(0);
  glfwGetFramebufferSize(impl_->window, &size.x, &size.y);
  return glm::uvec2(size);
}

float Window::content_scale() const {
  float scale = 1.0F;
  glfwGetWindowContentScale(impl_->window, &scale, nullptr);
  return std::clamp(scale, 0.5F, 8.0F);
}

WindowPlacement Window::placement() const {
  impl_->note_placement();
  return impl_->placement;
}

void Window::set_title(const std::string& title) { glfwSetWindowTitle(impl_->window, title.c_str()); }
void Window::on_drop(std::function<void(std::vector<std::string>)> callback) { impl_->on_drop = std::move(callback); }

void Window::present() {
  impl_->show_pointer(impl_->ui.pointer());
  const Canvas& canvas = *impl_->ui.impl().canvas;
  if (!impl_->swapchain->present(canvas, framebuffer_size())) impl_->needs_redraw = true;
}

void Window::release_device() { impl_->swapchain.reset(); }

void Window::use_device() {
  impl_->make_swapchain();
  impl_->needs_redraw = true;
}

}  // namespace headlight::shell
