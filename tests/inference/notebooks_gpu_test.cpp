// Every fixture of tests/golden, computed by a session on the device.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "inference/notebooks.h"
#include "support/golden.h"
#include "support/gpu.h"
#include "support/playground_cases.h"
#include "support/running_session.h"
#include "support/stages.h"
#include "support/visibility.h"

namespace notebooks_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using model::BlockKind;
using test::flatten;
using test::max_difference;

namespace {

constexpr double kSeeded = 2e-6;
constexpr model::BlockRef kFirst{};

/// A preset run on the shared device.
struct NotebookRun {
  Notebook notebook;
  test::RunningSession session{test::shared_context()};

  explicit NotebookRun(Notebook of_notebook) : notebook(std::move(of_notebook)) {
    session.run(notebook.network, notebook.input, notebook.masks);
  }
  explicit NotebookRun(std::string_view name) : NotebookRun(make_notebook(name)) {}

  double off(Stage stage, const nlohmann::json& expected, model::BlockRef block = kFirst) {
    return max_difference(session.stage(block, stage).values, flatten(expected));
  }
};

Notebook merged_without_transpose(Notebook notebook) {
  model::Layers layers = *notebook.network->layers;
  layers.encoder[0].config.merge = model::MergeOrder::WithoutTranspose;
  model::Network network = *notebook.network;
  network.layers = std::make_shared<model::Layers>(std::move(layers));
  notebook.network = std::make_shared<model::Network>(std::move(network));
  return notebook;
}

/// The network with logits that are the last hidden state itself.
std::shared_ptr<const model::Network> with_identity_unembedding(const model::Network& network, std::uint32_t d_model) {
  model::Layers layers = *network.layers;
  Tensor identity({d_model, d_model});
  for (std::uint32_t i = 0; i < d_model; ++i) identity.at({i, i}) = 1.0f;
  layers.unembedding = {.linear = {.weight = std::move(identity)}};
  model::Network changed = network;
  changed.layers = std::make_shared<model::Layers>(std::move(layers));
  return std::make_shared<model::Network>(std::move(changed));
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "notebook 000, its class, 003 at its own size and 004's encoder layer: every stage") {
    const nlohmann::json golden = test::golden("notebooks.json");
    std::size_t compared = 0;
    for (const std::string_view name : notebook_names()) {
      if (!golden.contains(name)) continue;
      NotebookRun run(name);
      for (const Stage stage : test::kAllStages) {
        const std::string stage_name(to_string(stage));
        CAPTURE(name);
        CAPTURE(stage_name);
        if (!golden[name].contains(stage_name) || stage == Stage::Attended) continue;
        CHECK(run.off(stage, golden[name][stage_name]) < kSeeded);  // observed 6.7e-7
        ++compared;
      }
    }
    CHECK(compared == 38);
    const nlohmann::json& layer = golden["notebook-004-encoder"];
    NotebookRun run("notebook-004-encoder");
    // The norm of two numbers 0.02 apart makes their rounding some 40 times larger.
    CHECK(run.off(Stage::Attended, layer["attended"]) < 1e-5);                                            // observed 2.6e-6
    CHECK(max_difference(run.session.encoder_output().values, flatten(layer["encoder_out"])) < kSeeded);  // observed 2.7e-7
  }

  TEST_CASE_FIXTURE(test::OnGpu, "uniform masked rows (notebook 000)") {
    NotebookRun run("notebook-000");
    const nlohmann::json mask = test::golden("notebooks.json")["notebook-000"]["mask_true_means_keep"];
    std::size_t uniform_rows = 0;
    for (std::uint32_t item = 0; item < 2; ++item) {
      for (std::uint32_t row = 0; row < 3; ++row) {
        const std::vector<double> keep = flatten(mask[item][0][row]);
        if (std::any_of(keep.begin(), keep.end(), [](double kept) { return kept != 0.0; })) continue;
        ++uniform_rows;
        for (std::uint32_t head = 0; head < 2; ++head) {
          const attention::TileRequest request{
              .batch = item, .head = head, .stage = Stage::Weights, .row = row, .rows = 1, .columns = 3};
          const attention::Tile tile = run.session.evaluate({&request, 1})[0];
          for (std::uint32_t key = 0; key < 3; ++key) {
            CHECK(tile.at(0, key) == 1.0f / 3.0f);
            CHECK(tile.is_masked(0, key));
          }
          CHECK(tile.row_max[0] == -1e9f);
          CHECK(tile.row_sum[0] == 3.0f);
        }
      }
    }
    CHECK(uniform_rows == 1);

    // That row has no weights at all under −inf.
    for (attention::MaskSpec& spec : run.notebook.masks.by_kind) spec.fill = attention::MaskFill::NegativeInfinity;
    run.session.run(run.notebook.network, run.notebook.input, run.notebook.masks);
    const Tensor weights = run.session.stage(kFirst, Stage::Weights), heads = run.session.stage(kFirst, Stage::Heads);
    CHECK(std::count_if(weights.values.begin(), weights.values.end(), [](float weight) { return weight == 1.0f / 3.0f; }) ==
          0);
    for (const Tensor* stage : {&weights, &heads}) {
      CHECK(std::none_of(stage->values.begin(), stage->values.end(), [](float value) { return std::isnan(value); }));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "notebook 001: seed 24, every stage") {
    const nlohmann::json golden = test::golden("causal_seed24.json");
    NotebookRun run("notebook-001");
    CHECK(run.off(Stage::X, golden["x"]) < kSeeded);                   // observed 4.3e-9
    CHECK(run.off(Stage::Q, golden["q"]) < kSeeded);                   // observed 4.9e-9
    CHECK(run.off(Stage::K, golden["k"]) < kSeeded);                   // observed 1.3e-9
    CHECK(run.off(Stage::V, golden["v"]) < kSeeded);                   // observed 4.4e-9
    CHECK(run.off(Stage::Scaled, golden["scaled_scores"]) < kSeeded);  // observed 1.2e-7
    CHECK(run.off(Stage::Weights, golden["weights"]) < kSeeded);       // observed 6.0e-8
    CHECK(run.off(Stage::Merged, golden["merged"]) < kSeeded);         // observed 1.2e-7
    CHECK_FALSE(run.session.shape(kFirst).extent(Stage::Output).has_value());
    CHECK(run.session.encoder_output().values == run.session.stage(kFirst, Stage::Merged).values);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "cross attention, padding (notebook 002): all maps, the encoder's output and the logits") {
    const nlohmann::json golden = test::golden("encoder_decoder_seed1234.json");
    NotebookRun run("notebook-002");
    REQUIRE(run.session.blocks().size() == 6);
    for (const model::BlockRef block : run.session.blocks()) {
      const std::string name = std::string(to_string(block.kind)) + "_attention";
      INFO(name, " ", block.layer.value);
      CHECK(run.off(Stage::Weights, golden[name][block.layer.value], block) < kSeeded);  // observed 1.2e-7
    }
    CHECK(run.session.shape({BlockKind::Cross, {}}).queries == 5);
    CHECK(run.session.shape({BlockKind::Cross, {}}).keys == 6);
    // Padded keys of the second source have no weight for any query.
    const Tensor cross = run.session.stage({BlockKind::Cross, LayerIndex{1}}, Stage::Weights);
    for (std::uint32_t head = 0; head < 4; ++head) {
      for (std::uint32_t query = 0; query < 5; ++query) {
        CHECK(cross.at({1, head, query, 4}) == 0.0f);
        CHECK(cross.at({1, head, query, 5}) == 0.0f);
      }
    }
    CHECK(max_difference(run.session.encoder_output().values, flatten(golden["encoder_output"])) <
          kSeeded);                                                                           // observed 4.8e-7
    CHECK(max_difference(run.session.logits().values, flatten(golden["logits"])) < kSeeded);  // observed 4.8e-7
  }

  TEST_CASE_FIXTURE(test::OnGpu, "unscaled scores (notebook 003)") {
    const nlohmann::json golden = test::golden("single_head_numpy.json");
    NotebookRun run("notebook-003");
    CHECK(run.off(Stage::Q, golden["q"]) < kSeeded);              // observed 5.6e-8
    CHECK(run.off(Stage::Weights, golden["weights"]) < kSeeded);  // observed 6.6e-8
    CHECK(run.off(Stage::Heads, golden["output"]) < kSeeded);     // observed 2.2e-7
    CHECK(run.off(Stage::Merged, golden["output"]) < kSeeded);    // observed 2.2e-7
    CHECK(run.session.stage(kFirst, Stage::Scores).values == run.session.stage(kFirst, Stage::Scaled).values);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "notebook 003, fused: seed 3, every stage") {
    const nlohmann::json golden = test::golden("fused_qkv_seed3.json");
    NotebookRun run("notebook-003-fused");
    CHECK(run.off(Stage::X, golden["x"]) < kSeeded);              // observed 4.9e-9
    CHECK(run.off(Stage::Q, golden["q"]) < kSeeded);              // observed 4.7e-9
    CHECK(run.off(Stage::K, golden["k"]) < kSeeded);              // observed 4.9e-9
    CHECK(run.off(Stage::V, golden["v"]) < kSeeded);              // observed 4.9e-9
    CHECK(run.off(Stage::Weights, golden["weights"]) < kSeeded);  // observed 6.0e-8
    CHECK(run.off(Stage::Merged, golden["merged"]) < kSeeded);    // observed 1.2e-7
    CHECK(run.off(Stage::Output, golden["output"]) < kSeeded);    // observed 8.9e-8
  }

  TEST_CASE_FIXTURE(test::OnGpu, "merge without transpose (notebook 003)") {
    const nlohmann::json golden = test::golden("fused_qkv_seed3.json");
    NotebookRun run(merged_without_transpose(make_notebook("notebook-003-fused")));
    CHECK(run.off(Stage::Weights, golden["weights"]) < kSeeded);                     // observed 6.0e-8
    CHECK(run.off(Stage::Merged, golden["merged_as_the_notebook_does"]) < kSeeded);  // observed 1.2e-7
    CHECK(run.off(Stage::Output, golden["output_as_the_notebook_does"]) < kSeeded);  // observed 8.9e-8
    CHECK(run.off(Stage::Output, golden["output"]) > 1e-2);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "notebook 004: seed 123 from its own sentence, d_k 3 and d_v 4") {
    const nlohmann::json golden = test::golden("from_scratch_seed123.json");
    NotebookRun run("notebook-004");
    CHECK(run.off(Stage::X, golden["embedded"]) < kSeeded);              // observed 4.2e-9
    CHECK(run.off(Stage::Q, golden["q"]) < kSeeded);                     // observed 5.0e-9
    CHECK(run.off(Stage::K, golden["k"]) < kSeeded);                     // observed 1.3e-9
    CHECK(run.off(Stage::V, golden["v"]) < kSeeded);                     // observed 1.9e-9
    CHECK(run.off(Stage::Scores, golden["unscaled_scores"]) < kSeeded);  // observed 4.6e-9
    CHECK(run.off(Stage::Weights, golden["weights"]) < kSeeded);         // observed 3.0e-8
    CHECK(run.off(Stage::Merged, golden["context"]) < kSeeded);          // observed 1.2e-7
  }

  TEST_CASE_FIXTURE(test::OnGpu, "notebook 004 with three heads: \"shoes\" as printed") {
    NotebookRun run("notebook-004-heads");
    const Tensor q = run.session.stage(kFirst, Stage::Q);
    const std::vector<double> query = {1.2772, 1.9764, 1.2970, 1.6745, 0.2353, 1.5663, 1.4664, 0.9867, 0.6895};
    for (std::uint32_t i = 0; i < 9; ++i)
      CHECK(static_cast<double>(q.at({0, i / 3, 1, i % 3})) == doctest::Approx(query[i]).epsilon(1e-4));
    CHECK(run.session.stage(kFirst, Stage::Merged).shape == Shape{1, 8, 12});
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "the playground equals PyTorch's results of the same procedure, every stage of every layer") {
    const std::vector<test::PlaygroundCase> cases = test::playground_cases();
    REQUIRE(cases.size() == 5);
    test::RunningSession session(context);
    for (const test::PlaygroundCase& one : cases) {
      const Playground playground = make_playground(one.settings, one.text, one.key_text);
      const auto network =
          with_identity_unembedding(*playground.network, static_cast<std::uint32_t>(one.result[0][0].size()));
      session.run(network, playground.input, one.masks);
      const std::vector<model::BlockRef> blocks = session.blocks();
      REQUIRE(blocks.size() == one.stages.size());
      for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
        for (const Stage stage : test::kAllStages) {
          if (attention::is_of_stream(stage)) continue;  // which the file lacks
          const std::string name(to_string(stage));
          INFO(one.name, ", layer ", layer, ", ", name);
          CHECK(session.shape(blocks[layer]).extent(stage).has_value() == one.stages[layer].contains(name));
          if (!one.stages[layer].contains(name)) continue;
          CHECK(max_difference(session.stage(blocks[layer], stage).values, flatten(one.stages[layer][name])) <
                kSeeded);  // observed 6.0e-7
        }
      }
      INFO(one.name);
      CHECK(max_difference(session.logits().values, flatten(one.result)) < kSeeded);  // observed 4.8e-7
      if (one.key_text.empty())
        CHECK(max_difference(session.encoder_output().values, flatten(one.result)) < kSeeded);  // observed 4.8e-7
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "every preset agrees with the double-precision reference in every stage") {
    for (const std::string_view name : notebook_names()) {
      CAPTURE(name);
      NotebookRun run(name);
      const auto expected = model::reference::run(
          *run.notebook.network, run.notebook.input, test::visibility(run.notebook.masks, run.notebook.input),
          static_cast<double>(attention::fill_value(run.notebook.masks.by_kind[0].fill)));
      std::string worst;
      const double difference = test::max_difference(run.session, expected, worst);
      CAPTURE(worst);
      CHECK(difference < 1e-5);  // observed 6.7e-6
    }
  }
}

}  // namespace notebooks_gpu_test
