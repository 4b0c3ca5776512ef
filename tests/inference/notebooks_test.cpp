#include "inference/notebooks.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/error.h"
#include "inference/reference_run.h"
#include "support/deviation.h"
#include "support/golden.h"
#include "support/visibility.h"

namespace notebooks_test {

using namespace headlight;
using namespace headlight::inference;
using model::BlockKind;
using test::flatten;
using test::max_difference;

namespace {

model::reference::Run run(const Notebook& notebook) {
  return model::reference::run(*notebook.network, notebook.input, test::visibility(notebook.masks, notebook.input),
                               static_cast<double>(attention::fill_value(notebook.masks.by_kind[0].fill)));
}

bool is_equal(const Tensor& tensor, const nlohmann::json& expected) { return test::is_same(tensor.values, expected); }
bool is_equal(const model::Parameter& parameter, const nlohmann::json& expected) {
  return is_equal(parameter.tensor(), expected);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("notebook 000: a boolean mask filled with -1e9, from the seed that torch chose") {
    const nlohmann::json golden = test::golden("notebooks.json")["notebook-000"];
    const Notebook notebook = make_notebook("notebook-000");
    CHECK(is_equal(notebook.input.source.vectors, golden["x"]));
    const std::vector<double> keep = flatten(golden["mask_true_means_keep"]);
    CHECK(std::ranges::equal(notebook.masks[BlockKind::EncoderSelf].matrix->keep, keep));
    const model::reference::Run pass = run(notebook);
    const model::reference::AttentionStages& stages = pass.stages[0];
    CHECK(max_difference(stages[attention::Stage::Q].values, flatten(golden["q"])) < 6e-9);  // observed 4.8e-9: nine digits
    CHECK(max_difference(stages[attention::Stage::V].values, flatten(golden["v"])) < 6e-9);  // observed 4.9e-9
    CHECK(max_difference(stages[attention::Stage::Weights].values, flatten(golden["weights"])) < 6e-9);  // observed 5.0e-10
    CHECK(max_difference(stages[attention::Stage::Output].values, flatten(golden["output"])) < 6e-9);    // observed 5.0e-10
    for (std::size_t key = 0; key < 3; ++key)
      CHECK(stages[attention::Stage::Weights].values[(2 * 3 + 1) * 3 + key] == doctest::Approx(1.0 / 3));
  }

  TEST_CASE("notebook 001: seed 24 recomputed") {
    const nlohmann::json golden = test::golden("causal_seed24.json");
    const Notebook notebook = make_notebook("notebook-001");
    const model::AttentionWeights& weights = *notebook.network->layers->encoder[0].weights;
    CHECK(is_equal(weights.query.weight, golden["w_query"]["weight"]));
    CHECK(is_equal(weights.key.bias, golden["w_key"]["bias"]));
    CHECK(is_equal(weights.value.weight, golden["w_value"]["weight"]));
    CHECK(is_equal(notebook.input.source.vectors, golden["x"]));
    const model::reference::Run pass = run(notebook);
    const model::reference::AttentionStages& stages = pass.stages[0];
    CHECK(max_difference(stages[attention::Stage::Q].values, flatten(golden["q"])) < 5e-7);  // observed 1.3e-7
    CHECK(max_difference(stages[attention::Stage::K].values, flatten(golden["k"])) < 5e-7);  // observed 1.1e-7
    CHECK(max_difference(stages[attention::Stage::V].values, flatten(golden["v"])) < 5e-7);  // observed 1.8e-7
    CHECK(max_difference(stages[attention::Stage::Scaled].values, flatten(golden["scaled_scores"])) <
          5e-7);                                                                                         // observed 2.1e-7
    CHECK(max_difference(stages[attention::Stage::Weights].values, flatten(golden["weights"])) < 5e-7);  // observed 4.5e-8
    CHECK(max_difference(stages[attention::Stage::Merged].values, flatten(golden["merged"])) < 5e-7);    // observed 7.5e-8
    CHECK(stages[attention::Stage::Output].values.empty());
  }

  TEST_CASE("notebook 002: the encoder–decoder recomputed from seed 1234, to its logits") {
    const nlohmann::json golden = test::golden("encoder_decoder_seed1234.json");
    const nlohmann::json& state = golden["state"];
    const Notebook notebook = make_notebook("notebook-002");
    const model::Layers& layers = *notebook.network->layers;
    CHECK(is_equal(notebook.network->source_embedding->table, state["encoder.tok_embedding.weight"]));
    CHECK(is_equal(notebook.network->target_embedding->table, state["decoder.tok_embedding.weight"]));
    CHECK(is_equal(layers.encoder[1].feed_forward->out.bias, state["encoder.layers.1.fc_2.bias"]));
    CHECK(
        is_equal(layers.decoder[1].cross.weights->output->weight, state["decoder.layers.1.encoder_attention.fc_o.weight"]));
    CHECK(is_equal(layers.unembedding->linear.weight, state["fc_out.weight"]));
    CHECK(notebook.input.source.lengths == std::vector<std::uint32_t>{6, 4});
    CHECK(notebook.input.target->texts[1] == std::vector<std::string>{"<sos>", "on", "man", "<pad>", "<pad>"});

    const model::reference::Run pass = run(notebook);
    REQUIRE(pass.blocks.size() == 6);
    double difference = 0.0;
    for (std::size_t i = 0; i < pass.blocks.size(); ++i) {
      const std::string name = std::string(to_string(pass.blocks[i].kind)) + "_attention";
      const std::vector<double> expected = flatten(golden[name][pass.blocks[i].layer.value]);
      test::raise_to(difference, max_difference(pass.stages[i][attention::Stage::Weights].values, expected));
    }
    CHECK(difference < 1e-6);                                                                     // observed 6.1e-7
    CHECK(max_difference(pass.encoder_output.values, flatten(golden["encoder_output"])) < 2e-6);  // observed 4.9e-7
    CHECK(max_difference(pass.logits.values, flatten(golden["logits"])) < 2e-6);                  // observed 3.1e-7
  }

  TEST_CASE("notebook 003: one head in numpy, not scaled, to the printed decimals") {
    const nlohmann::json golden = test::golden("single_head_numpy.json");
    const Notebook notebook = make_notebook("notebook-003");
    CHECK(notebook.input.source.texts[0][2] == "sat");
    const model::reference::Run pass = run(notebook);
    const model::reference::AttentionStages& stages = pass.stages[0];
    // The presets hold float32: Q, K and V lose up to 1.2e-7 of the eight printed decimals.
    CHECK(max_difference(stages[attention::Stage::Weights].values, flatten(golden["weights"])) < 2e-7);  // observed 1.2e-8
    CHECK(max_difference(stages[attention::Stage::Heads].values, flatten(golden["output"])) < 2e-7);     // observed 7.7e-8
    CHECK(stages[attention::Stage::Scores].values == stages[attention::Stage::Scaled].values);
  }

  TEST_CASE("notebook 003, fused: seed 3 recomputed, merged with and without the transpose") {
    const nlohmann::json golden = test::golden("fused_qkv_seed3.json");
    Notebook notebook = make_notebook("notebook-003-fused");
    CHECK(is_equal(notebook.input.source.vectors, golden["x"]));
    CHECK(is_equal(notebook.network->layers->encoder[0].weights->output->weight, golden["out"]["weight"]));
    const model::reference::Run pass = run(notebook);
    const model::reference::AttentionStages& stages = pass.stages[0];
    CHECK(max_difference(stages[attention::Stage::Q].values, flatten(golden["q"])) < 5e-7);              // observed 1.7e-7
    CHECK(max_difference(stages[attention::Stage::K].values, flatten(golden["k"])) < 5e-7);              // observed 1.7e-7
    CHECK(max_difference(stages[attention::Stage::V].values, flatten(golden["v"])) < 5e-7);              // observed 1.9e-7
    CHECK(max_difference(stages[attention::Stage::Weights].values, flatten(golden["weights"])) < 5e-7);  // observed 5.4e-8
    CHECK(max_difference(stages[attention::Stage::Merged].values, flatten(golden["merged"])) < 5e-7);    // observed 1.7e-7
    CHECK(max_difference(stages[attention::Stage::Output].values, flatten(golden["output"])) < 5e-7);    // observed 1.1e-7

    model::Layers layers = *notebook.network->layers;
    layers.encoder[0].config.merge = model::MergeOrder::WithoutTranspose;
    model::Network network = *notebook.network;
    network.layers = std::make_shared<model::Layers>(std::move(layers));
    notebook.network = std::make_shared<model::Network>(std::move(network));
    const model::reference::Run scrambled = run(notebook);
    CHECK(max_difference(scrambled.stages[0][attention::Stage::Merged].values,
                         flatten(golden["merged_as_the_notebook_does"])) < 5e-7);  // observed 1.7e-7
    CHECK(max_difference(scrambled.stages[0][attention::Stage::Output].values,
                         flatten(golden["output_as_the_notebook_does"])) < 5e-7);  // observed 1.1e-7
  }

  TEST_CASE("notebook 004: seed 123 recomputed from its own sentence") {
    const nlohmann::json golden = test::golden("from_scratch_seed123.json");
    const Notebook notebook = make_notebook("notebook-004");
    CHECK(notebook.input.source.ids == golden["ids"].get<std::vector<std::uint32_t>>());
    const model::AttentionWeights& weights = *notebook.network->layers->encoder[0].weights;
    CHECK(is_equal(weights.query.weight, golden["W_query"]));
    CHECK(is_equal(weights.key.weight, golden["W_key"]));
    CHECK(is_equal(weights.value.weight, golden["W_value"]));
    const model::reference::Run pass = run(notebook);
    const model::reference::AttentionStages& stages = pass.stages[0];
    CHECK(max_difference(stages[attention::Stage::X].values, flatten(golden["embedded"])) <
          6e-9);  // observed 4.3e-9: the nine digits of the file
    CHECK(max_difference(stages[attention::Stage::Q].values, flatten(golden["q"])) < 5e-7);  // observed 9.2e-8
    CHECK(max_difference(stages[attention::Stage::K].values, flatten(golden["k"])) < 5e-7);  // observed 2.3e-8
    CHECK(max_difference(stages[attention::Stage::V].values, flatten(golden["v"])) < 5e-7);  // observed 6.8e-8
    CHECK(max_difference(stages[attention::Stage::Scores].values, flatten(golden["unscaled_scores"])) <
          1e-6);                                                                                         // observed 2.0e-7
    CHECK(max_difference(stages[attention::Stage::Weights].values, flatten(golden["weights"])) < 5e-7);  // observed 3.2e-8
    CHECK(max_difference(stages[attention::Stage::Merged].values, flatten(golden["context"])) < 5e-7);   // observed 1.4e-7
  }

  TEST_CASE("notebook 004 with three heads: queries, keys and values of \"shoes\" as printed") {
    const Notebook notebook = make_notebook("notebook-004-heads");
    REQUIRE(notebook.input.source.texts[0][1] == "shoes");
    const model::reference::Run pass = run(notebook);
    const auto shoes = [&](const model::reference::Array& stage) {
      std::vector<double> rows;
      const std::size_t d = stage.shape[3];
      for (std::size_t head = 0; head < 3; ++head) {
        for (std::size_t i = 0; i < d; ++i) rows.push_back(stage.values[(head * 8 + 1) * d + i]);
      }
      return rows;
    };
    const std::vector<double> query = {1.2772, 1.9764, 1.2970, 1.6745, 0.2353, 1.5663, 1.4664, 0.9867, 0.6895};
    const std::vector<double> key = {1.0367, 0.5123, 1.9268, 1.0603, 1.1722, 1.6966, 1.2750, 1.4245, 0.1450};
    const std::vector<double> value = {1.7906, 0.2750, 1.8344, 0.3146, 1.0396, 0.9122,
                                       1.3936, 1.6952, 0.2099, 1.0958, 0.1481, 1.7002};
    CHECK(max_difference(shoes(pass.stages[0][attention::Stage::Q]), query) <
          5.1e-5);  // observed 4.4e-5: half of the last printed digit
    CHECK(max_difference(shoes(pass.stages[0][attention::Stage::K]), key) < 5.1e-5);    // observed 4.7e-5
    CHECK(max_difference(shoes(pass.stages[0][attention::Stage::V]), value) < 5.1e-5);  // observed 4.5e-5
    CHECK(pass.stages[0][attention::Stage::Merged].shape == Shape{1, 8, 12});
  }

  TEST_CASE("every preset has its name, its labels and an input that fits") {
    for (const NotebookPreset& preset : notebook_presets()) {
      CHECK(&notebook_preset(preset.name) == &preset);
      const Notebook notebook = make_notebook(preset.name);
      CHECK_FALSE(preset.title.empty());
      CHECK_FALSE(preset.summary.empty());
      CHECK(notebook.input.source.texts.size() == notebook.input.source.batch);
      CHECK_NOTHROW(check(*notebook.network, notebook.input));
    }
    CHECK_THROWS_WITH_AS(
        make_notebook("notebook-005"),
        "unknown preset 'notebook-005': choose from notebook-000, notebook-000-class, notebook-001, notebook-002, "
        "notebook-003, "
        "notebook-003-fused, notebook-003-fused-512, notebook-004, notebook-004-heads, notebook-004-encoder",
        Error);
  }
}

}  // namespace notebooks_test
