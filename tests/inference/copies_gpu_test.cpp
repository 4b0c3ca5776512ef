// Several changed passes of one text computed together: against the same passes computed one by one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "inference/copies.h"
#include "inference/desk.h"
#include "inference/random_network.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace copies_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using model::BlockKind;
using model::Site;

namespace {

/// One item of a tensor whose first axis is the batch.
std::span<const float> item_of(const Tensor& tensor, std::size_t item) {
  const std::size_t size = tensor.values.size() / tensor.axis(0);
  return std::span(tensor.values).subspan(item * size, size);
}

/// The largest |a − b| ÷ max(1, |b|); infinite where one is no number and the other is.
double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = a.size() == b.size() ? 0.0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]}) / std::max(1.0, std::abs(double{b[i]}));
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(largest, difference);
  }
  return largest;
}

/// Returns the largest difference of every stage of the blocks that the copies have, and of the logits: item `copy`
/// against line `line` of the run alone.
double largest_difference(const Run& copies, std::size_t copy, const Run& alone, std::size_t line) {
  double largest = 0.0;
  for (const model::BlockRef block : copies.blocks()) {
    for (const Stage stage : {Stage::Q, Stage::K, Stage::V, Stage::Weights, Stage::Heads, Stage::Output}) {
      if (stage == Stage::Output && copies.shape(block).d_output == 0) continue;
      const Tensor of_copies = copies.stage(block, stage), of_alone = alone.stage(block, stage);
      largest = std::max(largest, largest_difference(item_of(of_copies, copy), item_of(of_alone, line)));
    }
  }
  if (!copies.has_logits()) return largest;
  return std::max(largest, largest_difference(item_of(copies.logits(), copy), item_of(alone.logits(), line)));
}

PassInputs with(PassInputs pass, const Interventions& changes) {
  pass.interventions.insert(pass.interventions.end(), changes.begin(), changes.end());
  return pass;
}

/// Functions for processors sum a row in one order whatever is computed with it, kernels may not.
double bound(const gpu::Context& context) { return context.device().runs_host_steps ? 0.0 : 1e-4; }

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "networks at random: each copy is the pass that has its changes alone") {
    test::Random random(91);
    Session session(context);
    double worst = 0.0;
    int compared = 0;
    for (int i = 0; i < 60; ++i) {
      const test::NetworkCase one = test::random_network(random);
      PassInputs pass{.network = one.network, .input = one.input, .masks = one.masks};
      if (random.chance(0.5)) pass.interventions.push_back(test::random_intervention(random, *one.network));
      std::vector<Interventions> changes(random.between(2, 5));
      for (Interventions& of_copy : changes) {
        for (std::uint32_t count = random.between(1, 2); count > 0; --count) {
          Intervention one_change = test::random_intervention(random, *one.network);
          while (std::holds_alternative<ReplacePattern>(one_change.operation)) {
            one_change = test::random_intervention(random, *one.network);
          }
          one_change.scope.item.reset();
          of_copy.push_back(std::move(one_change));
        }
      }
      const std::uint32_t line = random.below(one.input.source.batch);
      const std::shared_ptr<const Run> base = session.run(pass);
      const std::shared_ptr<const Run> copies = session.run_copies(*base, line, changes);
      CAPTURE(i);
      if (!copies) continue;  // bare heads leave no state to begin with
      ++compared;
      for (std::size_t copy = 0; copy < changes.size(); ++copy) {
        CAPTURE(copy);
        const double difference = largest_difference(*copies, copy, *session.run(with(pass, changes[copy]), base), line);
        CHECK(difference <= bound(context));  // observed 0 with functions for processors
        worst = std::max(worst, difference);
      }
    }
    MESSAGE("copies against passes alone: ", worst);
    CHECK(compared >= 20);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "every head of models knocked out, a layer at a time: logits, and layers that are shared") {
    double worst = 0.0;
    for (const std::string name : {"gpt2", "llama", "gemma2", "bert", "t5", "marian", "deberta-v3"}) {
      CAPTURE(name);
      const test::OpenModel model = test::open_golden_model(name);
      test::Random random(92);
      const test::Desk desk = make_desk(random, model);
      const PassInputs pass{.network = model.network, .input = desk.input(), .masks = desk.masks};
      Session session(context);
      const std::shared_ptr<const Run> base = session.run(pass);
      const std::vector<float> logits = base->logits().values;
      for (const model::BlockRef block : model.network->blocks()) {
        CAPTURE(to_string(block.kind));
        CAPTURE(block.layer.value);
        std::vector<Interventions> changes;
        for (std::uint32_t head = 0; head < model.network->layer(block).config.heads; ++head) {
          changes.push_back({{.scope = scope_of(block, head), .operation = Scale{0.0f}}});
        }
        const std::shared_ptr<const Run> copies = session.run_copies(*base, 0, changes);
        REQUIRE(copies);
        for (std::size_t copy = 0; copy < changes.size(); ++copy) {
          const std::shared_ptr<const Run> alone = session.run(with(pass, changes[copy]), base);
          const double difference = largest_difference(item_of(copies->logits(), copy), item_of(alone->logits(), 0));
          CHECK(difference <= bound(context));  // observed 0 with functions for processors
          worst = std::max(worst, difference);
          CHECK(copies->timing().reused_layers == alone->timing().reused_layers);
        }
        CHECK(copies->logits().values != logits);
      }
      CHECK(base->logits().values == logits);  // as it was
    }
    MESSAGE("heads knocked out together against one by one: ", worst);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a run of copies says in words what it doesn't have") {
    const test::OpenModel model = test::open_golden_model("gpt2");
    test::Random random(93);
    const test::Desk desk = make_desk(random, model);
    Session session(context), other(context);
    const PassInputs pass{.network = model.network, .input = desk.input(), .masks = desk.masks};
    const std::shared_ptr<const Run> base = session.run(pass);
    const model::BlockRef last{.kind = BlockKind::EncoderSelf, .layer = LayerIndex{1}};
    const std::vector<Interventions> changes(2, {{.scope = scope_of(last, 0), .operation = Scale{0.0f}}});
    const std::shared_ptr<const Run> copies = session.run_copies(*base, 0, changes);
    REQUIRE(copies);
    CHECK(copies->blocks() == std::vector{last});
    const ResidualRows rows{.layer = 0, .count = 1}, present{.layer = 1, .count = 1};
    CHECK(test::error_message([&] { (void)copies->residuals(std::span(&rows, 1)); }) == "this run of copies has no state 0");
    CHECK(test::error_message([&] { (void)copies->hidden(Stack::Encoder); }) == "this run of copies has no state 0");
    const StateRef state{.layer = 0};
    CHECK(test::error_message([&] { (void)copies->logits(std::span(&state, 1)); }) == "this run of copies has no state 0");
    CHECK(copies->residuals(std::span(&present, 1)).front().values ==
          base->residuals(std::span(&present, 1)).front().values);
    CHECK(session.run_copies(*base, 0, {}) == nullptr);
    CHECK(session.run_copies(*base, 9, changes) == nullptr);
    CHECK(other.run_copies(*base, 0, changes) == nullptr);  // a run of another session
    const Interventions pattern{{.site = Site::Weights, .scope = scope_of(last, 0), .operation = ReplacePattern{}}};
    CHECK(session.run_copies(*base, 0, std::vector<Interventions>(2, pattern)) == nullptr);
  }
}

}  // namespace copies_gpu_test
