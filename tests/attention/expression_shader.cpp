#include "attention/expression_shader.h"

#include <array>

#include <fmt/format.h>

#include "attention/expression_glsl.h"
#include "core/error.h"
#include "gpu/buffer.h"
#include "gpu/kernel.h"
#include "gpu/shader_compiler.h"
#include "ops/kernel_variant.h"

namespace headlight::test {

using attention::Expression;

namespace {

constexpr std::array<std::uint32_t, 8> kQueryIds{5, 6, 7, 8, 9, 10, 11, 12};
constexpr std::array<std::uint32_t, 5> kKeyIds{50, 60, 70, 80, 4'000'000'000U}, kSegments{0, 0, 1, 1, 2};

constexpr std::string_view kShader =
    "#version 450\n#extension GL_GOOGLE_include_directive : require\nlayout(local_size_x = 1) in;\n"
    "layout(set = 0, binding = 0) buffer mask_buffer { uint mask_words[]; };\n"
    "#define MASK_WORDS(index) mask_words[index]\n#include \"lib/nan.glsl\"\n#include \"lib/expression.glsl\"\n";

}  // namespace

attention::ExpressionMap small_expression_map() {
  return {.layer = 1,
          .layers = 4,
          .head = 3,
          .heads = 6,
          .queries = 8,
          .keys = 5,
          .tokens = {.query_ids = kQueryIds, .key_ids = kKeyIds, .key_segments = kSegments}};
}

std::string numbered_expression_glsl(const Expression& expression, attention::ExpressionUse use, std::size_t number) {
  const bool is_mask = use == attention::ExpressionUse::Mask;
  std::string glsl = attention::expressions_glsl(is_mask ? expression : Expression(), is_mask ? Expression() : expression);
  glsl.erase(0, glsl.find("bool expression_shows"));
  for (const std::string_view name : {"expression_shows", "expression_score"}) {
    glsl.insert(glsl.find(fmt::format("{}(", name)) + name.size(), std::to_string(number));
  }
  return glsl;
}

std::vector<std::uint32_t> compile_expressions(const std::string& functions, std::string_view rest) {
  const gpu::ShaderReader read = [&](std::string_view path) -> std::string {
    if (path == "expressions.glsl") return functions;
    if (path == "test.comp") return std::string(kShader) + std::string(rest);
    for (const ops::ShaderText& known : ops::shader_texts()) {
      if (known.path == path) return std::string(known.text);
    }
    throw Error("no shader {}", path);
  };
  return gpu::compile_glsl(read, "test.comp", {});
}

std::vector<float> run_expressions(gpu::Context& context, const std::vector<std::uint32_t>& spirv,
                                   std::span<const std::uint32_t> words, std::size_t count, gpu::Groups groups) {
  const gpu::Kernel kernel(context, {.name = "expressions", .file = "test.comp", .defines = {}, .spirv = spirv});
  gpu::Stream stream(context);
  const gpu::Buffer input(context, words.size_bytes(), gpu::Memory::Device, "a test");
  const gpu::Buffer output(context, count * sizeof(float), gpu::Memory::Device, "a test");
  stream.upload(input, 0, words);
  stream.dispatch(kernel, std::vector<gpu::Slice>{input, output}, std::span<const std::byte>(), groups);
  const gpu::Download download = stream.download(output);
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  const auto values = submission.values<float>(download);
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace headlight::test
