#include "app/engine/analyses/run_sample.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/asked_analysis.h"

namespace run_sample_test {

using namespace headlight;
using namespace headlight::app;

namespace {

RunSample sample_of(AskedAnalysis& asked) { return found_in<RunSample>(asked.ask(RunSampleQuestion())); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a run's sample has weights of every head, logits and the model's checksum, the same each time") {
    AskedAnalysis asked("gpt2");
    const RunSample first = sample_of(asked);
    std::size_t heads = 0;
    std::size_t keys = 0;
    for (const auto& [block, shape] : asked.result.shapes) {
      heads += shape.heads;
      keys = std::min<std::size_t>(shape.keys, 8);
    }
    CHECK(first.weights.size() == heads * keys);
    CHECK(first.logits.size() == 64);
    double sum = 0.0;
    for (const float weight : first.weights) {
      CHECK(weight >= 0.0F);
      CHECK(weight <= 1.0F);
      sum += double{weight};
    }
    CHECK(sum > 0.25 * static_cast<double>(heads));  // most rows are seen up to their own key
    AskedAnalysis again("gpt2");
    const RunSample second = sample_of(again);
    CHECK(first.weights == second.weights);
    CHECK(first.logits == second.logits);
    CHECK(first.weights_crc == second.weights_crc);
  }

  TEST_CASE("another text changes the numbers, another model the checksum too") {
    AskedAnalysis asked("gpt2");
    AskedAnalysis other_text("gpt2", "the cat sat on the dog");
    AskedAnalysis other_model("bert");
    const RunSample sample = sample_of(asked);
    const RunSample of_text = sample_of(other_text);
    CHECK(sample.weights_crc == of_text.weights_crc);
    CHECK(sample.logits != of_text.logits);
    CHECK(sample.weights_crc != sample_of(other_model).weights_crc);
  }

  TEST_CASE("another mask changes logits and no checksum; the playground has no logits") {
    AskedAnalysis asked("gpt2");
    const RunSample before = sample_of(asked);
    asked.state.masks[model::BlockKind::EncoderSelf].rule.causal = false;
    const RunSample after = sample_of(asked);
    CHECK(before.weights_crc == after.weights_crc);
    CHECK(before.logits != after.logits);
    change_to_playground(asked.state);
    CHECK(sample_of(asked).logits.empty());
  }

  TEST_CASE("an encoder-decoder is sampled in all three kinds of attention") {
    AskedAnalysis asked("marian");
    const RunSample sample = sample_of(asked);
    CHECK_FALSE(sample.weights.empty());
    for (const float weight : sample.weights) CHECK(std::isfinite(weight));
    CHECK(sample.logits.size() == 64);
  }
}

}  // namespace run_sample_test
