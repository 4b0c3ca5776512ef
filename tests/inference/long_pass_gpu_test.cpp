// Passes over long texts: submitted layer by layer, watched, cancelled, and never more at once than a device may be busy.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "inference/forward.h"
#include "inference/playground.h"
#include "inference/random_network.h"
#include "ops/kernels.h"
#include "support/gpu.h"
#include "support/running_session.h"
#include "support/stages.h"

namespace long_pass_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;

namespace {

std::string words(std::size_t count, std::size_t different) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "w" + std::to_string(i % different) + " ";
  return text;
}

Playground three_layers(std::size_t tokens, std::size_t different = 23) {
  PlaygroundSettings settings;
  settings.d_model = 32;
  settings.heads = 2;
  settings.layers = 3;
  return make_playground(settings, words(tokens, different), "");
}

using Told = std::vector<std::pair<std::size_t, std::size_t>>;

void check_same(const test::RunningSession& a, const test::RunningSession& b) {
  for (const model::BlockRef block : a.blocks()) {
    for (const Stage stage : {Stage::X, Stage::Weights, Stage::Output}) {
      CHECK(a.stage(block, stage).values == b.stage(block, stage).values);
    }
  }
}

/// One layer as a trained model's: 2 heads of 64, a feed-forward of 512.
model::Network trained_shape(test::Random& random) {
  const model::AttentionConfig config{.d_model = 128, .heads = 2, .d_k = 64, .d_v = 64};
  const auto norm = [] { return model::Norm{.weight = Tensor({128}, std::vector<float>(128, 1.0F))}; };
  model::AttentionLayer layer{.config = config};
  layer.weights = test::random_weights(random, config, true, true);
  layer.norms.before = norm();
  layer.feed_forward = model::FeedForward{.in = test::random_linear(random, 128, 512, true),
                                          .out = test::random_linear(random, 512, 128, true)};
  layer.feed_forward_norms.before = norm();
  auto layers = std::make_shared<model::Layers>();
  layers->encoder.push_back(std::move(layer));
  return {.layers = std::move(layers)};
}

PassInputs vectors(const model::Network& network, test::Random& random, std::uint32_t tokens) {
  PassInputs pass{.network = std::make_shared<model::Network>(network), .input = {}};
  pass.input.source = {.length = tokens, .lengths = {tokens}, .ids = {}, .vectors = random.tensor({1, tokens, 128})};
  pass.masks.by_kind[0].rule.causal = true;
  return pass;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "a long pass is computed layer by layer, tells so, and has the same bits") {
    test::RunningSession whole(context), parts(context);
    Told told;
    parts.watch_passes([&](std::size_t done, std::size_t total) { return told.emplace_back(done, total), true; }, 1.0);
    const Playground playground = three_layers(70);
    whole.run(playground.network, playground.input, {});
    const RunTiming timing = parts.run(playground.network, playground.input, {});
    CHECK(told == Told{{0, 3}, {1, 3}, {2, 3}, {3, 3}});
    CHECK(timing.dispatches > 0);
    check_same(parts, whole);

    told.clear();
    parts.watch_passes([&](std::size_t done, std::size_t total) { return told.emplace_back(done, total), true; }, 1e15);
    parts.run(three_layers(71).network, three_layers(71).input, {});
    CHECK(told.empty());  // short ones are one submission, and nothing is reported
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a cancelled pass throws, and the next one is right, whatever it took over") {
    for (const std::size_t until : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
      CAPTURE(until);
      test::RunningSession session(context), fresh(context);
      const Playground first = three_layers(60), second = three_layers(60, 19);
      session.run(first.network, first.input, {});
      session.watch_passes([&](std::size_t done, std::size_t) { return done < until; }, 1.0);
      try {
        session.run(second.network, second.input, {});
        FAIL_CHECK("it wasn't cancelled");
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::Cancelled);
      }
      session.watch_passes({});
      session.run(second.network, second.input, {});
      fresh.run(second.network, second.input, {});
      check_same(session, fresh);
    }
  }

  TEST_CASE("32,768 tokens: no submission is more than twice what a device may be busy with, and none is n² of memory") {
    // 1e9 multiply-adds are 50 ms of a slow integrated GPU.
    test::WatchedContext slow({.max_work = 1e9});
    ops::Kernels kernels(slow);
    test::Random random(81);
    const model::Network network = trained_shape(random);
    const DeviceLayers layers = upload_layers(slow, network.layers, false);
    std::size_t bytes[2] = {};
    for (const std::uint32_t tokens : {16'384U, 32'768U}) {
      const PassInputs pass = vectors(network, random, tokens);
      const PassPlan plan = plan_pass(pass, nullptr);
      for (bool is_complete = false; !is_complete;) {
        const std::size_t before = slow->allocated_bytes();
        RunTensors tensors;
        ScratchTensors scratch;
        gpu::Stream stream(slow);
        Forward forward;
        {
          const ops::Kernels::Listing listing(kernels);
          forward = record_forward(stream, kernels, {.layers = &layers}, pass, plan, {.run = tensors, .scratch = scratch});
        }
        is_complete = stream.is_complete();
        if (!is_complete) {
          kernels.compile_listed();
          continue;
        }
        bytes[tokens == 16'384 ? 0 : 1] = slow->allocated_bytes() - before;
        CAPTURE(tokens);
        CHECK(stream.multiply_adds() > 0.5 * 2.0 * 64 * 2 * tokens * tokens / 2);  // it is the whole pass
        CHECK(stream.largest_submission() <= 2e9);
      }
    }
    CHECK(static_cast<double>(bytes[1]) <= 2.1 * static_cast<double>(bytes[0]));  // 4 if anything were n²
    CHECK(bytes[1] < std::size_t{32'768} * 32'768);                               // a byte for each cell of one head
  }
}

}  // namespace long_pass_gpu_test
