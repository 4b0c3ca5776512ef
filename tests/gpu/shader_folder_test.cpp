// Kernels compiled at run time, from ContextOptions::shader_folder.
#include <doctest/doctest.h>

#include <filesystem>

#include "core/file.h"
#include "gpu/kernel.h"
#include "gpu/shader_compiler.h"
#include "gpu/test_kernel.h"
#include "ops/kernel_variant.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/temporary_directory.h"

namespace shader_folder_test {

using namespace headlight;
using test::error_message;

namespace {

/// A copy of the kernels' sources in which `file` has `from` replaced by `to`.
void copy_shaders(const std::filesystem::path& folder, std::string_view file, std::string_view from, std::string_view to) {
  std::filesystem::copy(HEADLIGHT_SHADER_FOLDER, folder, std::filesystem::copy_options::recursive);
  std::string source = read_file(folder / file);
  const std::size_t at = source.find(from);
  REQUIRE(at != std::string::npos);
  write_file_atomically(folder / file, source.replace(at, from.size(), to));
}

gpu::KernelSource norm_source() { return ops::kernel_source({.shader = ops::Shader::Norm, .constants = {8}}); }

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every kernel compiles from the folder of shaders, to the same interface as the one built in") {
    for (const ops::KernelModule& module : ops::kernel_modules()) {
      CAPTURE(module.shader);
      const auto words = gpu::compile_glsl(HEADLIGHT_SHADER_FOLDER, module.file, module.defines);
      if (ops::interface_words(module).data() != module.spirv.data()) continue;  // reflection may not know its types
      const gpu::Reflection fresh = gpu::reflect("fresh", words), built_in = gpu::reflect("built in", module.spirv);
      CHECK(fresh.constants == built_in.constants);
      CHECK(fresh.push_constant_bytes == built_in.push_constant_bytes);
      CHECK(fresh.local_size[0] == built_in.local_size[0]);
      REQUIRE(fresh.bindings.size() == built_in.bindings.size());
      for (std::size_t i = 0; i < fresh.bindings.size(); ++i) {
        CHECK(fresh.bindings[i].kind == built_in.bindings[i].kind);
        CHECK(fresh.bindings[i].is_written == built_in.bindings[i].is_written);
      }
    }
  }

  TEST_CASE("an edited shader replaces the built-in one") {
    const TemporaryDirectory folder;
    copy_shaders(folder.path() / "shaders", "matrix_region.comp", "local_size_x = 64", "local_size_x = 32");
    test::WatchedContext context({.shader_folder = folder.path() / "shaders"});
    const gpu::Kernel edited(context, ops::kernel_source({.shader = ops::Shader::MatrixRegion}));
    CHECK(edited.reflection().local_size[0] == 32);
  }

  TEST_CASE("an invalid shader: one line with file, line number and error") {
    const TemporaryDirectory folder;
    copy_shaders(folder.path() / "shaders", "norm.comp", "float mean =", "float average =");
    test::WatchedContext context({.shader_folder = folder.path() / "shaders"});
    const std::string message = error_message([&] { gpu::Kernel(context, norm_source()); });
    CAPTURE(message);
    CHECK(test::is_one_line(message));
    CHECK(message.starts_with("shader norm.comp:"));
    CHECK(message.find("'mean' : undeclared identifier") != std::string::npos);
  }

  TEST_CASE("a mistake in an included file, and one that is missing: one line each") {
    const TemporaryDirectory folder;
    copy_shaders(folder.path() / "shaders", "lib/mask.glsl", "uvec2 visited_keys(", "uvec2 visited_keyes(");
    const gpu::KernelSource source = ops::kernel_source({.shader = ops::Shader::AttentionTiled});
    const std::string message =
        error_message([&] { gpu::compile_glsl(folder.path() / "shaders", source.file, source.defines); });
    CAPTURE(message);
    CHECK(test::is_one_line(message));
    CHECK(message.find("visited_keys") != std::string::npos);
    std::filesystem::remove(folder.path() / "shaders" / "lib" / "mask.glsl");
    const std::string missing =
        error_message([&] { gpu::compile_glsl(folder.path() / "shaders", source.file, source.defines); });
    CAPTURE(missing);
    CHECK(test::is_one_line(missing));
    CHECK(missing.find("lib/mask.glsl") != std::string::npos);
  }

  TEST_CASE("a folder without the shader: one line with the path") {
    const TemporaryDirectory folder;
    test::WatchedContext context({.shader_folder = folder.path()});
    const std::string message = error_message([&] { gpu::Kernel(context, norm_source()); });
    CHECK(test::is_one_line(message));
    CHECK(message.find((folder.path() / "norm.comp").string()) != std::string::npos);
  }
}

}  // namespace shader_folder_test
