#include "gpu/kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gpu/stream.h"
#include "gpu/test_kernel.h"
#include "ops/kernel_variant.h"
#include "ops/parameters.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace kernel_test {

using namespace headlight;
using namespace headlight::gpu;
using test::error_message;

namespace {

Reflection reflect_embedded(const ops::KernelVariant& variant) {
  return reflect(to_string(variant), ops::kernel_source(variant).spirv);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("reflection reads bindings, what is written, push constants and the workgroup") {
    const Reflection naive = reflect_embedded({.shader = ops::Shader::AttentionNaive});
    REQUIRE(naive.bindings.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(naive.bindings[i].number == i);
      CHECK(naive.bindings[i].kind == Reflection::Kind::Storage);
      CHECK(naive.bindings[i].is_written == (i >= 4));
    }
    CHECK(naive.push_constant_bytes == sizeof(ops::AttentionParameters));
    CHECK(naive.local_size[0] == 16);

    const Reflection texel = reflect_embedded({.shader = ops::Shader::LinearVec4, .reads_texels = true});
    REQUIRE(texel.bindings.size() == 6);
    CHECK(texel.bindings[0].kind == Reflection::Kind::UniformTexel);
    CHECK(texel.bindings[1].kind == Reflection::Kind::UniformTexel);
    CHECK(texel.bindings[2].kind == Reflection::Kind::Storage);
    CHECK_FALSE(texel.bindings[2].is_written);
    CHECK(texel.bindings[5].is_written);
    CHECK(texel.push_constant_bytes == sizeof(ops::LinearParameters));
    CHECK(texel.constants == 2);
    CHECK(naive.constants == 0);
  }

  TEST_CASE("every variant that the ops ask for has a module, a name of its own and a value for each constant") {
    std::set<std::string> names;
    std::vector<ops::KernelVariant> variants = ops::kernel_variants(false);
    for (const ops::KernelVariant& variant : ops::kernel_variants(true)) {
      if (std::ranges::find(variants, variant) == variants.end()) variants.push_back(variant);
    }
    for (const ops::KernelVariant& variant : variants) {
      const KernelSource source = ops::kernel_source(variant);
      CAPTURE(source.name);
      CHECK(names.insert(source.name).second);
      const std::uint32_t constants =
          reflect(source.name, source.reflected.empty() ? source.spirv : source.reflected).constants;
      CHECK(constants <= source.constants.size());
      CHECK((constants == source.constants.size() || variant.shuffles));
    }
    CHECK(names.contains("linear_vec4.half.activation=2.rows=8"));
    CHECK(names.contains("attention_tiled.lanes=64.rolled=0"));
    CHECK(names.contains("attention_tiled.lanes=64.rolled=1"));
    CHECK(error_message([] { ops::kernel_source({.shader = ops::Shader::Rotate, .reads_texels = true}); }) ==
          "there is no kernel 'rotate.texel'");
  }

  TEST_CASE_FIXTURE(test::OnGpu, "specialization constants take the values that are given, and none may be missing") {
    constexpr std::string_view kFill = R"(#version 450
layout(local_size_x = 1, local_size_x_id = 0) in;
layout(constant_id = 1) const uint kValue = 7u;
layout(constant_id = 2) const bool kIsNegative = false;
layout(set = 0, binding = 0, std430) writeonly buffer result_buffer { int result[]; };
void main() { result[gl_GlobalInvocationID.x] = kIsNegative ? -int(kValue) : int(kValue); })";
    const TemporaryDirectory folder;
    write_file_atomically(folder.path() / "fill.comp", kFill);
    const std::vector<std::uint32_t> spirv = compile_glsl(folder.path(), "fill.comp", {});
    KernelSource source{.name = "fill", .file = "fill.comp", .defines = {}, .spirv = spirv, .constants = {4, 13, 1}};
    const Kernel kernel(context, source);
    const Buffer buffer(context, 32, Memory::Device, "a test");
    Stream stream(context);
    stream.clear(buffer);
    stream.dispatch(kernel, std::vector<Slice>{buffer}, std::span<const std::byte>(), {1, 1, 1});
    const Download result = stream.download(buffer);
    Submission submission = std::move(stream).submit();
    submission.wait();
    const auto values = submission.values<std::int32_t>(result);
    CHECK(std::vector(values.begin(), values.end()) == std::vector<std::int32_t>{-13, -13, -13, -13, 0, 0, 0, 0});
    source.constants.pop_back();
    CHECK(error_message([&] { Kernel(context, source); }) ==
          "kernel fill has 3 specialization constants but 2 values are given");
  }

  TEST_CASE("every kernel keeps to the limits of any Vulkan 1.1 device") {
    CHECK(ops::kernel_modules().size() >= 20);
    for (const ops::KernelModule& module : ops::kernel_modules()) {
      CAPTURE(module.shader);
      const Reflection reflection = reflect(std::string(module.shader), ops::interface_words(module));
      CHECK(reflection.push_constant_bytes <= 128);
      const std::uint32_t most_lanes = module.shader == "linear_gemv" ? 256 : 128;  // which ops use only where it fits
      CHECK(reflection.local_size[0] * reflection.local_size[1] * reflection.local_size[2] <= most_lanes);
      std::size_t storage = 0;
      for (const Reflection::Binding& binding : reflection.bindings)
        storage += binding.kind == Reflection::Kind::Storage ? 1 : 0;
      // Vulkan's minimum of maxPerStageDescriptorStorageBuffers is 4, devices have 8 and more, those with units for matrices
      // a million.
      CHECK(storage <= (module.shader.starts_with("linear_matrix") ? 7 : 6));
    }
  }

  TEST_CASE("no array of a kernel is sized by the workgroup, which Metal doesn't know when it compiles") {
    for (const ops::KernelModule& module : ops::kernel_modules()) {
      CAPTURE(module.shader);
      // Results that the size of the workgroup decides: of SPIR-V's instructions for constants, in order.
      std::set<std::uint32_t> from_size;
      for (std::size_t at = 5; at < module.spirv.size() && module.spirv[at] >> 16 > 0; at += module.spirv[at] >> 16) {
        constexpr std::uint32_t kDecorate = 71, kBuiltIn = 11, kWorkgroupSize = 25, kSpecConstantOp = 52, kTypeArray = 28;
        const std::uint32_t op = module.spirv[at] & 0xffffu;
        const auto words = module.spirv.subspan(at + 1, (module.spirv[at] >> 16) - 1);
        if (op == kDecorate && words[1] == kBuiltIn && words[2] == kWorkgroupSize) from_size.insert(words[0]);
        const auto is_from_size = [&](std::uint32_t id) { return from_size.contains(id); };
        if (op == kSpecConstantOp && std::ranges::any_of(words.subspan(3), is_from_size)) from_size.insert(words[1]);
        if (op == kTypeArray) CHECK_FALSE(is_from_size(words[2]));
      }
    }
  }

  TEST_CASE("words that aren't SPIR-V are refused with the kernel's name") {
    const std::vector<std::uint32_t> garbage(16, 0xdeadbeef);
    CHECK(error_message([&] { reflect("garbled", garbage); }).starts_with("kernel garbled: "));
    CHECK_FALSE(error_message([&] { reflect("empty", {}); }).empty());
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a dispatch with the wrong number of buffers or bytes is refused before it is recorded") {
    const Kernel kernel = test::compile_kernel(context, test::kAffine);
    const Buffer buffer(context, 256, Memory::Device, "a test");
    Stream stream(context);
    const test::AffineParameters parameters{.count = 64};
    CHECK(error_message([&] {
            stream.dispatch(kernel, {buffer}, parameters, {1, 1, 1});
          }) == "kernel test takes 2 buffers and 12 bytes of parameters, not 1 and 12");
    CHECK(error_message([&] {
            stream.dispatch(kernel, {buffer, buffer, buffer}, parameters, {1, 1, 1});
          }) == "kernel test takes 2 buffers and 12 bytes of parameters, not 3 and 12");
    CHECK(error_message([&] {
            stream.dispatch(kernel, {buffer, buffer}, std::uint32_t{64}, {1, 1, 1});
          }) == "kernel test takes 2 buffers and 12 bytes of parameters, not 2 and 4");
    CHECK(stream.dispatches() == 0);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "more workgroups than the device runs are refused") {
    const Kernel kernel = test::compile_kernel(context, test::kAffine);
    const Buffer buffer(context, 256, Memory::Device, "a test");
    Stream stream(context);
    const std::uint32_t most = context.device().max_groups[1];
    if (most == ~0u) return test::skip("the device runs any number of workgroups");
    const std::string message = error_message([&] {
      stream.dispatch(kernel, {buffer, buffer}, test::AffineParameters{}, {1, most + 1, 1});
    });
    CHECK(test::is_one_line(message));
    CHECK(message.starts_with("kernel test needs 1 × " + std::to_string(most + 1) + " × 1 workgroups"));
  }
}

}  // namespace kernel_test
