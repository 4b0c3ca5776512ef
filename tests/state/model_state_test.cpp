// Models in the state, in the settings and in the text's lines.
#include <doctest/doctest.h>

#include "app/engine/prompt_lines.h"
#include "app/engine/run_source.h"
#include "app/state/comparison.h"
#include "app/state/opened_file.h"
#include "app/state/settings.h"
#include "app/state/state.h"
#include "app/state/state_json.h"
#include "core/error.h"
#include "support/temporary_directory.h"

namespace model_state_test {

using namespace headlight;
using namespace headlight::app;

namespace {

const std::string kModels = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/";

attention::MaskSet causal() {
  attention::MaskSet masks;
  masks[model::BlockKind::EncoderSelf].rule.causal = true;
  return masks;
}

RunInputs inputs_of(const std::string& model, const std::string& text) {
  State state;
  state.text() = text;
  change_to_model(state, kModels + model);
  return run_inputs(state);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a model comes with its masks and leaves with them; the playground is as it was") {
    State state;
    state.masks[model::BlockKind::EncoderSelf].rule.window = 3;
    const State before = state;
    select_model(state, "/models/gpt2", causal());
    CHECK(model_path(state.source) == "/models/gpt2");
    CHECK(state.masks == causal());
    set_head_gain(state, {}, 2, 0.0f);
    state.masks[model::BlockKind::EncoderSelf].rule.causal = false;
    reset_masks(state);
    CHECK(state.masks == causal());
    CHECK(describe_change(before, state).label == "Open model");
    select_preset(state, "notebook-000");
    CHECK_FALSE(is_model(state.source));
    CHECK(state.gains.empty());
    CHECK(state.model().trained_masks == attention::MaskSet{});
    select_model(state, "/models/gpt2", causal());
    CHECK_FALSE(is_notebook(state.source));
    select_model(state, "", {});
    CHECK(state.masks == before.masks);
    CHECK(state == before);
    select_model(state, "/models/gpt2", causal());
    select_preset(state, "");
    CHECK(state == before);
  }

  TEST_CASE("a capture has no masks and changes, its run depends on its file alone, and it leaves like a model") {
    State state;
    state.text() = "typed";
    state.masks[model::BlockKind::EncoderSelf].rule.window = 3;
    const State before = state;
    set_head_gain(state, {}, 2, 0.5f);
    select_capture(state, "/runs/one.npz");
    CHECK(is_capture(state.source));
    CHECK(capture_path(state.source) == "/runs/one.npz");
    CHECK(describe_change(before, state).label == "Open capture");
    CHECK(state.masks == attention::MaskSet{});
    CHECK(state.gains.empty());
    CHECK(state.text() == "typed");
    const RunInputs inputs = run_inputs(state);
    state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
    set_head_gain(state, {}, 1, 0.0f);
    CHECK(run_inputs(state) == inputs);
    reset_masks(state);
    CHECK(state.masks == attention::MaskSet{});
    state.gains.clear();
    select_capture(state, "");
    CHECK(state == before);
    CHECK_FALSE(names_same(before.source, inputs.source));
  }

  TEST_CASE("a captured baseline stays while another capture is opened, and goes with the last one") {
    State state;
    select_capture(state, "/runs/one.npz");
    state.compare.baseline = make_baseline(state);
    CHECK(state.compare.baseline->name == "one.npz");
    select_capture(state, "/runs/two.npz");
    REQUIRE(state.compare.baseline);
    CHECK_FALSE(can_return_to_baseline(state));
    const Result<State> read = state_from_json(to_json(state));
    REQUIRE(read);
    CHECK(*read == state);
    select_preset(state, "notebook-000");
    CHECK_FALSE(state.compare.baseline);
  }

  TEST_CASE("a stage that the run on screen hasn't got isn't shown") {
    State state;
    state.view.heatmap_stage = attention::Stage::Scaled;
    state.view.weighs_values = true;
    inference::BlockShape shape;
    shape.batch = shape.heads = 1;
    shape.queries = shape.keys = 3;
    shape.d_k = 2;
    clamp_selection(state, {{model::BlockRef{}, shape}});
    CHECK(state.view.heatmap_stage == attention::Stage::Scaled);
    CHECK(state.view.weighs_values);
    shape.only_weights = true;
    shape.has_values = false;
    clamp_selection(state, {{model::BlockRef{}, shape}});
    CHECK(state.view.heatmap_stage == attention::Stage::Weights);
    CHECK_FALSE(state.view.weighs_values);
  }

  TEST_CASE("a gain of one is none") {
    State state;
    const model::BlockRef block{.kind = model::BlockKind::Cross, .layer = {1}};
    set_head_gain(state, block, 3, 0.25f);
    CHECK(head_gain(state, block, 3) == 0.25f);
    CHECK(head_gain(state, block, 2) == 1.0f);
    CHECK(run_inputs(state).gains.size() == 1);
    CHECK(describe_change(State{}, state).label == "Change head gain");
    set_head_gain(state, block, 3, 1.0f);
    CHECK(state == State{});
  }

  TEST_CASE("lines of the text are batch items; blank ones aren't") {
    const std::string text = "one\n \ntwo\n";
    const std::vector<LineRange> items = item_lines(text);
    REQUIRE(items.size() == 2);
    CHECK(text.substr(items[1].begin, items[1].end - items[1].begin) == "two");
    // The second sentence of "two" is the third line of the pairs; a single line serves all.
    const std::string pairs = "a\nb\nc";
    CHECK(pairs[partner_line(text, 1, pairs).begin] == 'c');
    CHECK(partner_line(text, 1, "all").end == 3);
    CHECK(partner_line(text, 1, "a\nb").begin == partner_line(text, 1, "a\nb").end);
    CHECK(line_ranges("").size() == 1);
    CHECK(item_lines("").empty());
  }

  TEST_CASE("sentences and targets reach models that take them, and only those") {
    Model choice = std::get<Model>(inputs_of("x", "one\ntwo").source);
    choice.pair_text = "1\n2";
    choice.target_text = "eins";
    const inference::PromptText both = prompt_text(choice, true, true);
    CHECK(both.lines == std::vector<std::string>{"one", "two"});
    CHECK(both.pair_lines == std::vector<std::string>{"1", "2"});
    CHECK(both.target_lines == std::vector<std::string>{"eins", "eins"});
    const inference::PromptText neither = prompt_text(choice, false, false);
    CHECK(neither.pair_lines.empty());
    CHECK(neither.target_lines.empty());
    choice.pair_text = "\n";
    CHECK(prompt_text(choice, true, true).pair_lines.empty());
    choice.ids = {{4, 5}};
    CHECK(prompt_text(choice, true, true).lines.empty());
    CHECK(prompt_text(choice, true, true).ids.size() == 1);
  }

  TEST_CASE("a model's run has its prompt; another mask builds nothing, another text not the network") {
    RunSource source;
    RunInputs inputs = inputs_of("gpt2", "a b");
    const RunSource::Source first = source.build(inputs);
    REQUIRE(first.model);
    REQUIRE(first.prompt);
    CHECK(first.input.get() == &first.prompt->input);
    CHECK(first.prompt->tokens.at(0).size() == first.input->source.length);
    inputs.masks = causal();
    inputs.gains[{{}, 0}] = 0.0f;
    CHECK(source.build(inputs).input == first.input);
    std::get<Model>(inputs.source).text = "a b c";
    const RunSource::Source second = source.build(inputs);
    CHECK(second.network == first.network);
    CHECK(second.input != first.input);
    CHECK_THROWS_AS(source.build(inputs_of("no such model", "a")), Error);
    CHECK(source.build(inputs).input == second.input);
  }

  TEST_CASE("texts that a model can't take are refused in one line") {
    RunSource source;
    std::string much;
    for (int i = 0; i < 2000; ++i) much += "a ";
    for (const std::string& text : {std::string(), std::string(" \n "), much}) {
      try {
        source.build(inputs_of("gpt2", text));
        FAIL("accepted");
      } catch (const Error& error) {
        CHECK(std::string(error.what()).find('\n') == std::string::npos);
        CHECK(std::string(error.what()).size() > 20);
      }
    }
    CHECK_THROWS_AS(source.build(inputs_of("bert-base-model", "no tokenizer")), Error);
    RunInputs ids = inputs_of("bert-base-model", "");
    std::get<Model>(ids.source).ids = {{1, 2, 3}};
    CHECK(source.build(ids).input->source.length == 3);
  }

  TEST_CASE("models are opened once for everybody, and let go") {
    ModelCache cache;
    auto first = cache.open(kModels + "gpt2");
    CHECK(cache.open(kModels + "gpt2") == first);
    const std::weak_ptr<const inference::LanguageModel> watched = first;
    first.reset();
    CHECK(watched.expired());
  }

  TEST_CASE("recent models are kept, newest first, none twice, and not too many") {
    Settings settings;
    for (int i = 0; i < 20; ++i) remember_model(settings, "/m" + std::to_string(i));
    remember_model(settings, "/m15");
    CHECK(settings.recent_models.size() == kMaxRecentModels);
    CHECK(settings.recent_models[0] == "/m15");
    CHECK(settings.recent_models[1] == "/m19");
    settings.model_folder = "/models";
    const TemporaryDirectory folder;
    save_settings(folder.path() / "settings.json", settings);
    CHECK(load_settings(folder.path() / "settings.json").settings == settings);
  }

  TEST_CASE("folders and model files are told from texts") {
    CHECK(is_model_path(kModels + "gpt2"));
    CHECK(is_model_path("/anywhere/model.gguf"));
    CHECK(is_model_path("model.safetensors"));
    CHECK_FALSE(is_model_path("text.txt"));
    CHECK_FALSE(is_model_path("session.headlight.json"));
  }
}

}  // namespace model_state_test
