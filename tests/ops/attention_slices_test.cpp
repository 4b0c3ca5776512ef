// Attention on devices with small bindings, and the scratch of the kernels by blocks.
#include <doctest/doctest.h>

#include <array>

#include "ops/attention.h"
#include "ops/attention_blocks.h"
#include "ops/attention_case.h"
#include "support/error_message.h"
#include "support/gpu_tensors.h"

namespace attention_slices_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

constexpr std::array kKinds{AttentionKernel::Naive, AttentionKernel::Blocks,        AttentionKernel::BlocksTexel,
                            AttentionKernel::Tiled, AttentionKernel::BlocksShuffle, AttentionKernel::BlocksShuffleTexel,
                            AttentionKernel::Host};

/// Does the program compute it by functions of its own? A shader takes their place elsewhere.
bool is_on_host(const Kernels& kernels, AttentionKernel kind) {
  return is_host(kind) && kernels.context().device().runs_host_steps;
}

void check_all(Kernels& kernels, const test::AttentionCase& one, std::uint32_t at_least_dispatches) {
  const auto expected = test::expected(one);
  for (const AttentionKernel kind : kKinds) {
    INFO(to_string(kind), ": ", test::describe(one));
    const auto result = test::run(kernels, one, kind);
    const auto deviation = test::deviation(one, result, expected);
    CHECK(deviation.heads.nmse < 1e-12);    // observed 3.2e-14
    CHECK(deviation.heads.max_abs < 1e-6);  // observed 2.8e-7
    CHECK(deviation.row_sum.nmse < 1e-12);  // observed 2.9e-14
    CHECK(result.is_rest_untouched);
    if (!is_on_host(kernels, kind)) CHECK(result.dispatches >= at_least_dispatches);
  }
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("attention: batch items that together exceed a binding are split, each with its own mask") {
    test::WatchedContext context({.max_storage_range = 65'536, .max_texel_elements = 2'048});
    Kernels kernels(context);
    test::Random random(17);
    test::AttentionCase one = test::plain_attention(random, 5, 2, 70, 65, 20, 36);  // 20 KiB of values an item
    one.key_lengths = {65, 1, 30, 64, 7};
    one.mask.rule.causal = true;
    one.mask.painted[{.batch = 3}].paint({5, 60}, true);
    check_all(kernels, one, 2);
    one.config.kv_heads = 1;
    one.k = random.tensor({5, 1, 65, 20});
    one.v = random.tensor({5, 1, 65, 36});
    one.key_lengths = {60, 1, 30, 64, 7};
    one.key_starts = {5, 0, 9, 1, 58};
    one.position_bias = model::PositionBias{.kind = model::PositionBias::Kind::Slopes, .table = random.tensor({2}, 0.1f)};
    one.config.softcap = 3.0f;
    one.first_query = 11;
    check_all(kernels, one, 2);
  }

  TEST_CASE("attention: where texel buffers are too small, storage buffers are used") {
    test::WatchedContext context({.max_texel_elements = 64});
    Kernels kernels(context);
    test::Random random(18);
    check_all(kernels, test::plain_attention(random, 2, 3, 40, 50, 8, 12), 1);
  }

  TEST_CASE("attention: a map larger than any binding is refused in one line") {
    test::WatchedContext context({.max_storage_range = 65'536, .max_texel_elements = 4'096});
    Kernels kernels(context);
    test::Random random(19);
    const test::AttentionCase one = test::plain_attention(random, 1, 2, 4, 300, 32, 4);
    for (const AttentionKernel kind : kKinds) {
      if (is_on_host(kernels, kind)) continue;  // functions of the program bind nothing
      const std::string message = test::error_message([&] { test::run(kernels, one, kind); });
      CAPTURE(message);
      CHECK(test::is_one_line(message));
      CHECK(message.starts_with("one matrix of 300 tokens × 2 heads is more than the "));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "the scratch fits the text, its budget and a binding") {
    CHECK(AttentionScratch(context, 4, 5, 5).rows() == 8);
    CHECK(AttentionScratch(context, 4, 64, 64, 3).items() == 3);
    const AttentionScratch long_text(context, 8, 4096, 4096);
    CHECK(long_text.rows() % 8 == 0);
    CHECK(long_text.scores().size() <= std::size_t{4} << 20);
    const AttentionScratch crowded(context, 64, 4096, 4096, 64);  // the smallest possible block
    CHECK(crowded.rows() == 8);
    CHECK(crowded.items() == 1);
    CHECK(crowded.scores().size() == std::size_t{64} * 4096 * 4 * 8);

    test::WatchedContext small({.max_storage_range = 65'536, .max_texel_elements = 2'048});
    const AttentionScratch fitted(small, 2, 100, 100, 10);
    CHECK(fitted.scores().size() <= 2'048 * 16);
    const std::string message = test::error_message([&] { AttentionScratch(small, 8, 300, 300); });
    CHECK(message.starts_with("8 rows of 300 scores × 8 heads are more than the 0 MiB"));
  }
}

}  // namespace attention_slices_test
