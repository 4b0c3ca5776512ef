#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::gpu {

/// The text of a shader or of a file that one includes, by its path under shaders/: "lib/mask.glsl". Throws Error where
/// there is none.
using ShaderReader = std::function<std::string(std::string_view path)>;
/// Files of a folder.
ShaderReader shaders_of(const std::filesystem::path& folder);

/// Compiles a shader with libshaderc as the build does with glslc: Vulkan 1.1, optimised, each define "NAME" or
/// "NAME=VALUE". Throws Error with the compiler's first message.
std::vector<std::uint32_t> compile_glsl(const ShaderReader& read, std::string_view file,
                                        std::span<const std::string_view> defines);
/// Compiles a shader likewise, with #include relative to `folder`.
std::vector<std::uint32_t> compile_glsl(const std::filesystem::path& folder, std::string_view file,
                                        std::span<const std::string_view> defines);

}  // namespace headlight::gpu
