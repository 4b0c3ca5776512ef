#include "platform/display.h"

namespace headlight::platform {

bool has_display() { return true; }
bool has_wayland() { return false; }
bool may_find_wayland() { return false; }
void when_display_goes(void (* /*end*/)()) {}
bool is_compositor_gone() { return false; }
std::vector<const char*> surface_extensions() { return {"VK_KHR_win32_surface"}; }

}  // namespace headlight::platform
