#pragma once

#include <vector>

namespace headlight::platform {

/// Is there a display to open windows on, as far as the environment says?
bool has_display();
/// Is it, or is one of them, Wayland's?
bool has_wayland();
/// May there be a Wayland server that a library finds by itself, without the name that has_wayland() looks for?
bool may_find_wayland();
/// Names of Vulkan's extensions for windows on the displays that there are, beside VK_KHR_surface. No others: without a
/// display of theirs drivers print warnings.
std::vector<const char*> surface_extensions();

}  // namespace headlight::platform
