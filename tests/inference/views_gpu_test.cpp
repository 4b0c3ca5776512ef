// Scaled heads and the logit lens against the double-precision reference.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "inference/golden_run.h"
#include "inference/reference_run.h"
#include "support/deviation.h"
#include "support/gpu.h"
#include "support/running_session.h"
#include "support/stages.h"

namespace views_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using model::BlockKind;
using model::reference::Array;

namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

struct Loaded {
  std::shared_ptr<const model::Network> network;
  model::ModelDescription description;
  std::vector<test::GoldenCase> cases;
};

Loaded load(const std::string& name) {
  model::LoadedNetwork loaded = model::load_network(test::golden_model_path(name));
  return {std::make_shared<const model::Network>(std::move(loaded.network)), std::move(loaded.description),
          test::load_golden_cases(name)};
}

/// The network with one head's columns of W_O times `factor`; b_O unchanged.
std::shared_ptr<const model::Network> with_scaled_columns(const model::Network& network, model::BlockRef block,
                                                          std::uint32_t head, float factor) {
  auto layers = std::make_shared<model::Layers>(*network.layers);
  const std::uint32_t number = block.layer.value;
  model::AttentionLayer& layer = block.kind == BlockKind::EncoderSelf   ? layers->encoder[number]
                                 : block.kind == BlockKind::DecoderSelf ? *layers->decoder[number].self
                                                                        : layers->decoder[number].cross;
  model::Parameter& weight = layer.weights->output->weight;
  Tensor scaled = weight.tensor();
  const std::uint32_t d_v = layer.config.d_v;
  for (std::uint32_t row = 0; row < scaled.axis(0); ++row) {
    for (std::uint32_t i = head * d_v; i < (head + 1) * d_v; ++i) scaled.at({row, i}) *= factor;
  }
  weight = std::move(scaled);
  auto result = std::make_shared<model::Network>(network);
  result->layers = std::move(layers);
  return result;
}

/// The largest difference from the reference: of maps, and of logits divided by their root mean square.
double off(test::RunningSession& session, const model::reference::Run& expected) {
  double worst = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < expected.blocks.size(); ++i) {
    const Tensor weights = session.stage(expected.blocks[i], Stage::Weights);
    test::raise_to(worst, test::deviation(weights.values, expected.stages[i][attention::Stage::Weights].values).max_abs);
  }
  const std::vector<double>& logits = expected.logits.values;
  for (const double value : logits) squares += value * value;
  const double root_square = std::sqrt(squares / static_cast<double>(logits.size()));
  test::raise_to(worst, test::deviation(session.logits().values, logits).max_abs / root_square);
  return worst;
}

/// Logits of every state [layer + 1, batch, token, vocabulary], on the host from the hidden states.
std::vector<double> lens_of(const model::Layers& layers, const Tensor& hidden) {
  const auto& norm = layers.decoder.empty() ? layers.encoder_norm : layers.decoder_norm;
  std::vector<double> result;
  for (std::uint32_t layer = 0; layer < hidden.axis(0); ++layer) {
    const auto part = test::part_of(hidden, layer);
    Array state{{hidden.axis(1), hidden.axis(2), hidden.axis(3)}, std::vector<double>(part.begin(), part.end())};
    if (layer + 1 < hidden.axis(0)) state = apply(norm, std::move(state));  // the last one is already normed
    const Array logits = unembed(*layers.unembedding, std::move(state));
    result.insert(result.end(), logits.values.begin(), logits.values.end());
  }
  return result;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu,
                    "a head's gain is a factor of its columns of W_O, the bias is unchanged: 0 ablates the head") {
    for (const std::string name :
         {"gpt2", "llama", "gemma2", "gpt_neox", "bert", "t5", "marian", "deberta-v3", "bert-relative-key"}) {
      const Loaded loaded = load(name);
      const test::GoldenCase& golden = loaded.cases.at(0);
      const attention::MaskSet masks = test::masks_of(loaded.description, golden);
      const auto is_visible = test::trained_mask(loaded.description, golden);
      test::RunningSession session(context), other(context);
      for (const model::BlockRef block : loaded.network->blocks()) {
        const std::uint32_t heads = loaded.network->layer(block).config.heads;
        const std::uint32_t head = (block.layer.value + 1) % heads;
        for (const float gain : {0.0f, 0.5f, -2.0f}) {
          INFO(name, ", ", to_string(block.kind), " layer ", block.layer.value, ", gain ", gain);
          const auto scaled = with_scaled_columns(*loaded.network, block, head, gain);
          session.run(loaded.network, golden.input, masks, {{.scope = scope_of(block, head), .operation = Scale{gain}}});
          CHECK(off(session, model::reference::run(*scaled, golden.input, is_visible, kMinusInfinity)) <
                2e-5);  // observed 2.4e-6
          other.run(scaled, golden.input, masks);
          const Tensor logits = other.logits();
          CHECK(test::deviation(session.logits().values, std::vector<double>(logits.values.begin(), logits.values.end()))
                    .max_abs < 2e-5);  // observed 0: the factors are powers of two
          CHECK(session.stage(block, Stage::Weights).values == other.stage(block, Stage::Weights).values);
          session.run(loaded.network, golden.input, masks);
          CHECK(session.logits().values != logits.values);  // or the head does nothing
        }
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "residual rows are the reference's states, the last layer's before the final norm") {
    for (const std::string name : {"gpt2", "llama", "gpt_neox", "bert", "marian"}) {
      CAPTURE(name);
      const Loaded loaded = load(name);
      const test::GoldenCase& golden = loaded.cases.at(2);  // several lines
      test::RunningSession session(context);
      session.run(loaded.network, golden.input, test::masks_of(loaded.description, golden));
      const model::reference::Run expected = model::reference::run(
          *loaded.network, golden.input, test::trained_mask(loaded.description, golden), kMinusInfinity);
      std::vector<ResidualRows> requests;
      std::vector<std::vector<double>> rows;
      for (const Stack stack : {Stack::Encoder, Stack::Decoder}) {
        const auto& states = stack == Stack::Encoder ? expected.encoder_hidden : expected.decoder_hidden;
        for (std::uint32_t layer = 0; layer < states.size(); ++layer) {
          const model::TokenBatch& tokens = stack == Stack::Encoder ? golden.input.source : *golden.input.target;
          const std::uint32_t batch = layer % 2, first = tokens.start(batch) + layer % 2, width = states[layer].shape.back();
          requests.push_back({.stack = stack, .layer = layer, .batch = batch, .first = first, .count = 2});
          const auto at = states[layer].values.begin() +
                          static_cast<std::ptrdiff_t>((std::size_t{batch} * tokens.length + first) * width);
          rows.emplace_back(at, at + static_cast<std::ptrdiff_t>(2 * width));
        }
      }
      const std::vector<Tensor> states = session.residuals(requests);
      REQUIRE(states.size() == requests.size());
      for (std::size_t i = 0; i < states.size(); ++i) {
        CAPTURE(i);
        CHECK(states[i].shape == Shape{2, static_cast<std::uint32_t>(rows[i].size() / 2)});
        CHECK(test::deviation(states[i].values, rows[i]).nmse < 1e-11);  // observed 1.3e-14
      }
      // Together with tiles and logits the numbers are the same.
      const attention::TileRequest tile{.block = session.blocks().front(), .rows = 1, .columns = 1};
      const StateRef state{.batch = 0, .token = 1, .layer = 1};
      const Run::Answers answers =
          session.newest()->answer({.tiles = std::span(&tile, 1), .states = std::span(&state, 1), .residuals = requests});
      CHECK(answers.tiles.front().values == session.evaluate(std::span(&tile, 1)).front().values);
      CHECK(answers.logits.values == session.logits(std::span(&state, 1)).values);
      REQUIRE(answers.residuals.size() == states.size());
      for (std::size_t i = 0; i < states.size(); ++i) CHECK(answers.residuals[i].values == states[i].values);

      const std::uint32_t length = golden.input.source.length;
      for (const ResidualRows& wrong : {ResidualRows{.layer = 99, .count = 1}, ResidualRows{.batch = 9, .count = 1},
                                        ResidualRows{.first = length - 1, .count = 2}, ResidualRows{.count = 0}}) {
        CHECK_THROWS_AS(session.residuals(std::span(&wrong, 1)), Error);
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "logit lens: every layer through the final norm and the unembedding, the last is the model") {
    for (const std::string name :
         {"gpt2", "llama", "gemma2", "bert", "albert", "electra", "opt-post-norm", "t5", "flan-t5", "marian", "bart"}) {
      CAPTURE(name);
      const Loaded loaded = load(name);
      const test::GoldenCase& golden = loaded.cases.at(2);  // several lines
      test::RunningSession session(context);
      session.run(loaded.network, golden.input, test::masks_of(loaded.description, golden));
      const Tensor hidden = session.hidden(loaded.network->layers->decoder.empty() ? Stack::Encoder : Stack::Decoder);
      std::vector<StateRef> states;
      for (std::uint32_t layer = 0; layer < hidden.axis(0); ++layer) {
        for (std::uint32_t batch = 0; batch < hidden.axis(1); ++batch) {
          for (std::uint32_t token = 0; token < hidden.axis(2); ++token) states.push_back({batch, token, layer});
        }
      }
      const Tensor lens = session.logits(states);
      const std::vector<double> expected = lens_of(*loaded.network->layers, hidden);
      const test::Deviation deviation = test::deviation(lens.values, expected);
      CHECK(deviation.nmse < 1e-11);  // observed 4.0e-14
      const Tensor logits = session.logits();
      const std::vector<double> model(logits.values.begin(), logits.values.end());
      CHECK(test::deviation(test::part_of(Tensor({hidden.axis(0), static_cast<std::uint32_t>(model.size())}, lens.values),
                                          hidden.axis(0) - 1),
                            model)
                .max_abs < 1e-5);  // observed 0
      // A single state uses the kernels for few rows.
      const StateRef last{.batch = 1, .token = 2, .layer = hidden.axis(0) - 1};
      const Tensor one = session.logits(std::span(&last, 1));
      CHECK(one.shape == Shape{1, logits.axis(2)});
      for (std::uint32_t i = 0; i < logits.axis(2); ++i) {
        CHECK(one.values[i] == doctest::Approx(logits.at({1, 2, i})).epsilon(1e-4));
      }
    }
  }
}

}  // namespace views_gpu_test
