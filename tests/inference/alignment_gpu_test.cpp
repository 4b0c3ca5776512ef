// The alignment that cross-attention gives, against the maps themselves.
#include "inference/alignment.h"

#include <doctest/doctest.h>

#include "support/error_message.h"
#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace alignment_gpu_test {

using namespace headlight;
using namespace headlight::inference;

namespace {

/// Mean over the heads of one cell; `weights` is [batch, head, query, key].
double mean_weight(const Tensor& weights, std::uint32_t item, std::uint32_t query, std::uint32_t key) {
  double sum = 0.0;
  for (std::uint32_t head = 0; head < weights.axis(1); ++head) {
    const std::size_t row = (std::size_t{item} * weights.axis(1) + head) * weights.axis(2) + query;
    sum += static_cast<double>(weights.values[row * weights.axis(3) + key]);
  }
  return sum / weights.axis(1);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu,
                    "each target token is aligned to the source token of the largest mean weight over the heads") {
    const auto model = open_model(test::golden_model_path("marian"));
    test::RunningSession session(context);
    for (const PaddingSide padding : {PaddingSide::Right, PaddingSide::Left}) {
      // Tokens given as ids have the alignment of the same text: <eos> of source and target is found by its id.
      PromptText text{.lines = {}, .ids = {{11, 12, 13, 14, 0}, {15, 16, 0}}, .padding = padding};
      text.target_ids = {{103, 21, 22, 23}, {103, 24, 25, 26, 27, 0}};
      const Prompt prompt = make_prompt(*model, text);
      session.run(model->network, prompt.input, model->masks);
      for (const std::uint32_t layer : {0u, 1u}) {
        const auto aligned = align(*session.newest(), *model, prompt, layer);
        const Tensor weights = session.stage({model::BlockKind::Cross, LayerIndex{layer}}, attention::Stage::Weights);
        REQUIRE(aligned.size() == 2);
        CHECK(aligned[0].size() == 3);
        CHECK(aligned[1].size() == 4);
        for (std::uint32_t item = 0; item < 2; ++item) {
          const std::uint32_t first_row = prompt.input.target->start(item), first_key = prompt.input.source.start(item);
          for (std::uint32_t i = 0; i < aligned[item].size(); ++i) {
            const AlignedToken& token = aligned[item][i];
            CHECK(token.target == i + 1);
            const double mean = mean_weight(weights, item, first_row + i, first_key + token.source);
            CHECK(std::abs(mean - static_cast<double>(token.weight)) < 1e-6);  // observed 4.5e-8
            const auto real = static_cast<std::uint32_t>(text.ids[item].size()) - 1;
            CHECK(token.source < real);
            for (std::uint32_t key = 0; key < real; ++key) {
              CHECK(mean_weight(weights, item, first_row + i, first_key + key) <= mean + 1e-6);
            }
          }
        }
        if (layer == 1) CHECK(align(*session.newest(), *model, prompt) == aligned);
      }
      CHECK(test::error_message([&] { align(*session.newest(), *model, prompt, 2); }) ==
            "the decoder has 2 layers, none is number 2");
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a source of special tokens alone aligns nothing, and one stack has nothing to align") {
    test::RunningSession session(context);
    const auto marian = open_model(test::golden_model_path("marian"));
    const Prompt empty = make_prompt(*marian, {.lines = {}, .ids = {{0}}, .target_ids = {{103, 21}}});  // the end mark
    session.run(marian->network, empty.input, marian->masks);
    CHECK(align(*session.newest(), *marian, empty) == std::vector<std::vector<AlignedToken>>{{}});
    const auto gpt2 = open_model(test::golden_model_path("gpt2"));
    const Prompt alone = make_prompt(*gpt2, {.lines = {}, .ids = {{1, 2}}});
    CHECK(test::error_message([&] { align(*session.newest(), *gpt2, alone); }) == "gpt2 has no cross-attention to align by");
  }
}

}  // namespace alignment_gpu_test
