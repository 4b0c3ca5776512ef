#include "platform/display.h"

#include <cstdlib>

namespace headlight::platform {
namespace {

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

std::vector<const char*> surface_extensions() {
  std::vector<const char*> names;
  if (is_set("DISPLAY")) names = {"VK_KHR_xcb_surface", "VK_KHR_xlib_surface"};
  if (has_wayland()) names.push_back("VK_KHR_wayland_surface");
  return names;
}

}  // namespace headlight::platform
