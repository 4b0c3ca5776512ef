// Passes that are split into several submissions, and weights that are uploaded through staging buffers.
#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "inference/playground.h"
#include "ops/tuning.h"
#include "support/gpu.h"
#include "support/running_session.h"
#include "support/stages.h"
#include "support/temporary_directory.h"

namespace split_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using ops::AttentionKernel;
using ops::LinearKernel;

namespace {

test::RunningSession session_with(gpu::Context& context, AttentionKernel attention, LinearKernel linear) {
  const TemporaryDirectory folder;
  ops::save_tuning(context.device(), folder.path() / "tuning.json",
                   {.few_rows = linear, .many_rows = linear, .attention = attention});
  return test::RunningSession(context, folder.path() / "tuning.json");
}

/// 75 tokens and 40, so that rows fall into three groups of 32 and the last one isn't full.
Playground long_playground() {
  PlaygroundSettings settings;
  settings.d_model = 96;
  settings.heads = 6;
  std::string text;
  for (int i = 0; i < 75; ++i) text += "word" + std::to_string(i % 23) + " ";
  text += "\n";
  for (int i = 0; i < 40; ++i) text += "token" + std::to_string(i % 7) + " ";
  return make_playground(settings, text, "");
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "a pass that is split into submissions gives the same bits") {
    const Playground playground = long_playground();
    attention::MaskSet masks;
    masks.by_kind[0].rule.window = 50;
    const std::pair<AttentionKernel, LinearKernel> kernels[] = {{AttentionKernel::Naive, LinearKernel::Naive},
                                                                {AttentionKernel::Tiled, LinearKernel::Tiled},
                                                                {AttentionKernel::BlocksTexel, LinearKernel::Vec4Texel},
                                                                {AttentionKernel::Blocks, LinearKernel::Host}};
    for (const double max_work : {1.0, 3e6}) {  // each part separately; some together, and attention by rows
      test::WatchedContext slow({.max_work = max_work});
      for (const auto& chosen : kernels) {
        const auto& attention = chosen.first;
        const auto& linear = chosen.second;
        CAPTURE(ops::to_string(attention));
        CAPTURE(max_work);
        test::RunningSession whole = session_with(context, attention, linear), parts = session_with(slow, attention, linear);
        whole.run(playground.network, playground.input, masks);
        parts.run(playground.network, playground.input, masks);
        parts.forget();
        const std::uint64_t before = slow->submissions();
        const RunTiming timing = parts.run(playground.network, playground.input, masks);
        CHECK(slow->submissions() - before >= 4);
        CHECK(timing.dispatches >= slow->submissions() - before);
        for (const model::BlockRef block : whole.blocks()) {
          for (const Stage stage : test::kAllStages) {
            CAPTURE(to_string(stage));
            if (!whole.shape(block).extent(stage)) continue;
            CHECK(parts.stage(block, stage).values == whole.stage(block, stage).values);
          }
        }
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "pooled tiles that are split into submissions have the same bits") {
    const Playground playground = long_playground();
    test::WatchedContext slow({.max_work = 5e4});  // less than a head's map
    test::RunningSession whole(context), parts(slow);
    whole.run(playground.network, playground.input, {});
    parts.run(playground.network, playground.input, {});
    std::vector<attention::TileRequest> requests;
    for (const Stage stage : {Stage::Scores, Stage::Masked, Stage::Weights}) {
      for (const std::uint32_t pool : {1U, 4U}) {
        for (std::uint32_t head = 0; head < 6; ++head) {
          requests.push_back(
              {.batch = 0, .head = head, .stage = stage, .row = 2, .rows = 71, .column = 1, .columns = 74, .pool = pool});
        }
      }
    }
    const std::uint64_t before = slow->submissions();
    const std::vector<attention::Tile> expected = whole.evaluate(requests), tiles = parts.evaluate(requests);
    CHECK(slow->submissions() - before > 36);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      CAPTURE(i);
      CHECK(tiles[i].values == expected[i].values);
      CHECK(tiles[i].masked == expected[i].masked);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "weights uploaded through staging buffers take few submissions and are the same") {
    const Playground playground = long_playground();
    test::WatchedContext discrete({.has_private_memory = true}), shared({.shaders_only = true});  // the same kernels
    test::RunningSession direct(shared), staged(discrete);
    staged.load(playground.network->layers, Precision::F32, {});
    CHECK(discrete->submissions() <= 2);  // some hundred kilobytes in twenty buffers
    direct.run(playground.network, playground.input, {});
    staged.run(playground.network, playground.input, {});
    const model::BlockRef last = direct.blocks().back();
    CHECK(staged.stage(last, Stage::Output).values == direct.stage(last, Stage::Output).values);
  }
}

}  // namespace split_gpu_test
