// Part of programs under AddressSanitizer alone: no library is unloaded. What a Vulkan driver or layer leaks then carries
// the library's name, by which leak_sanitizer.txt knows it; and what it keeps in its own variables is no leak.
extern "C" int dlclose(void* handle);

int dlclose(void* /*handle*/) { return 0; }
