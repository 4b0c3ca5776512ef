// Every family against transformers: the reference on the golden models' folders.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/file.h"
#include "inference/reference_run.h"
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
    const reference::Array& weights = run.stages[i][attention::Stage::Weights];
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
    CHECK(count == 51);
  }

  TEST_CASE("Phi-3's early files call LongRoPE yarn or su") {
    std::string config = read_file(golden_model_path("phi3-longrope") / "config.v4.json");
    const std::size_t at = config.find("\"longrope\"");
    REQUIRE(at != std::string::npos);
    for (const char* type : {"\"yarn\"", "\"su\""}) {
      std::string early = config;
      check_all(load_network(Checkpoint(golden_model_path("phi3-longrope")), early.replace(at, 10, type)),
                load_golden_cases("phi3-longrope"));
    }
  }

  TEST_CASE("LongRoPE: a line of a batch has the numbers that it has alone, on either side of the original length") {
    // transformers chooses the factors by the batch's longest line; here 16 positions are the original length.
    const LoadedNetwork model = load_network(golden_model_path("phi3-longrope"));
    const auto batch_of = [](const std::vector<std::uint32_t>& lengths, bool pads_left) {
      const std::uint32_t longest = *std::ranges::max_element(lengths);
      TokenBatch tokens{.batch = static_cast<std::uint32_t>(lengths.size()), .length = longest, .lengths = lengths};
      for (const std::uint32_t length : lengths) {
        tokens.starts.push_back(pads_left ? longest - length : 0);
        for (std::uint32_t token = 0; token < longest; ++token) {
          const std::uint32_t at = token - tokens.starts.back();
          tokens.ids.push_back(token >= tokens.starts.back() && at < length ? 3 + at * 7 % 80 : kPaddingId);
        }
      }
      return GoldenCase{.name = "batch", .input = {.source = tokens}};
    };
    const auto run = [&](const GoldenCase& one) {
      return reference::run(model.network, one.input, trained_mask(model.description, one), -kInfinity);
    };
    for (const bool pads_left : {false, true}) {
      const GoldenCase both = batch_of({5, 20}, pads_left);
      const reference::Run together = run(both);
      const reference::Array& logits = together.logits;
      for (std::uint32_t item = 0; item < 2; ++item) {
        const std::uint32_t length = both.input.source.lengths[item], start = both.input.source.starts[item];
        const reference::Run alone = run(batch_of({length}, false));
        const std::size_t width = logits.shape[2];
        const auto from = logits.values.begin() + static_cast<std::ptrdiff_t>((std::size_t{item} * 20 + start) * width);
        double largest = 0.0;
        for (std::size_t i = 0; i < alone.logits.values.size(); ++i) {
          test::widen(largest, alone.logits.values[i], from[static_cast<std::ptrdiff_t>(i)]);
        }
        CHECK(largest < 1e-12);  // observed 0
      }
    }
  }

  TEST_CASE("a model in two files equals the model in one") {
    check_all(load_network(golden_model_path("llama-sharded")), load_golden_cases("llama"));
  }

  TEST_CASE("every golden GGUF file gives transformers' maps, states and logits") {
    CHECK(golden_gguf_files().size() >= 6);
    for (const std::string& name : golden_gguf_files()) {
      const std::filesystem::path file = golden_model_path("gguf") / name;
      check_all(load_network(file.string() + ".gguf"), read_golden_cases(file.string() + ".reference.safetensors"));
    }
  }
}

}  // namespace golden_models_test
