#include "gpu/kernel.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "gpu/reflect.h"
#include "gpu/stream.h"
#include "gpu/test_kernel.h"
#include "ops/kernel_table.h"
#include "ops/parameters.h"
#include "support/error_message.h"
#include "support/gpu.h"

using namespace headlight;
using namespace headlight::gpu;
using test::error_message;

namespace {

const KernelSource& embedded(std::string_view name) {
  const auto table = ops::kernel_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const KernelSource& source) { return source.name == name; });
  REQUIRE(found != table.end());
  return *found;
}

Reflection reflect_embedded(std::string_view name) { return reflect(std::string(name), embedded(name).spirv); }

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("reflection reads bindings, what is written, push constants and the workgroup") {
    const Reflection naive = reflect_embedded("attention_naive");
    REQUIRE(naive.bindings.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(naive.bindings[i].number == i);
      CHECK(naive.bindings[i].kind == Reflection::Kind::Storage);
      CHECK(naive.bindings[i].is_written == (i >= 4));
    }
    CHECK(naive.push_constant_bytes == sizeof(ops::AttentionParameters));
    CHECK(naive.local_size[0] == 16);

    const Reflection texel = reflect_embedded("linear_vec4_8_texel");
    REQUIRE(texel.bindings.size() == 6);
    CHECK(texel.bindings[0].kind == Reflection::Kind::UniformTexel);
    CHECK(texel.bindings[1].kind == Reflection::Kind::UniformTexel);
    CHECK(texel.bindings[2].kind == Reflection::Kind::Storage);
    CHECK_FALSE(texel.bindings[2].is_written);
    CHECK(texel.bindings[5].is_written);
    CHECK(texel.push_constant_bytes == sizeof(ops::LinearParameters));
  }

  TEST_CASE("every kernel keeps to the limits of any Vulkan 1.1 device") {
    CHECK(ops::kernel_table().size() >= 20);
    for (const KernelSource& source : ops::kernel_table()) {
      CAPTURE(source.name);
      const Reflection reflection = reflect(std::string(source.name), source.spirv);
      CHECK(reflection.push_constant_bytes <= 128);
      CHECK(reflection.local_size[0] * reflection.local_size[1] * reflection.local_size[2] <= 128);
      std::size_t storage = 0;
      for (const Reflection::Binding& binding : reflection.bindings)
        storage += binding.kind == Reflection::Kind::Storage ? 1 : 0;
      CHECK(storage <=
            4 + 2);  // six at most; Vulkan's minimum of maxPerStageDescriptorStorageBuffers is 4, devices have 8 and more
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
    if (most == ~0u) return;
    const std::string message = error_message([&] {
      stream.dispatch(kernel, {buffer, buffer}, test::AffineParameters{}, {1, most + 1, 1});
    });
    CHECK(test::is_one_line(message));
    CHECK(message.starts_with("kernel test needs 1 × " + std::to_string(most + 1) + " × 1 workgroups"));
  }
}
