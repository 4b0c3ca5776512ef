// A kernel that the driver refuses to make is replaced by another one that computes the same.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/attention_case.h"
#include "ops/kernels.h"
#include "ops/linear_case.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/random.h"

namespace refused_kernels_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

/// Parts of the names of kernels that the driver refuses to make.
std::vector<std::string> g_refused;

bool is_refused(std::string_view kernel) {
  return std::ranges::any_of(g_refused,
                             [&](const std::string& part) { return kernel.find(part) != std::string_view::npos; });
}

/// A device whose driver refuses what g_refused lists.
gpu::Context& refusing_context() {
  static std::unique_ptr<gpu::Context> holder;
  return test::keep_until_end(
      holder, [] { return std::make_unique<gpu::Context>(gpu::ContextOptions{.validation = true, .refuses = is_refused}); });
}

class OnRefusing {
 protected:
  gpu::Context& context = refusing_context();

 private:
  test::ValidationWatch watch_{context};
};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(OnRefusing, "a refused kernel of a linear layer costs a candidate") {
    const std::vector<std::vector<std::string>> all{
        {"lanes=256"},      {"lanes=256", "lanes=128"},
        {"linear_tiled"},   {"linear_gemv", "linear_sum"},
        {"linear_shuffle"}, {".texel"},
        {"linear_matrix"},  {"linear_shuffle", "linear_vec4", "linear_tiled", "linear_gemv"}};
    for (const std::vector<std::string>& refused : all) {
      g_refused = refused;
      CAPTURE(refused.front());
      Kernels kernels(context);
      for (const auto& [rows, in, out] : {std::array{1u, 130u, 70u}, {7u, 65u, 129u}, {70u, 520u, 65u}}) {
        for (const WeightType type : {WeightType::F32, WeightType::F16, WeightType::BF16}) {
          test::LinearCase one{.tokens = rows, .in = in, .out = out, .type = type};
          test::fill_numbers(one, rows);
          for (float& weight : one.weight.values) weight = static_cast<float>(static_cast<int>(weight * 64.0f)) / 64.0f;
          test::check_all(kernels, one);
        }
      }
    }
    g_refused = {"linear_"};
    Kernels kernels(context);
    test::LinearCase one{.tokens = 9, .in = 8, .out = 8};
    test::fill_numbers(one, 1);
    const std::string refusal = test::error_message([&] { test::run(kernels, one, LinearKernel::Tiled); });
    CHECK(refusal ==
          "the driver of '" + context.device().name +
              "' refuses the kernel linear_naive.activation=0 (pretended); choose another device or update its driver");
  }

  TEST_CASE_FIXTURE(OnRefusing, "a refused kernel of an attention costs a candidate") {
    const std::vector<std::vector<std::string>> all{{"attention_tiled.lanes=256"},
                                                    {"attention_tiled", "attention_merge"},
                                                    {"attention_merge"},
                                                    {".shuffle"},
                                                    {".texel"},
                                                    {"attention_block"},
                                                    {"attention_block_softmax", "attention_tiled"}};
    test::Random random(3);
    for (const std::vector<std::string>& refused : all) {
      g_refused = refused;
      CAPTURE(refused.front());
      Kernels kernels(context);
      for (const std::uint32_t queries : {1u, 70u}) {
        const test::AttentionCase one = test::plain_attention(random, 1, 2, queries, 300, 20, 24);
        const auto wanted = test::expected(one);
        for (const AttentionKernel kind : {AttentionKernel::Tiled, AttentionKernel::Blocks, AttentionKernel::BlocksTexel,
                                           AttentionKernel::BlocksShuffle, AttentionKernel::BlocksShuffleTexel}) {
          CAPTURE(to_string(kind));
          const auto deviation = test::deviation(one, test::run(kernels, one, kind), wanted);
          CHECK(deviation.heads.nmse < 1e-11);
          CHECK(deviation.row_sum.nmse < 1e-11);
        }
      }
    }
    g_refused = {"attention_"};
    Kernels kernels(context);
    const test::AttentionCase one = test::plain_attention(random, 1, 2, 3, 4, 4, 4);
    CHECK(test::error_message([&] {
            test::run(kernels, one, AttentionKernel::Blocks);
          }).find("refuses the kernel attention_naive") != std::string::npos);
  }

  TEST_CASE_FIXTURE(OnRefusing, "what the driver refuses is compiled once, and listed kernels are as well") {
    g_refused = {"norm.lanes=64"};
    Kernels kernels(context);
    const KernelVariant refused{.shader = Shader::Norm, .constants = {64}}, made{.shader = Shader::Norm, .constants = {8}};
    {
      const Kernels::Listing listing(kernels);
      CHECK(kernels.find(refused) != nullptr);
      CHECK(kernels.find(made) != nullptr);
      CHECK(kernels.listed() == std::vector<std::string>{"norm.lanes=64", "norm.lanes=8"});
    }
    kernels.compile_listed();
    CHECK_FALSE(kernels.has_listed());
    CHECK(kernels.is_refused(refused));
    CHECK(kernels.loaded() == 1);
    const Kernels::Listing listing(kernels);
    CHECK(kernels.find(refused) == nullptr);
    CHECK(kernels.find(made) != nullptr);
    CHECK_FALSE(kernels.has_listed());
    g_refused = {};
    Kernels others(context);  // the driver is asked again by others
    CHECK(others.find(refused) != nullptr);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a kernel that is excluded isn't chosen where another one can take its place") {
    Kernels kernels(context);
    test::LinearCase one{.tokens = 7, .in = 65, .out = 129};
    test::fill_numbers(one, 1);
    const auto compiled = [&](LinearKernel kind) {
      kernels.forget_unused(std::chrono::seconds(0));
      test::check_all(kernels, one, 1e-12, std::array{kind});
      return kernels.loaded();
    };
    CHECK(compiled(LinearKernel::Vec4) == 1);
    const KernelVariant vec4{.shader = Shader::LinearVec4, .constants = {0, 8}}, naive{.shader = Shader::LinearNaive};
    kernels.exclude({to_string(vec4)});
    CHECK(kernels.is_refused(vec4));
    CHECK(compiled(LinearKernel::Vec4) == 1);
    CHECK(kernels.find(vec4) == nullptr);
    CHECK(kernels.loaded() == 1);
    CHECK(kernels.find(naive) != nullptr);
    CHECK(kernels.loaded() == 1);  // it is the one that computed
    kernels.exclude({to_string(vec4), to_string(naive)});
    CHECK(compiled(LinearKernel::Vec4) == 1);  // nothing is left to take its place
  }

  TEST_CASE_FIXTURE(OnRefusing, "a candidate that can't be computed is left out of tuning, and what is chosen stays") {
    g_refused = {"linear_", "attention_"};
    Kernels kernels(context);
    Tuning tuning = default_tuning(context.device());
    const Tuning before = tuning;
    for (std::uint32_t step = 0; step < kTuningSteps; ++step) {
      CHECK_NOTHROW(measure_step(kernels, step, tuning));
      CHECK(kernels.tuning() == tuning);
    }
    CHECK(tuning == before);  // functions of the program are left, or nothing
    g_refused = {};
  }
}

}  // namespace refused_kernels_test
