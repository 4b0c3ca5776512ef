#include "gpu/shader_compiler.h"

#include <shaderc/shaderc.hpp>

#include "core/error.h"
#include "core/file.h"

namespace headlight::gpu {
namespace {

/// #include "lib/mask.glsl" and #include "params/linear.h", both relative to shaders/.
class Includer : public shaderc::CompileOptions::IncluderInterface {
 public:
  explicit Includer(ShaderReader read) : read_(std::move(read)) {}

  shaderc_include_result* GetInclude(const char* requested, shaderc_include_type, const char*, std::size_t) override {
    auto include = std::make_unique<Include>();
    try {
      include->content = read_(requested);
      include->name = requested;
    } catch (const Error& error) {
      include->content = error.what();  // an empty name signals shaderc that the content is the reason
    }
    include->result = {include->name.data(), include->name.size(), include->content.data(), include->content.size(),
                       nullptr};
    include->result.user_data = include.get();
    return &include.release()->result;
  }

  void ReleaseInclude(shaderc_include_result* result) override { delete static_cast<Include*>(result->user_data); }

 private:
  struct Include {
    std::string name, content;
    shaderc_include_result result{};
  };
  ShaderReader read_;
};

}  // namespace

ShaderReader shaders_of(const std::filesystem::path& folder) {
  return [folder](std::string_view path) { return read_file(folder / path); };
}

std::vector<std::uint32_t> compile_glsl(const std::filesystem::path& folder, std::string_view file,
                                        std::span<const std::string_view> defines) {
  return compile_glsl(shaders_of(folder), file, defines);
}

std::vector<std::uint32_t> compile_glsl(const ShaderReader& read, std::string_view file,
                                        std::span<const std::string_view> defines) {
  shaderc::CompileOptions options;
  options.SetTargetEnvironment(shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_1);
  options.SetOptimizationLevel(shaderc_optimization_level_performance);
  options.SetWarningsAsErrors();
  options.SetIncluder(std::make_unique<Includer>(read));
  for (const std::string_view define : defines) {
    const std::size_t equals = define.find('=');
    if (equals == std::string_view::npos) {
      options.AddMacroDefinition(std::string(define));
    } else {
      options.AddMacroDefinition(std::string(define.substr(0, equals)), std::string(define.substr(equals + 1)));
    }
  }
  const std::string source = read(file);
  const shaderc::Compiler compiler;
  const auto result = compiler.CompileGlslToSpv(source, shaderc_compute_shader, std::string(file).c_str(), options);
  if (result.GetCompilationStatus() != shaderc_compilation_status_success) {
    std::string message = result.GetErrorMessage();
    throw Error("shader {}", message.substr(0, message.find('\n')));
  }
  return {result.begin(), result.end()};
}

}  // namespace headlight::gpu
