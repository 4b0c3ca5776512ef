#pragma once

namespace headlight::gpu {

/// A function of the Vulkan loader's library by its name; the library stays loaded. Throws Error where there is none: what
/// calls this has opened a device before, or says itself what is missing. Any thread.
void (*vulkan_function(const char* name))();

}  // namespace headlight::gpu
