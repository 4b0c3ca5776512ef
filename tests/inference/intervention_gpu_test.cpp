// Interventions on the device against the double-precision reference, and what passes reuse of each other with them.
#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <string>

#include "inference/desk.h"
#include "inference/random_network.h"
#include "inference/reference_run.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/running_session.h"
#include "support/stages.h"
#include "support/visibility.h"

namespace intervention_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using model::BlockKind;
using model::Site;

namespace {

/// Returns the largest difference of every stage of every block, of the encoder's output and of the logits.
double difference_from_reference(test::RunningSession& session, const test::NetworkCase& one,
                                 const Interventions& interventions, std::string& worst) {
  return test::max_difference(
      session,
      model::reference::run(*one.network, one.input, reference_rules(*one.network, one.input, one.masks, interventions)),
      worst);
}

/// Maps, outputs and logits of a run of an encoder–decoder.
std::vector<std::vector<float>> numbers(const Run& run) {
  std::vector<std::vector<float>> all{run.logits().values};
  for (const model::BlockRef block : run.blocks()) {
    for (const Stage stage : {Stage::Q, Stage::K, Stage::V, Stage::Weights, Stage::Heads, Stage::Output}) {
      all.push_back(run.stage(block, stage).values);
    }
  }
  return all;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "networks at random with interventions at random, every stage") {
    test::Random random(71);
    test::RunningSession session(context);
    for (int i = 0; i < 80; ++i) {
      const test::NetworkCase one = test::random_network(random);
      Interventions interventions;
      for (std::uint32_t count = random.between(1, 3); count > 0; --count) {
        interventions.push_back(test::random_intervention(random, *one.network));
      }
      session.run(one.network, one.input, one.masks, interventions);
      std::string worst;
      const double difference = difference_from_reference(session, one, interventions, worst);
      CAPTURE(i);
      CAPTURE(worst);
      CHECK(difference < 2e-4);  // observed 1.5e-5
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "models with grouped queries, RoPE, position bias and a decoder: every site changes the result") {
    for (const std::string name : {"llama", "gemma2", "t5", "marian", "deberta-v3", "granite", "olmo2", "cohere"}) {
      const test::OpenModel model = test::open_golden_model(name);
      test::Random random(72);
      const test::Desk desk = make_desk(random, model);
      const test::NetworkCase one{model.network, desk.input(), desk.masks};
      test::RunningSession session(context);
      session.run(one.network, one.input, one.masks);
      const std::vector<float> plain = session.logits().values;
      for (const model::BlockRef block : model.network->blocks()) {
        if (block.layer.value > 0) continue;
        const model::AttentionLayer& layer = model.network->layer(block);
        const model::AttentionConfig& config = layer.config;
        for (const Site site : {Site::Query, Site::Key, Site::Value, Site::HeadOutput, Site::Residual, Site::AttentionOutput,
                                Site::FeedForward}) {
          if (site == Site::FeedForward && !layer.feed_forward) continue;
          CAPTURE(name);
          CAPTURE(to_string(block.kind));
          CAPTURE(to_string(site));
          const bool is_compared = site == Site::Query || site == Site::Key;
          const std::uint32_t width = !model::has_heads(site) ? config.d_model : is_compared ? config.d_k : config.d_v;
          const Interventions interventions{
              {.site = site, .scope = scope_of(block, 0), .operation = Add{random.tensor({width}).values}},
              {.site = site, .scope = scope_of(block, 0), .operation = Scale{-0.5f}}};
          session.run(one.network, one.input, one.masks, interventions);
          CHECK(session.logits().values != plain);
          std::string worst;
          const double difference = difference_from_reference(session, one, interventions, worst);
          CAPTURE(worst);
          CHECK(difference < 2e-4);  // observed 2.2e-5
        }
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "two interventions on one head apply in the order of the list") {
    test::Random random(73);
    const model::AttentionConfig config{.d_model = 6, .heads = 2, .d_k = 3, .d_v = 5};
    const auto network = test::single_layer(config, test::random_weights(random, config, true, true));
    const model::ModelInput input{.source = test::random_tokens(random, 2, 7, 6)};
    const Intervention zero{.scope = {.head = 1}, .operation = Scale{0.0f}},
        add{.scope = {.head = 1}, .operation = Add{{1, 2, 3, 4, 5}}};
    test::RunningSession session(context);
    session.run(network, input, {}, {zero, add});
    Tensor z = session.stage({}, Stage::Heads);
    for (std::uint32_t item = 0; item < 2; ++item) {
      for (std::uint32_t token = 0; token < 7; ++token) {
        for (std::uint32_t i = 0; i < 5; ++i) CHECK(z.at({item, 1, token, i}) == static_cast<float>(i + 1));
      }
    }
    session.run(network, input, {}, {add, zero});
    z = session.stage({}, Stage::Heads);
    for (std::uint32_t i = 0; i < 5; ++i) CHECK(z.at({1, 1, 6, i}) == 0.0f);
    CHECK(z.at({1, 0, 6, 0}) != 0.0f);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "changed keys or values of a cross-attention are projected anew from the kept encoder") {
    for (const std::string name : {"t5", "marian"}) {
      const test::OpenModel model = test::open_golden_model(name);
      test::Random random(74);
      test::Desk desk = make_desk(random, model);
      for (const Site site : {Site::Key, Site::Value}) {
        CAPTURE(name);
        CAPTURE(to_string(site));
        const model::BlockRef last{BlockKind::Cross, LayerIndex{model.description.decoder_layers - 1}};
        const auto pass = [&](float gain) {
          return PassInputs{.network = model.network,
                            .input = desk.input(),
                            .masks = desk.masks,
                            .interventions = {{.site = site, .scope = scope_of(last, 1), .operation = Scale{gain}}}};
        };
        Session session(context), fresh(context);
        std::shared_ptr<const Run> run = session.run(pass(1.0f));
        for (const float gain : {0.5f, 0.0f, 2.0f, 1.0f}) {
          const std::shared_ptr<const Run> base = run;
          const auto of_base = numbers(*base);
          run = session.run(pass(gain), base);
          CHECK(run->timing().reused_layers == model.description.layers + last.layer.value);
          CHECK(numbers(*run) == numbers(*fresh.run(pass(gain))));
          CHECK(numbers(*base) == of_base);
        }
        // One more target token reads the scaled keys and values that are there.
        run = session.run(pass(0.5f), run);
        desk.target[0].push_back(3);
        CHECK(numbers(*session.run(pass(0.5f), run))[0].size() == numbers(*fresh.run(pass(0.5f)))[0].size());
        const Tensor keys = session.run(pass(0.5f), run)->stage(last, Stage::K);
        CHECK(keys.values == fresh.run(pass(0.5f))->stage(last, Stage::K).values);
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "impossible interventions are refused in one line and the run before stays") {
    const test::OpenModel model = test::open_golden_model("gpt2");
    test::Random random(75);
    const test::Desk desk = make_desk(random, model);
    test::RunningSession session(context);
    session.run(model.network, desk.input(), desk.masks);
    const std::vector<float> logits = session.logits().values;
    const Interventions impossible[] = {{{.scope = {.head = 4'000'000'000}, .operation = Scale{0.0f}}},
                                        {{.scope = {.layer = 4'000'000'000}, .operation = Scale{0.0f}}},
                                        {{.scope = {}, .operation = Scale{std::numeric_limits<float>::quiet_NaN()}}},
                                        {{.scope = {}, .operation = Add{std::vector<float>(1000, 1.0f)}}},
                                        {{.scope = {}, .operation = ReplacePattern{}}},
                                        {{.site = Site::Weights, .scope = {}, .operation = Scale{0.5f}}},
                                        {{.site = Site::Weights, .scope = {.head = 99}, .operation = ReplacePattern{}}}};
    for (const Interventions& interventions : impossible) {
      CHECK(test::is_one_line(
          test::error_message([&] { session.run(model.network, desk.input(), desk.masks, interventions); })));
      CHECK(session.logits().values == logits);
    }
  }
}

}  // namespace intervention_gpu_test
