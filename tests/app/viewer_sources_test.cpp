// Another kind of source is opened over every view with everything switched on: what one source has is never taken for
// granted of the next.
#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/models/starter_view.h"
#include "app/state/block_settings.h"
#include "app/state/comparison.h"
#include "app/state/corpus_settings.h"
#include "app/state/heads_settings.h"
#include "app/state/map_settings.h"
#include "app/state/neuron_settings.h"
#include "app/state/predictions_settings.h"
#include "app/state/session_file.h"
#include "app/state/side_by_side_settings.h"
#include "app/ui_driver.h"
#include "app/views/view_table.h"
#include "capture/captures.h"
#include "core/error.h"
#include "support/temporary_directory.h"

namespace viewer_sources_test {

using namespace headlight;
using namespace headlight::app;
using test::even;
namespace fs = std::filesystem;

namespace {

/// A view in one of its modes.
struct Shown {
  std::string_view view;
  std::function<void(State&)> choose = [](State&) {};
};

std::vector<Shown> all_modes() {
  std::vector<Shown> modes;
  const auto add = [&](std::string_view view, int count, const std::function<void(State&, int)>& choose) {
    for (int i = 0; i < count; ++i) modes.push_back({view, [choose, i](State& state) { choose(state, i); }});
  };
  for (const View& view : views()) {
    if (view.id == "heads") {
      add(view.id, 7, [](State& state, int i) {
        state.set(kHeadsView.mode, static_cast<HeadsMode>(i));
        state.set(kHeadsView.circuit_score, static_cast<CircuitScore>(i % 4));
        state.set(kHeadsView.draws_arcs, i % 2 == 0);
      });
    } else if (view.id == "predictions") {
      add(view.id, 3, [](State& state, int i) {
        state.set(kPredictionsView.part, static_cast<PredictionsPart>(i));
        state.set(kPredictionsView.lens_color, LensColor::Divergence);
      });
    } else if (view.id == "flow") {
      add(view.id, 3, [](State& state, int i) { state.set(kFlowView.method, static_cast<FlowMethod>(i)); });
    } else if (view.id == "patching") {
      add(view.id, 6, [](State& state, int i) { state.patching.map = static_cast<PatchMap>(i); });
    } else if (view.id == "side_by_side") {
      add(view.id, 3, [](State& state, int i) { state.set(kSideBySideView.right, static_cast<SideMap>(i)); });
    } else if (view.id == "what_if") {
      add(view.id, 3, [](State& state, int i) {
        state.set(kWhatIfView.measure, static_cast<KnockoutMeasure>(i));
        state.set(kWhatIfView.ablation, static_cast<Ablation>(i));
      });
    } else if (view.id == "neuron") {
      add(view.id, 2, [](State& state, int i) { state.set(kNeuronView.form, static_cast<NeuronForm>(i)); });
    } else if (view.id == "block") {
      add(view.id, 2, [](State& state, int i) {
        state.set(kBlockView.activations, i == 1);
        state.opened_matrix = i == 0 ? "scores" : "";
      });
    } else if (view.id == "prompts") {
      add(view.id, 1, [](State& state, int) { state.set(kPromptsView.set, "ioi"); });
    } else {
      add(view.id, view.id == "head" || view.id == "steps" ? 2 : 1, [](State& state, int i) {
        if (i == 1) state.selection.mean = HeadMean::Layer;
        state.set(kStepsView.all_heads, i == 1);
      });
    }
  }
  return modes;
}

/// A model with a second text beside it, and every switch of the window on.
State everything_on(const Shown& shown) {
  State state;
  const auto model = ModelCache().open(kGoldenModels + "gpt2");
  select_model(state, kGoldenModels + "gpt2", model->masks);
  state.text() = "the cat sat on the mat";
  state.selection.block.layer = {1};
  state.selection.head = 1;
  state.view.tab = shown.view;
  state.view.weighs_values = true;
  state.set(kMapView.groups_words, true).set(kMapView.shows_marginals, true);
  state.set(kMapView.special_tokens, SpecialTokens::Renormalized);
  state.view.pinned = attention::Cell{.query = 3, .key = 2};
  state.view.locked = LockedToken{.side = MapSide::Query, .token = 3};
  state.set(kMapView.color_range, ColorRange::PerRow);
  state.set(kMapView.grid_order, GridOrder::ByConcentration);
  state.view.lines.shows_selected = false;
  state.set(kCorpusView.mode, CorpusMode::Head);
  compare_with_text(state, "a dog ran over there");
  shown.choose(state);
  return state;
}

/// Opens a source over the window's.
struct OtherSource {
  std::string name;
  std::function<void(UiDriver& ui)> open;
};

void open_file(UiDriver& ui, const fs::path& path) {
  ui.window().open_files({path.string()});
  ui.settle();
}

/// Captures in `folder`, models and notebooks.
std::vector<OtherSource> other_sources(const fs::path& folder) {
  std::vector<OtherSource> sources;
  const auto add_file = [&](const std::string& name, const fs::path& path) {
    sources.push_back({name, [path](UiDriver& ui) { open_file(ui, path); }});
  };
  const auto add_made = [&](const std::string& name, const std::vector<test::MadeTensor>& tensors,
                            std::string_view words = "") {
    add_file(name, test::write_capture(folder / (name + ".safetensors"), tensors, words));
  };
  const auto add_session = [&](const std::string& name, const std::function<void(State&)>& change) {
    sources.push_back({name, [change, path = folder / (name + ".headlight.json")](UiDriver& ui) {
                         State state = ui.state();
                         change(state);
                         save_session(path, state);
                         open_file(ui, path);
                       }});
  };
  add_made("weights alone", {even("attention.0", {2, 5, 5}), even("attention.1", {2, 5, 5})});
  for (const char* model : {"bert", "llama", "marian"})
    sources.push_back({model, [model](UiDriver& ui) { show_golden_model(ui, model); }});
  add_made("cross-attention alone", {even("cross_attention.0", {2, 3, 6}), even("cross_attention.1", {2, 3, 6})});
  add_session("one token", [](State& state) {
    select_model(state, kGoldenModels + "gpt2", {});
    state.model().ids = {{5}};
  });
  add_made("one head, layer and token", {even("attention.0", {1, 1, 1})});
  add_made("hybrid", {even("attention.0", {2, 4, 4}), even("attention.1", {3, 4, 4})}, R"("layers":"[3, 7]")");
  add_session("notebook", [](State& state) { select_preset(state, "notebook-000"); });
  add_file("queries and keys", test::golden_capture("queries.safetensors"));
  add_file("patches with values", test::golden_capture("vision_values.safetensors"));
  add_session("one head and layer", [](State& state) {
    select_model(state, "", {});
    state.playground().settings.heads = state.playground().settings.layers = 1;
  });
  add_file("a translator's", test::golden_capture("translator.npz"));
  return sources;
}

/// The view's figure, numbers and words, or one line that says why there are none.
void ask_for_all(UiDriver& ui, const fs::path& folder) {
  for (const char* file : {"figure.svg", "numbers.csv", ""}) {
    CAPTURE(file);
    try {
      if (*file == '\0') {
        const std::string words = ui.window().describe();
        CHECK(words.starts_with("# "));
      } else if (std::string_view(file).ends_with(".csv")) {
        const std::string numbers = ui.csv();
        CHECK(numbers.find('\n') != std::string::npos);
      } else {
        ui.window().write_figure(folder / file);
      }
    } catch (const Error& error) {
      const std::string why = error.what();
      CHECK(why.size() > 15);
      CHECK(why.find("::") == std::string::npos);  // of a library
      CHECK(why.find('\n') == std::string::npos);
    }
  }
}

void switch_through(const Shown& shown, const std::vector<OtherSource>& sources, const fs::path& folder) {
  UiDriver ui(everything_on(shown));
  ui.resize(1000, 700);
  ui.click("menu.View");
  ui.click("menu.Check against double precision");
  REQUIRE(ui.window().settings().verifies_head);
  ui.feed({shell::MouseLeave{}});
  CHECK(ui.result().error == "");
  ask_for_all(ui, folder);
  const State first = ui.state();
  for (const OtherSource& source : sources) {
    CAPTURE(source.name);
    source.open(ui);
    CHECK(ui.result().error == "");
    CHECK(ui.state().view.tab == shown.view);
    ask_for_all(ui, folder);
    save_session(folder / "first.headlight.json", first);
    open_file(ui, folder / "first.headlight.json");
  }
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every kind of source after the first one, and back, under every view") {
    const TemporaryDirectory folder;
    const std::vector<OtherSource> sources = other_sources(folder.path());
    for (const Shown& shown : all_modes()) {
      CAPTURE(shown.view);
      switch_through(shown, sources, folder.path());
    }
  }
}

}  // namespace viewer_sources_test
