// Passes without a device against the double-precision reference and transformers' numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/half.h"
#include "inference/desk.h"
#include "inference/golden_run.h"
#include "inference/playground.h"
#include "inference/processor_run.h"
#include "inference/random_network.h"
#include "inference/reference_run.h"
#include "support/deviation.h"
#include "support/error_message.h"
#include "support/running_session.h"
#include "support/stages.h"

namespace processor_run_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using attention::Tile;
using attention::TileRequest;

namespace {

double difference_from_reference(test::RunningSession& session, const test::NetworkCase& one,
                                 const Interventions& interventions, std::string& worst) {
  return test::max_difference(
      session,
      model::reference::run(*one.network, one.input, reference_rules(*one.network, one.input, one.masks, interventions)),
      worst);
}

std::unique_ptr<ProcessorRun> pass_of(const test::NetworkCase& one, const ProcessorSettings& settings) {
  return std::make_unique<ProcessorRun>(
      PassInputs{.network = one.network, .input = one.input, .masks = one.masks, .interventions = {}}, settings,
      std::make_shared<ops::HostThreads>());
}

/// A padded batch of two with a window, padding and a whole row that is painted away.
test::NetworkCase masked_case(attention::MaskFill fill) {
  PlaygroundSettings settings;
  settings.d_model = 20;
  settings.heads = 5;
  settings.d_k = 7;
  settings.d_v = 6;
  const Playground playground = make_playground(
      settings, "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m\none two three four", "");
  test::NetworkCase one{playground.network, playground.input, {}};
  attention::MaskSpec& spec = one.masks.by_kind[0];
  spec.rule.window = 9;
  spec.fill = fill;
  for (std::uint32_t key = 0; key < 39; ++key) spec.painted[{.head = 2}].paint({4, key}, false);
  return one;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("without a device networks at random with masks and interventions have the reference's numbers in every stage") {
    test::Random random(71);
    test::RunningSession session;
    double largest = 0.0;
    for (int i = 0; i < 80; ++i) {
      const test::NetworkCase one = test::random_network(random);
      Interventions interventions;
      for (std::uint32_t count = random.between(0, 3); count > 0; --count) {
        interventions.push_back(test::random_intervention(random, *one.network));
      }
      session.run(one.network, one.input, one.masks, interventions);
      std::string worst;
      const double difference = difference_from_reference(session, one, interventions, worst);
      CAPTURE(i);
      CAPTURE(worst);
      test::raise_to(largest, difference);
      CHECK(difference < 2e-4);  // observed 1.1e-5
    }
    MESSAGE("at most ", largest);
  }

  TEST_CASE("without a device every family has transformers' maps, states and logits") {
    test::GoldenDifference worst;
    for (const std::string& name : test::golden_models()) {
      CAPTURE(name);
      test::RunningSession session;
      const auto found = test::run_golden(session, model::load_network(test::golden_model_path(name)),
                                          test::load_golden_cases(name), Precision::F32);
      test::raise_to(worst.attention, found.attention);
      test::raise_to(worst.hidden, found.hidden);
      test::raise_to(worst.logits, found.logits);
      CHECK(found.unordered == 0);
    }
    MESSAGE("attention ", worst.attention, ", hidden ", worst.hidden, ", logits ", worst.logits);
    CHECK(worst.attention < 1e-5);  // the bounds of devices; observed 9.6e-7
    CHECK(worst.hidden < 2e-5);     // observed 2.3e-6
    CHECK(worst.logits < 2e-5);     // observed 3.0e-6
  }

  TEST_CASE("without a device painted cells and a prefix show what a layer's window hides, as masks on a device do") {
    test::NetworkCase one = masked_case(attention::MaskFill::NegativeInfinity);
    auto layers = std::make_shared<model::Layers>(*one.network->layers);
    auto network = std::make_shared<model::Network>(*one.network);
    layers->encoder.front().config.window = 3;
    network->layers = layers;
    one.network = network;
    attention::MaskSpec& spec = one.masks.by_kind[0];
    spec.rule = {.window = 5, .prefix = 2};
    spec.painted[{.head = 1}].paint({30, 9}, true);
    const attention::MaskSpec in_layer = attention::in_layer(spec, layers->encoder.front().config);
    const auto run = pass_of(one, {});
    const BlockShape shape = run->shape({});
    std::size_t shown = 0;
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      const TileRequest request{.head = head, .stage = Stage::Masked, .rows = shape.queries, .columns = shape.keys};
      const Tile tile = std::move(run->evaluate(std::vector{request}).front());
      for (std::uint32_t query = 0; query < shape.queries; ++query) {
        for (std::uint32_t key = 0; key < shape.keys; ++key) {
          const bool is_shown = in_layer.is_visible(0, 0, head, query, key, shape.keys);
          CHECK(tile.is_masked(query, key) != is_shown);
          if (is_shown && query > key + 2) ++shown;
        }
      }
    }
    CHECK(shown > 100);
  }

  TEST_CASE("blocks that aren't kept are computed again to the same bits") {
    for (const std::string name : {"llama", "t5", "marian", "deberta-v3", "mixtral"}) {
      CAPTURE(name);
      test::Random random(72);
      const test::OpenModel model = test::open_golden_model(name);
      const test::Desk desk = make_desk(random, model);
      const test::NetworkCase one{model.network, desk.input(), desk.masks};
      const auto kept = pass_of(one, {}), again = pass_of(one, {.kept_bytes = 0});
      for (const model::BlockRef block : kept->blocks()) {
        for (const Stage stage : test::kAllStages) {
          if (kept->shape(block).extent(stage)) CHECK(kept->stage(block, stage).values == again->stage(block, stage).values);
        }
      }
      CHECK(kept->logits().values == again->logits().values);
    }
  }

  TEST_CASE("pooled tiles have the largest weight, the mean, or the mean of visible scores; masked squares are told") {
    for (const attention::MaskFill fill : {attention::MaskFill::NegativeInfinity, attention::MaskFill::MinusOneBillion}) {
      const test::NetworkCase one = masked_case(fill);
      const auto run = pass_of(one, {});
      for (const Stage stage : {Stage::Weights, Stage::Masked, Stage::Scaled, Stage::Q, Stage::Output}) {
        for (const attention::Pooling pooling : {attention::Pooling::Max, attention::Pooling::Mean}) {
          TileRequest request{.head = 2, .stage = stage, .row = 1, .rows = 5, .column = 2, .columns = 4, .pooling = pooling};
          const Tile exact = run->evaluate(std::span(&request, 1)).front();
          request.pool = 2;
          request.pooled_columns = 3;
          const Tile pooled = run->evaluate(std::span(&request, 1)).front();
          REQUIRE(pooled.values.size() == 6);
          const bool is_map = attention::is_map(stage);
          REQUIRE(pooled.masked.size() == (is_map ? 6 : 0));
          CHECK(pooled.row_max == exact.row_max);
          for (std::uint32_t r = 0; r < 3; ++r) {
            for (std::uint32_t c = 0; c < 2; ++c) {
              double sum = 0.0, largest = 0.0, count = 0.0;
              bool is_masked = true;
              for (std::uint32_t i = 2 * r; i < std::min(2 * r + 2, 5U); ++i) {
                for (std::uint32_t j = 3 * c; j < std::min(3 * c + 3, 4U); ++j) {
                  const bool is_hidden = is_map && exact.is_masked(i, j);
                  is_masked = is_masked && is_hidden;
                  if (stage == Stage::Masked && is_hidden) continue;
                  sum += double{exact.at(i, j)};
                  largest = std::max(largest, double{exact.at(i, j)});
                  count += 1.0;
                }
              }
              const bool takes_largest = stage == Stage::Weights && pooling == attention::Pooling::Max;
              const double expected = count == 0.0    ? double{attention::fill_value(fill)}
                                      : takes_largest ? largest
                                                      : sum / count;
              CHECK(pooled.at(r, c) == static_cast<float>(expected));
              if (is_map) CHECK(pooled.is_masked(r, c) == is_masked);
            }
          }
        }
      }
      TileRequest outside{.head = 5, .rows = 1, .columns = 1};
      CHECK(test::error_message([&] { run->evaluate(std::span(&outside, 1)); }).find("lies outside its matrix") !=
            std::string::npos);
      // The painted row has no weights, or uniform ones.
      const TileRequest row{.head = 2, .row = 4, .rows = 1, .columns = 39};
      const Tile painted = run->evaluate(std::span(&row, 1)).front();
      const bool is_infinite = fill == attention::MaskFill::NegativeInfinity;
      CHECK(painted.row_sum.front() == (is_infinite ? 0.0F : 39.0F));
      CHECK(painted.at(0, 3) == (is_infinite ? 0.0F : 1.0F / 39.0F));
      CHECK(painted.is_masked(0, 3));
    }
  }

  TEST_CASE("a sample looks at the first rows of each square") {
    const test::NetworkCase one = masked_case(attention::MaskFill::NegativeInfinity);
    const auto run = pass_of(one, {});
    TileRequest request{.head = 1, .rows = 39, .columns = 39};
    const Tile exact = run->evaluate(std::span(&request, 1)).front();
    request.pool = 32;
    request.sampled_rows = 2;
    const Tile sampled = run->evaluate(std::span(&request, 1)).front();
    float largest = 0.0F;
    for (std::uint32_t row = 0; row < 2; ++row) {
      for (std::uint32_t column = 0; column < 32; ++column) largest = std::max(largest, exact.at(row, column));
    }
    CHECK(sampled.at(0, 0) == largest);
  }

  TEST_CASE("logits of states, hidden states and rows of the stream belong together") {
    for (const std::string name : {"gpt2", "marian", "gemma2"}) {
      CAPTURE(name);
      test::Random random(73);
      const test::OpenModel model = test::open_golden_model(name);
      const test::Desk desk = make_desk(random, model);
      const test::NetworkCase one{model.network, desk.input(), desk.masks};
      const auto run = pass_of(one, {});
      const bool has_decoder = one.input.target.has_value();
      const Stack stack = has_decoder ? Stack::Decoder : Stack::Encoder;
      const Tensor logits = run->logits(), hidden = run->hidden(stack);
      const std::uint32_t width = logits.axis(2), layers = hidden.axis(0) - 1;
      const StateRef wanted[] = {{.token = 1, .layer = layers}, {.token = 0, .layer = layers + 7}};
      const Tensor some = run->logits(wanted);
      CHECK(std::equal(some.values.begin(), some.values.begin() + width, logits.values.begin() + width));
      CHECK(std::equal(some.values.begin() + width, some.values.end(), logits.values.begin()));
      const ResidualRows rows[] = {{.stack = stack, .layer = 1, .first = 1, .count = 1},
                                   {.stack = stack, .layer = 0, .first = 0, .count = 2, .part = StreamPart::FeedForward}};
      const std::vector<Tensor> read = run->residuals(rows);
      const std::uint32_t d = hidden.axis(3);
      const auto second =
          hidden.values.begin() + static_cast<std::ptrdiff_t>((std::size_t{hidden.axis(1)} * hidden.axis(2) + 1) * d);
      if (layers > 1) CHECK(std::equal(read[0].values.begin(), read[0].values.end(), second));
      const model::BlockRef block{has_decoder ? model::BlockKind::Cross : model::BlockKind::EncoderSelf, {}};
      const Tensor output = run->stage(block, Stage::FfnOutput);
      CHECK(std::equal(read[1].values.begin(), read[1].values.end(), output.values.begin()));
      const ResidualRows beyond[] = {{.stack = stack, .layer = 99, .count = 1}};
      CHECK_THROWS_AS(run->residuals(beyond), Error);
    }
  }

  TEST_CASE("weights as float16 are those of a network whose weights are rounded") {
    test::Random random(74);
    const model::AttentionConfig config{.d_model = 70, .heads = 2, .d_k = 9, .d_v = 5};
    const model::AttentionWeights weights = test::random_weights(random, config, true, true);
    model::AttentionWeights rounded = weights;
    for (model::Linear* linear : {&rounded.query, &rounded.key, &rounded.value, &*rounded.output}) {
      Tensor halves = linear->weight.tensor();
      for (float& one : halves.values) one = from_half(to_half(one));
      linear->weight = std::move(halves);
    }
    const model::ModelInput input{.source = test::random_tokens(random, 1, 7, 70)};
    const test::NetworkCase one{test::single_layer(config, weights), input, {}},
        of_rounded{test::single_layer(config, rounded), input, {}};
    const auto halves = pass_of(one, {.precision = Precision::F16}), plain = pass_of(one, {}),
               expected = pass_of(of_rounded, {});
    CHECK(halves->encoder_output().values == expected->encoder_output().values);
    CHECK(halves->encoder_output().values != plain->encoder_output().values);
  }

  TEST_CASE("a session without a device: one that is cancelled, what it has no use for, and what isn't a number") {
    const test::NetworkCase one = masked_case(attention::MaskFill::NegativeInfinity);
    Session session;
    CHECK(session.is_tuned());
    session.unload();
    const auto pass = [&] { return PassInputs{.network = one.network, .input = one.input, .masks = one.masks}; };
    const std::shared_ptr<const Run> run = session.run(pass());
    CHECK(run->findings().are_numbers());
    CHECK(run->timing().wall_ms > 0.0);
    const std::vector<Interventions> changes(2);
    CHECK(session.run_copies(*run, 0, changes) == nullptr);
    session.watch_passes([](std::size_t done, std::size_t) { return done < 1; });
    CHECK(test::error_message([&] { session.run(pass()); }) == "the pass was cancelled");
    session.watch_passes({});
    test::Random random(75);
    const model::AttentionConfig config{.d_model = 6, .heads = 2, .d_k = 3, .d_v = 5};
    model::AttentionWeights weights = test::random_weights(random, config, false, false);
    Tensor odd = weights.query.weight.tensor();
    odd.values.front() = std::numeric_limits<float>::quiet_NaN();
    weights.query.weight = std::move(odd);
    const model::ModelInput input{.source = test::random_tokens(random, 1, 7, 6)};
    const RunFindings findings = session.run({.network = test::single_layer(config, weights), .input = input})->findings();
    CHECK(findings.rows == 7);  // of one head
    CHECK(findings.all_rows == 14);
    // Scores beyond float32 are infinite, as a device's are, though a double would hold them; their rows have no weights.
    model::AttentionWeights large = test::random_weights(random, config, false, false);
    for (model::Linear* linear : {&large.query, &large.key}) {
      Tensor scaled = linear->weight.tensor();
      for (float& number : scaled.values) number *= 1e25F;
      linear->weight = std::move(scaled);
    }
    const std::shared_ptr<const Run> overflown = session.run({.network = test::single_layer(config, large), .input = input});
    CHECK(overflown->findings().rows > 0);
    const model::BlockRef block = overflown->blocks().front();
    const auto cells = [&](Stage stage) {
      return overflown->evaluate(std::vector{TileRequest{.block = block, .stage = stage, .rows = 7, .columns = 7}})
          .front()
          .values;
    };
    const std::vector<float> scores = cells(Stage::Scaled), of_rows = cells(Stage::Weights);
    CHECK(std::ranges::any_of(scores, [](float number) { return std::isinf(number); }));
    CHECK(std::ranges::any_of(of_rows, [](float number) { return std::isnan(number); }));
    forget_run_warning();
  }
}

}  // namespace processor_run_test
