// Every family against transformers: the reference on the golden models' folders.
#include <doctest/doctest.h>

#include <limits>

#include "core/atomic_file.h"
#include "model/load_network.h"
#include "support/deviation.h"
#include "support/golden_model.h"

namespace golden_models_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The largest difference of maps, and of states and logits divided by their root mean square.
struct Errors {
  double attentions = 0.0, hidden = 0.0, logits = 0.0;
};

void compare_maps(const reference::Run& run, BlockKind kind, const Tensor& golden, const TokenBatch& queries,
                  double& largest) {
  std::size_t layer = 0;
  for (std::size_t i = 0; i < run.blocks.size(); ++i) {
    if (run.blocks[i].kind != kind) continue;
    const reference::Array& weights = run.stages[i].weights;
    REQUIRE(layer < golden.axis(0));
    REQUIRE(Shape(golden.shape.begin() + 1, golden.shape.end()) == weights.shape);
    raise_to(largest, row_deviation(weights.shape, weights.values, part_of(golden, layer), queries).largest);
    ++layer;
  }
  REQUIRE(layer == golden.axis(0));
}

void compare_states(const std::vector<reference::Array>& states, const reference::Array& last, const Tensor& golden,
                    const TokenBatch& tokens, double& largest) {
  REQUIRE(golden.axis(0) == states.size());
  for (std::size_t layer = 0; layer < states.size(); ++layer) {
    const reference::Array& state = layer + 1 == states.size() ? last : states[layer];
    const RowDeviation deviation = row_deviation(state.shape, state.values, part_of(golden, layer), tokens);
    raise_to(largest, deviation.largest / deviation.root_square);
  }
}

/// Runs one case and compares all its results.
Errors compare(const LoadedNetwork& model, const GoldenCase& golden) {
  const reference::Run run =
      reference::run(model.network, golden.input, trained_mask(model.description, golden), -kInfinity);
  const ModelInput& input = golden.input;
  Errors errors;
  if (input.target) {
    compare_maps(run, BlockKind::EncoderSelf, golden.encoder_attentions, input.source, errors.attentions);
    compare_maps(run, BlockKind::DecoderSelf, golden.decoder_attentions, *input.target, errors.attentions);
    compare_maps(run, BlockKind::Cross, golden.cross_attentions, *input.target, errors.attentions);
    compare_states(run.encoder_hidden, run.encoder_output, golden.encoder_hidden, input.source, errors.hidden);
    compare_states(run.decoder_hidden, run.decoder_output, golden.decoder_hidden, *input.target, errors.hidden);
  } else {
    compare_maps(run, BlockKind::EncoderSelf, golden.attentions, input.source, errors.attentions);
    compare_states(run.encoder_hidden, run.encoder_output, golden.hidden, input.source, errors.hidden);
  }
  REQUIRE(run.logits.values.empty() == golden.logits.is_empty());
  if (!golden.logits.is_empty()) {
    const TokenBatch& tokens = input.target ? *input.target : input.source;
    const RowDeviation deviation = row_deviation(run.logits.shape, run.logits.values, golden.logits.values, tokens);
    errors.logits = deviation.largest / deviation.root_square;
  }
  return errors;
}

void check_all(const LoadedNetwork& model, const std::vector<GoldenCase>& cases) {
  REQUIRE(!cases.empty());
  for (const GoldenCase& golden : cases) {
    const Errors errors = compare(model, golden);
    CAPTURE(model.description.name);
    CAPTURE(golden.name);
    CHECK(errors.attentions <= 1e-7);  // at most 6.4e-8: half a step of float32 near 1
    CHECK(errors.hidden <= 4e-7);      // at most 2.0e-7
    CHECK(errors.logits <= 4e-7);      // at most 2.3e-7
  }
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("every golden model gives transformers' maps, states and logits") {
    for (const std::string& name : golden_models())
      check_all(load_network(golden_model_path(name)), load_golden_cases(name));
  }

  TEST_CASE("configurations written before release 5 of transformers mean the same") {
    std::size_t count = 0;
    for (const std::string& name : golden_models()) {
      const std::filesystem::path older = golden_model_path(name) / "config.v4.json";
      if (!exists(older)) continue;
      check_all(load_network(Checkpoint(golden_model_path(name)), read_file(older)), load_golden_cases(name));
      ++count;
    }
    CHECK(count == 19);
  }

  TEST_CASE("a model in two files equals the model in one") {
    check_all(load_network(golden_model_path("llama-sharded")), load_golden_cases("llama"));
  }

  TEST_CASE("every golden GGUF file gives transformers' maps, states and logits") {
    for (const std::string_view name : {"gpt2", "llama", "llama-mixed-k", "llama-q4_0", "llama-q8_0", "qwen2"}) {
      const std::filesystem::path file = golden_model_path("gguf") / name;
      check_all(load_network(file.string() + ".gguf"), read_golden_cases(file.string() + ".reference.safetensors"));
    }
  }
}

}  // namespace golden_models_test
