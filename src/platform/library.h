#pragma once

namespace headlight::platform {

/// A function of a shared library that the system finds by its name, as "libvulkan.so.1"; the library stays loaded. Null:
/// there is no such library, or it lacks the function. Any thread.
void (*library_function(const char* library, const char* name))();

}  // namespace headlight::platform
