// The way from q·k to the weight, from its parts, and queries and keys before RoPE.
#include <cmath>

#include <doctest/doctest.h>

#include "app/reference_numbers.h"
#include "app/widgets/cells/score_chain.h"
#include "app/widgets/cells/shown_mask.h"
#include "support/deviation.h"

namespace neuron_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

namespace {

State golden_state(const std::string& model) {
  State state;
  change_to_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + model);
  state.model().ids = {{5, 7, 9, 11, 3, 8}};
  return state;
}

/// Largest differences between what the parts of all cells of a block add up to and the evaluated score and weight.
struct ChainErrors {
  double score = 0.0, weight = 0.0;
};

ChainErrors chain_errors(ReferenceScene& run, model::BlockRef block, std::uint32_t head) {
  CellQuestion question = run.question(block, head);
  ReferenceNumbers numbers(*run.run, block, 0, head);
  const inference::BlockShape shape = question.geometry.shape;
  ChainErrors errors;
  for (question.row = 0; question.row < shape.queries; ++question.row) {
    for (question.column = 0; question.column < shape.keys; ++question.column) {
      question.mask_reason =
          mask_reason(run.masks[block.kind],
                      {.map = {.head = head}, .cell = {.query = question.row, .key = question.column}, .keys = shape.keys});
      const ScoreChain chain = explain_score(question, run.source.network->layers.get(), numbers);
      REQUIRE(chain.score);
      REQUIRE(chain.weight);
      REQUIRE(chain.products.size() == shape.d_k);
      test::widen(errors.score, *chain.score, static_cast<double>(*chain.evaluated));
      test::widen(errors.weight, *chain.weight, static_cast<double>(*chain.evaluated_weight));
    }
  }
  return errors;
}

/// One output of a linear layer, in double precision.
double projected(const model::Linear& linear, std::uint32_t out, const std::vector<float>& x) {
  std::vector<float> row(linear.in());
  linear.weight.read(out, 1, row);
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(x[i]) * static_cast<double>(row[i]);
  if (linear.has_bias()) {
    float bias = 0.0F;
    linear.bias.read(out, 1, {&bias, 1});
    sum += static_cast<double>(bias);
  }
  return sum;
}

/// A head's vector of a token as it leaves its projection, normed where the layer norms it.
std::vector<double> head_vector(const model::Linear& linear, const std::optional<model::Norm>& norm, std::uint32_t head,
                                std::uint32_t d_k, const std::vector<float>& x) {
  std::vector<double> vector(d_k);
  for (std::uint32_t i = 0; i < d_k; ++i) vector[i] = projected(linear, head * d_k + i, x);
  if (!norm) return vector;
  std::vector<float> weight(d_k);
  norm->weight.read(0, d_k, weight);
  double squares = 0.0;
  for (const double value : vector) squares += value * value;
  const double root = std::sqrt(squares / d_k + static_cast<double>(norm->epsilon));
  for (std::uint32_t i = 0; i < d_k; ++i) {
    vector[i] = vector[i] / root * (static_cast<double>(weight[i]) + static_cast<double>(norm->weight_offset));
  }
  return vector;
}

/// A head of two numbers whose q, k, m and l are given.
class HandNumbers final : public NumberSource {
 public:
  Numbers row(Stage stage, std::uint32_t /*row*/) override {
    return stage == Stage::Q ? std::vector<float>{1.0F, 2.0F} : std::vector<float>{3.0F, -0.5F};
  }
  Numbers column(Stage /*stage*/, std::uint32_t /*column*/) override { return std::nullopt; }
  std::optional<float> value(Stage /*stage*/, std::uint32_t /*row*/, std::uint32_t /*column*/) override {
    return std::nullopt;
  }
  std::optional<Softmax> softmax(std::uint32_t /*row*/) override { return statistics; }

  Softmax statistics{.max = 2.0F, .sum = 1.5F};
};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the parts of a score sum to the evaluated score, and lead to the evaluated weight, in every family") {
    for (const char* name : {"gpt2", "llama", "qwen3", "gemma2", "bloom", "bert", "gpt_neox", "t5", "marian", "mpnet",
                             "deberta-v3", "bert-relative-key"}) {
      CAPTURE(name);
      State state = golden_state(name);
      const bool has_decoder = std::string(name) == "t5" || std::string(name) == "marian";
      if (has_decoder) state.model().target_ids = {{2, 6, 4}};
      state.masks[has_decoder ? model::BlockKind::DecoderSelf : model::BlockKind::EncoderSelf].rule.causal = true;
      ReferenceScene run(state);
      for (const model::BlockRef block : run.source.network->blocks()) {
        const std::string kind(to_string(block.kind));
        CAPTURE(kind);
        if (block.layer.value > 0) continue;
        const std::uint32_t heads = run.source.network->layer(block).config.heads;
        for (std::uint32_t head = 0; head < heads; ++head) {
          const ChainErrors errors = chain_errors(run, block, head);
          CHECK(errors.score < 1e-5);
          CHECK(errors.weight < 1e-5);
        }
      }
    }
  }

  TEST_CASE("queries and keys before RoPE are the projections, of shared and of normed heads too") {
    for (const char* name : {"llama", "gpt_neox", "qwen3", "gemma2", "phi3-longrope", "smollm"}) {
      CAPTURE(name);
      ReferenceScene run(golden_state(name));
      const model::Network& network = *run.source.network;
      const model::BlockRef block = network.blocks().back();
      const model::AttentionLayer& layer = network.layer(block);
      if (!layer.config.rotary) continue;
      const model::Rotary& rotary = network.layers->rotaries[*layer.config.rotary];
      const model::TokenBatch& tokens = run.source.input->queries(block.kind);
      const std::uint32_t head = layer.config.heads - 1;
      const std::uint32_t kv_head = layer.config.kv_head_count() - 1;
      const std::uint32_t d_k = layer.config.d_k;
      ReferenceNumbers numbers(*run.run, block, 0, head);
      double largest = 0.0;
      double turned = 0.0;
      for (std::uint32_t token = 0; token < tokens.length; ++token) {
        const std::vector<float> x = *numbers.row(Stage::X, token);
        const auto compare = [&](Stage stage, const model::Linear& linear, const std::optional<model::Norm>& norm,
                                 std::uint32_t of_head) {
          const std::vector<float> rotated = *numbers.row(stage, token);
          const std::vector<float> found =
              before_rotation(rotary, rotated, tokens.position(0, token), tokens.position_count(0));
          const std::vector<double> expected = head_vector(linear, norm, of_head, d_k, x);
          REQUIRE(found.size() == expected.size());
          for (std::size_t i = 0; i < expected.size(); ++i) {
            test::widen(largest, static_cast<double>(found[i]), expected[i]);
            turned = std::max(turned, std::abs(static_cast<double>(rotated[i]) - expected[i]));
          }
        };
        compare(Stage::Q, layer.weights->query, layer.weights->query_norm, head);
        compare(Stage::K, layer.weights->key, layer.weights->key_norm, kv_head);
      }
      CHECK(largest < 1e-5);
      CHECK(turned > 1e-3);  // it does turn them
    }
  }

  TEST_CASE("RoPE turns pairs, and leaves components beyond its dimensions") {
    const model::Rotary halves{.dimensions = 4, .inverse_frequencies = {1.0, 0.5}};
    CHECK(rotation_partner(halves, 0) == 2U);
    CHECK(rotation_partner(halves, 3) == 1U);
    CHECK_FALSE(rotation_partner(halves, 4));
    model::Rotary neighbours = halves;
    neighbours.is_interleaved = true;
    CHECK(rotation_partner(neighbours, 2) == 3U);
    const std::vector<float> quarter = {0.0F, 2.0F, 1.0F, 3.0F, 7.0F};
    const model::Rotary right_angle{.dimensions = 2, .inverse_frequencies = {std::acos(0.0)}};
    const std::vector<float> back = before_rotation(right_angle, quarter, 1, 8);
    CHECK(back[0] == doctest::Approx(2.0));
    CHECK(back[1] == doctest::Approx(0.0));
    CHECK(back[4] == 7.0F);
  }

  TEST_CASE("each line of the way has its formula, its numbers and its result") {
    model::AttentionLayer layer;
    layer.config = {.d_model = 4, .heads = 1, .d_k = 2, .d_v = 2, .softcap = 4.0F, .position_bias = 0};
    model::Layers layers;
    layers.position_biases.push_back(
        {.kind = model::PositionBias::Kind::Slopes, .table = Tensor({1}, std::vector<float>{0.25F})});
    CellQuestion question;
    question.layer = &layer;
    question.row = 5;
    question.column = 2;
    question.geometry.shape.d_k = 2;
    HandNumbers numbers;
    const ScoreChain chain = explain_score(question, &layers, numbers);
    std::vector<std::string> names;
    for (const ChainLine& line : chain.lines) names.push_back(line.name);
    CHECK(names ==
          std::vector<std::string>{"sum of the products", "scale", "soft cap", "position bias", "mask", "m", "l", "weight"});
    CHECK(*chain.lines[0].value == 2.0);
    CHECK(chain.lines[0].numbers == "1.000·3.000 + 2.000·(−0.500)");
    CHECK(*chain.lines[1].value == doctest::Approx(2.0 / std::sqrt(2.0)));
    CHECK(chain.lines[1].numbers == "2.000 / √2");
    const double capped = 4.0 * std::tanh(std::sqrt(2.0) / 4.0);
    CHECK(*chain.lines[2].value == doctest::Approx(capped));
    CHECK(chain.lines[3].note == "ALiBi of head 0 at distance −3.");
    CHECK(*chain.score == doctest::Approx(capped - 0.75));
    CHECK(*chain.weight == doctest::Approx(std::exp(capped - 0.75 - 2.0) / 1.5));

    question.mask_reason = "causal rule";
    question.fill = attention::MaskFill::NegativeInfinity;
    const ScoreChain masked = explain_score(question, &layers, numbers);
    CHECK(*masked.score == doctest::Approx(capped - 0.75));  // before the mask
    CHECK(*masked.weight == 0.0);
    CHECK(masked.lines[4].note == "Masked by causal rule: the score becomes −∞.");
    numbers.statistics = {.max = -std::numeric_limits<float>::infinity(), .sum = 0.0F};
    CHECK(*explain_score(question, &layers, numbers).weight == 0.0);

    const std::string table = csv(score_table(chain, "5 five", "2 two"));
    CHECK(
        table.starts_with("part,q,k,value,text\nquery,,,,5 five\nkey,,,,2 two\ncomponent 0,1,3,3,q·k\n"
                          "component 1,2,-0.5,-1,q·k\n"));
    CHECK(table.find("\nweight,,,0.") != std::string::npos);
    CHECK(table.find(",exp(score − m) / l\n") != std::string::npos);
  }
}

}  // namespace neuron_test
