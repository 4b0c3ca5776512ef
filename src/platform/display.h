#pragma once

#include <vector>

namespace headlight::platform {

/// Is there a display to open windows on, as far as the environment says?
bool has_display();
/// Is it, or is one of them, Wayland's?
bool has_wayland();
/// May there be a Wayland server that a library finds by itself, without the name that has_wayland() looks for?
bool may_find_wayland();
/// X11's library ends the program when the server goes. Then `end` is called first, on the thread that found out: it may
/// neither return nor use the display or a device that shows on it.
void when_display_goes(void (*end)());
/// Has the Wayland compositor gone that GLFW's window is on? GLFW asks windows to close then.
bool is_compositor_gone();
/// Names of Vulkan's extensions for windows on the displays that there are, beside VK_KHR_surface. No others: without a
/// display of theirs drivers print warnings.
std::vector<const char*> surface_extensions();

}  // namespace headlight::platform
