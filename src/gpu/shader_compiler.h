#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace headlight::gpu {

/// Compiles `folder`/`file` with libshaderc as the build does with glslc: Vulkan 1.1, optimised, #include relative to
/// `folder`, each define "NAME" or "NAME=VALUE". Throws Error with the compiler's first message.
std::vector<std::uint32_t> compile_glsl(const std::filesystem::path& folder, std::string_view file,
                                        std::span<const std::string_view> defines);

}  // namespace headlight::gpu
