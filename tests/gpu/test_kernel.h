#pragma once

#include <string_view>
#include <vector>

#include "core/file.h"
#include "gpu/kernel.h"
#include "gpu/shader_compiler.h"
#include "support/temporary_directory.h"

namespace headlight::test {

/// A kernel from GLSL written in a test.
inline gpu::Kernel compile_kernel(gpu::Context& context, std::string_view glsl) {
  const TemporaryDirectory folder;
  write_file_atomically(folder.path() / "test.comp", glsl);
  const std::vector<std::uint32_t> spirv = gpu::compile_glsl(folder.path(), "test.comp", {});
  return {context, gpu::KernelSource{.name = "test", .file = "test.comp", .defines = {}, .spirv = spirv}};
}

/// result[i] = factor · source[i] + offset over `count` numbers.
struct AffineParameters {
  std::uint32_t count = 0;
  float factor = 1.0f, offset = 0.0f;
};
inline constexpr std::string_view kAffine = R"(#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint count; float factor; float offset; };
layout(set = 0, binding = 0, std430) readonly buffer source_buffer { float source[]; };
layout(set = 0, binding = 1, std430) writeonly buffer result_buffer { float result[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < count) result[i] = factor * source[i] + offset;
})";

}  // namespace headlight::test
