// Runs that reuse results of the previous run, against fresh ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "inference/desk.h"
#include "ops/tuning.h"
#include "support/deviation.h"
#include "support/error_message.h"
#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/random.h"
#include "support/running_session.h"
#include "support/temporary_directory.h"

namespace reuse_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using model::BlockKind;
using ops::AttentionKernel;
using ops::LinearKernel;
using test::Desk;
using test::open_golden_model;
using test::OpenModel;

namespace {

// Kernels for few rows may sum in another order than those for many. Relative to the largest number of a tensor where
// that is more than 1.
constexpr double kSame = 1e-6;  // observed 0 on llvmpipe

RunTiming run(test::RunningSession& session, const OpenModel& model, const Desk& desk) {
  return session.run(model.network, desk.input(), desk.masks, desk.interventions);
}

double relative_difference(const Tensor& left, const Tensor& right) {
  const test::Deviation deviation =
      test::deviation(left.values, std::vector<double>(right.values.begin(), right.values.end()));
  double largest = 1.0;
  for (const float value : right.values) test::raise_to(largest, std::abs(static_cast<double>(value)));
  return deviation.max_abs / largest;
}

/// Returns the largest difference of all that the user can look at: maps and outputs of every block, hidden states,
/// logits.
double difference(test::RunningSession& left, test::RunningSession& right) {
  if (left.blocks() != right.blocks()) return 1e9;
  double worst = 0.0;
  for (const model::BlockRef block : left.blocks()) {
    for (const Stage stage : {Stage::Weights, Stage::Output}) {
      test::raise_to(worst, relative_difference(left.stage(block, stage), right.stage(block, stage)));
    }
  }
  for (const Stack stack : {Stack::Encoder, Stack::Decoder}) {
    test::raise_to(worst, relative_difference(left.hidden(stack), right.hidden(stack)));
  }
  test::raise_to(worst, relative_difference(left.logits(), right.logits()));
  return worst;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "reused and fresh runs are equal, whatever is edited") {
    double worst = 0.0;
    std::uint32_t reusing = 0, seed = 0;
    for (const std::string name : {"gpt2", "llama", "gemma2", "bloom", "bert", "t5", "marian", "deberta-v3", "esm",
                                   "mixtral", "qwen2_moe", "granite", "olmo2", "falcon-alibi", "llama-dynamic"}) {
      const OpenModel model = open_golden_model(name);
      test::Random random(++seed);
      Desk desk = make_desk(random, model);
      test::RunningSession session(context), fresh(context);
      for (int i = 0; i < 45; ++i) {
        const std::string edit = i == 0 ? "open" : edit_at_random(random, model, desk);
        fresh.unload();
        const RunTiming anew = run(fresh, model, desk), timing = run(session, model, desk);
        CHECK(anew.reused_tokens + anew.reused_layers == 0);
        CHECK(timing.dispatches <= anew.dispatches);
        reusing += timing.dispatches < anew.dispatches || timing.reused_tokens > 0 ? 1u : 0u;
        const double off = difference(session, fresh);
        INFO(name, ", step ", i, ": ", edit);
        CHECK(off < kSame);
        test::raise_to(worst, off);
      }
    }
    CAPTURE(worst);
    CHECK(worst < kSame);
    CHECK(reusing > 100);  // or the walk tests nothing
  }

  TEST_CASE_FIXTURE(test::OnGpu, "typing recomputes the new tokens, an edit the tokens from it on, no change nothing") {
    for (const std::string name : {"gpt2", "llama", "gemma2", "bloom", "qwen2_moe"}) {
      CAPTURE(name);
      const OpenModel model = open_golden_model(name);
      test::Random random(3);
      Desk desk = make_desk(random, model);
      test::RunningSession session(context);
      const std::uint32_t all = run(session, model, desk).dispatches, layers = model.description.layers;
      const auto check = [&](std::uint32_t tokens, std::uint32_t of_layers, std::uint32_t dispatches) {
        const RunTiming timing = run(session, model, desk);
        CHECK(timing.reused_tokens == tokens);
        CHECK(timing.reused_layers == of_layers);
        CHECK(timing.dispatches == dispatches);
      };
      check(9, layers, 0);
      desk.source[0].push_back(5);
      check(9, 0, all);
      desk.source[0][4] = (desk.source[0][4] + 1) % model.description.vocabulary;
      check(4, 0, all);
      desk.source[0].pop_back();
      check(9, layers, 0);
      desk.source[0].insert(desk.source[0].begin() + 6, 7u);
      check(6, 0, all);
      session.forget();
      check(0, 0, all);
      desk.source.push_back({1, 2, 3});
      check(0, 0, name == "qwen2_moe" ? all + 1 : all);  // the router chooses for a line at a time
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a mask or a gain of one layer recomputes from there") {
    for (const std::string name : {"llama", "gemma2", "t5"}) {
      CAPTURE(name);
      const OpenModel model = open_golden_model(name);
      test::Random random(4);
      Desk desk = make_desk(random, model);
      test::RunningSession session(context);
      const std::uint32_t all = run(session, model, desk).dispatches, layers = model.description.layers;
      const std::uint32_t behind = model.description.decoder_layers;  // which must be recomputed, too
      std::uint32_t cost = all;
      for (std::uint32_t layer = 0; layer < layers; ++layer) {
        desk.masks[BlockKind::EncoderSelf].painted[{.layer = layer}].paint({7, 2}, false);
        const RunTiming painted = run(session, model, desk);
        CHECK(painted.reused_layers == layer);
        desk.interventions.push_back(
            {.scope = scope_of({BlockKind::EncoderSelf, LayerIndex{layer}}, 1), .operation = Scale{0.0f}});
        const RunTiming scaled = run(session, model, desk);
        CHECK(scaled.reused_layers == layer);
        CHECK(scaled.dispatches == painted.dispatches + 1);  // the gain itself
        if (layer > 0) CHECK(painted.dispatches < cost);
        if (behind == 0) CHECK(painted.dispatches == (all - 1) / layers * (layers - layer) + 1);  // one counts odd numbers
        cost = painted.dispatches;
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "typing and editing give the same results with every kernel, also with weights as float16") {
    const OpenModel model = open_golden_model("llama");
    for (const auto& chosen : {std::pair{LinearKernel::Naive, AttentionKernel::Naive},
                               {LinearKernel::Vec4, AttentionKernel::Blocks},
                               {LinearKernel::Tiled, AttentionKernel::Tiled},
                               {LinearKernel::ShuffleTexel, AttentionKernel::BlocksShuffleTexel},
                               {LinearKernel::Host, AttentionKernel::Host}}) {
      const auto& linear = chosen.first;
      const auto& attention = chosen.second;
      CAPTURE(ops::to_string(attention));
      const TemporaryDirectory folder;
      const auto tuning = folder.path() / "tuning.json";
      ops::save_tuning(
          context.device(), tuning,
          {.few_rows = linear, .many_rows = linear, .attention = attention, .texel_reads = ops::is_texel(linear)});
      test::RunningSession session(context, tuning), fresh(context, tuning);
      const Precision precision = attention == AttentionKernel::Blocks ? Precision::F16 : Precision::F32;
      session.load(model.network->layers, precision);
      test::Random random(9);
      Desk desk = make_desk(random, model);
      for (int i = 0; i < 6; ++i) {
        desk.source[0].push_back(random.below(100));
        if (i == 3) desk.source[0][7] = random.below(100);
        const RunTiming timing = run(session, model, desk);
        CHECK((i == 0 ? 0 : i == 3 ? 7 : 9 + i) == static_cast<int>(timing.reused_tokens));
        fresh.unload();
        fresh.load(model.network->layers, precision);
        run(fresh, model, desk);
        CHECK(difference(session, fresh) < kSame);
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a new target of an encoder–decoder leaves the encoder as it is") {
    for (const std::string name : {"t5", "marian"}) {
      CAPTURE(name);
      const OpenModel model = open_golden_model(name);
      test::Random random(5);
      Desk desk = make_desk(random, model);
      test::RunningSession session(context);
      const RunTiming first = run(session, model, desk);
      desk.target[0].push_back(3);
      const RunTiming typed = run(session, model, desk);
      CHECK(typed.reused_tokens == 6);
      CHECK(typed.reused_layers == model.description.layers);
      CHECK(typed.dispatches < first.dispatches);
      desk.source[0][0] = (desk.source[0][0] + 1) % model.description.vocabulary;
      const RunTiming other = run(session, model, desk);
      CHECK(other.reused_tokens == 0);
      CHECK(other.reused_layers == 0);
      CHECK(other.dispatches == first.dispatches);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a text that is too long is refused, and the previous run stays and is reused") {
    const OpenModel model = open_golden_model("gpt2");
    test::Random random(6);
    const Desk desk = make_desk(random, model);
    test::RunningSession session(context);
    run(session, model, desk);
    const Tensor weights = session.stage({}, Stage::Weights), logits = session.logits();
    Desk too_long = desk;
    too_long.source[0] = test::random_text(random, model.description.max_length + 1, model.description.vocabulary);
    const std::string message = test::error_message([&] { run(session, model, too_long); });
    CAPTURE(message);
    CHECK(test::is_one_line(message));
    CHECK(session.stage({}, Stage::Weights).values == weights.values);
    CHECK(session.logits().values == logits.values);
    const RunTiming again = run(session, model, desk);
    CHECK(again.dispatches == 0);
    CHECK(session.logits().values == logits.values);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "after forgetting, all results can still be read, and the next run is a fresh one") {
    const OpenModel model = open_golden_model("t5");
    test::Random random(10);
    const Desk desk = make_desk(random, model);
    test::RunningSession session(context);
    const RunTiming first = run(session, model, desk);
    const Tensor hidden = session.hidden(Stack::Decoder), logits = session.logits();
    session.forget();
    CHECK(session.has_logits());
    CHECK(session.hidden(Stack::Decoder).values == hidden.values);
    CHECK(session.logits().values == logits.values);
    const RunTiming again = run(session, model, desk);
    CHECK(again.reused_tokens + again.reused_layers == 0);
    CHECK(again.dispatches == first.dispatches);
    CHECK(session.logits().values == logits.values);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "two sessions on one device don't disturb each other") {
    const OpenModel gpt2 = open_golden_model("gpt2"), llama = open_golden_model("llama");
    test::Random random(7);
    Desk left = make_desk(random, gpt2), right = make_desk(random, llama);
    test::RunningSession first(context), second(context), fresh(context);
    for (int i = 0; i < 4; ++i) {
      run(first, gpt2, left);
      run(second, llama, right);
      left.source[0].push_back(random.below(80));
      right.source[0][random.below(9)] = random.below(80);
      run(first, gpt2, left);
      run(second, llama, right);
      fresh.unload();
      run(fresh, gpt2, left);
      CHECK(difference(first, fresh) < kSame);
      fresh.unload();
      run(fresh, llama, right);
      CHECK(difference(second, fresh) < kSame);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "one session, another model and back: no result is reused across models") {
    const OpenModel gpt2 = open_golden_model("gpt2"), llama = open_golden_model("llama");
    test::Random random(8);
    Desk desk = make_desk(random, gpt2);
    test::RunningSession session(context), fresh(context);
    run(session, gpt2, desk);
    CHECK(run(session, llama, desk).reused_tokens == 0);
    fresh.unload();
    run(fresh, llama, desk);
    CHECK(difference(session, fresh) == 0.0);
    CHECK(run(session, gpt2, desk).reused_tokens == 0);
    fresh.unload();
    run(fresh, gpt2, desk);
    CHECK(difference(session, fresh) == 0.0);
  }
}

}  // namespace reuse_gpu_test
