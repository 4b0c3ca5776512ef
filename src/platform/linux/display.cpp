#include "platform/display.h"

#include <cstdlib>

#include "platform/library.h"

namespace headlight::platform {
namespace {

void (*end_without_display)() = nullptr;

extern "C" int on_lost_server(void* /*display*/) {
  end_without_display();
  return 0;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

bool has_wayland() { return is_set("WAYLAND_DISPLAY"); }

bool has_display() { return has_wayland() || is_set("DISPLAY"); }

/// A socket is found by an open descriptor, by its whole path, or in XDG_RUNTIME_DIR.
bool may_find_wayland() {
  const char* name = std::getenv("WAYLAND_DISPLAY");
  const bool has_path = name != nullptr && name[0] == '/';
  return has_path || std::getenv("WAYLAND_SOCKET") != nullptr || std::getenv("XDG_RUNTIME_DIR") != nullptr;
}

void when_display_goes(void (*end)()) {
  end_without_display = end;
  const auto set = reinterpret_cast<void (*)(int (*)(void*))>(library_function("libX11.so.6", "XSetIOErrorHandler"));
  if (set != nullptr) set(on_lost_server);
}

bool is_compositor_gone() {
  const auto display = reinterpret_cast<void* (*)()>(library_function("libglfw.so.3", "glfwGetWaylandDisplay"));
  const auto error = reinterpret_cast<int (*)(void*)>(library_function("libwayland-client.so.0", "wl_display_get_error"));
  void* const shown = display != nullptr && error != nullptr ? display() : nullptr;
  return shown != nullptr && error(shown) != 0;
}

std::vector<const char*> surface_extensions() {
  std::vector<const char*> names;
  if (is_set("DISPLAY")) names = {"VK_KHR_xcb_surface", "VK_KHR_xlib_surface"};
  if (has_wayland()) names.push_back("VK_KHR_wayland_surface");
  return names;
}

}  // namespace headlight::platform
