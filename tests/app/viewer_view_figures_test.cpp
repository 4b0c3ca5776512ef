// Figures of what a view shows, saved with Ctrl+Shift+S: their numbers are the engine's, and they carry their session.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/engine/analyses/head_metric_text.h"
#include "app/engine/analyses/head_metrics.h"
#include "app/engine/analyses/value_reach.h"
#include "app/figures/figure_kind.h"
#include "app/figures/job.h"
#include "app/state/heads_settings.h"
#include "app/state/map_settings.h"
#include "app/state/neuron_settings.h"
#include "app/state/session_file.h"
#include "app/ui_driver.h"
#include "app/widgets/cells/stage_text.h"
#include "chart/number_format.h"
#include "core/file.h"
#include "support/occurrences.h"
#include "support/svg_words.h"
#include "support/temporary_directory.h"

namespace viewer_view_figures_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;
using evaluation::HeadMetric;
using model::BlockKind;
using shell::kControl;
using shell::kControlShift;
using shell::Key;
using test::count;
namespace fs = std::filesystem;

namespace {

/// The view's figure as SVG.
std::string figure_of(UiDriver& ui, const fs::path& path) {
  ui.window().write_figure(path);
  return read_file(path);
}

std::string without_session(const std::string& svg) {
  const std::size_t begin = svg.find("<metadata>"), end = svg.find("</metadata>");
  return begin == std::string::npos || end == std::string::npos
             ? svg
             : svg.substr(0, begin) + svg.substr(end + std::string_view("</metadata>\n").size());
}

State view_of(const std::string& tab) { return with_text("the cat sat on the mat", tab); }

/// A stage of the selected head, whole.
const attention::Tile& whole(const UiDriver& ui, Stage stage) {
  const Selection& selection = ui.state().selection;
  for (const auto& [query, known] : ui.result().tiles) {
    const bool is_it = query.quantity == QuantityId(stage) && query.block == selection.block && query.row == 0 &&
                       query.column == 0 && query.rows > 1 && query.columns > 1 && query.pool == 1 &&
                       (!attention::is_per_head(stage) || query.head == selection.head) && ui.result().is_current(query);
    if (is_it) return *known.tile;
  }
  FAIL("the stage isn't known");
  std::abort();
}

/// "8 × 32: −1.234 … 1.234", as a diagram tells of a stage with both signs, whose range is that of all heads.
std::string range_in_words(const UiDriver& ui, Stage stage) {
  const attention::Tile& tile = whole(ui, stage);
  float reach = 0.0F;
  for (std::size_t i = 0; i < tile.values.size(); ++i) {
    const bool counts = (tile.masked.empty() || tile.masked[i] == 0) && std::isfinite(tile.values[i]);
    if (counts) reach = std::max(reach, std::abs(tile.values[i]));
  }
  if (const auto question = reach_question(stage, ui.state().selection.block.kind, tile.request.batch)) {
    const Analysed* answer = ui.result().analysed(*question);
    REQUIRE(answer);
    const auto* found = answer->as<ValueReach>();
    REQUIRE(found);
    CHECK(found->reach >= reach);
    reach = found->reach;
  }
  return fmt::format(">{} × {}: {} … {}</text>", tile.request.rows, tile.request.columns, chart::format_number(-reach, 7),
                     chart::format_number(reach, 6));
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the figure of Neuron has every component of the query and the key, their products and the engine's weight") {
    const TemporaryDirectory folder;
    for (const char* model : {"gpt2", "llama"}) {
      CAPTURE(model);
      UiDriver ui(view_of("neuron"));
      show_golden_model(ui, model);
      ui.settle();
      const std::string svg = figure_of(ui, folder.path() / fmt::format("neuron_{}.svg", model));
      std::vector<float> query, key;
      std::uint32_t row = 0, column = 0;
      for (const auto& [asked, known] : ui.result().tiles) {
        const bool is_of_row = asked.rows == 1 && asked.columns > 1 && asked.pool == 1;
        if (is_of_row && asked.quantity == QuantityId(Stage::Q)) {
          query = known.tile->values;
          row = asked.row;
        }
        if (is_of_row && asked.quantity == QuantityId(Stage::K)) {
          key = known.tile->values;
          column = asked.row;
        }
      }
      REQUIRE(query.size() == key.size());
      REQUIRE(query.size() > 1);
      double sum = 0.0;
      for (std::size_t i = 0; i < query.size(); ++i) {
        const double product = double{query[i]} * double{key[i]};
        sum += product;
        CHECK(svg.find(fmt::format(">{}</text>", chart::format_fixed(query[i], 3))) != std::string::npos);
        CHECK(svg.find(fmt::format(">{}</text>", chart::format_fixed(key[i], 3))) != std::string::npos);
        CHECK(svg.find(fmt::format(">{}</text>", chart::format_fixed(static_cast<float>(product), 3))) != std::string::npos);
      }
      CHECK(svg.find(fmt::format(">{}</text>", chart::format_exact(static_cast<float>(sum)))) != std::string::npos);
      CHECK(svg.find(fmt::format("query {} ", row)) != std::string::npos);
      CHECK(svg.find(fmt::format("key {} ", column)) != std::string::npos);
      for (const char* line : {">scale</text>", ">mask</text>", ">m</text>", ">l</text>", ">weight</text>"}) {
        CAPTURE(line);
        CHECK(count(svg, line) == 1);
      }
      CHECK(count(svg, ">q before</text>") == (std::string_view(model) == "llama" ? 1 : 0));
    }
  }

  TEST_CASE("of all keys the figure of Neuron has every product's colour, every score, weight and masked key") {
    const TemporaryDirectory folder;
    for (const char* model : {"gpt2", "llama"}) {
      CAPTURE(model);
      State state = view_of("neuron");
      state.set(kNeuronView.form, NeuronForm::AllKeys);
      state.view.pinned = attention::Cell{.query = 3, .key = 1};
      UiDriver ui(state);
      show_golden_model(ui, model);
      ui.settle();
      ui.wait(2.0);
      ui.click("neuron.key row.1");  // opening a model takes the pin away
      ui.click("neuron.query.3");
      REQUIRE(ui.state().view.pinned);
      REQUIRE(ui.state().view.pinned->query == 3);
      const std::string svg = figure_of(ui, folder.path() / fmt::format("keys_{}.svg", model));
      const inference::BlockShape& shape = ui.result().shapes.at(ui.state().selection.block);
      REQUIRE(shape.keys > 5);
      std::map<Stage, const attention::Tile*> known;
      for (const auto& [asked, tile] : ui.result().tiles) {
        if (asked.pool != 1 || !ui.result().is_current(asked)) continue;
        if (asked.quantity == QuantityId(Stage::Q) && asked.row == 3 && asked.rows == 1) known[Stage::Q] = tile.tile.get();
        if (asked.quantity == QuantityId(Stage::K) && asked.rows == shape.keys) known[Stage::K] = tile.tile.get();
        for (const Stage stage : {Stage::Scaled, Stage::Weights}) {
          const bool is_row = asked.quantity == QuantityId(stage) && asked.row == 3 && asked.rows == 1;
          if (is_row && asked.columns == shape.keys) known[stage] = tile.tile.get();
        }
      }
      REQUIRE(known.size() == 4);
      float reach = 0.0F;
      for (std::uint32_t key = 0; key < shape.keys; ++key) {
        CAPTURE(key);
        for (std::uint32_t i = 0; i < shape.d_k; ++i) {
          reach = std::max(reach, std::abs(known[Stage::Q]->at(0, i) * known[Stage::K]->at(key, i)));
        }
        const std::string score = chart::format_fixed(known[Stage::Scaled]->at(0, key), 3);
        CHECK(svg.find(fmt::format(">{}</text>", score)) != std::string::npos);
        const std::string weight = chart::format_fixed(known[Stage::Weights]->at(0, key), 3);
        if (key <= 3) CHECK(svg.find(fmt::format(">{}</text>", weight)) != std::string::npos);
      }
      CHECK(count(svg, ">masked</text>") == shape.keys - 4);
      CHECK(svg.find(fmt::format(">{}</text>", chart::format_number(reach, 6))) != std::string::npos);
      CHECK(count(svg, "<rect") >= std::size_t{shape.keys} * shape.d_k);
      CHECK(test::svg_words(svg).find("query 3 ") != std::string::npos);
      CHECK(test::svg_words(svg).find("and all keys") != std::string::npos);
    }
  }

  TEST_CASE("the figure of Head is the one that an export writes, of weights, scores, means and differences") {
    const TemporaryDirectory folder;
    struct Case {
      std::string name;
      Stage stage = Stage::Weights;
      HeadMean mean = HeadMean::None;
      bool is_difference = false;
    };
    for (const Case& one : {Case{.name = "weights"}, Case{.name = "scaled", .stage = Stage::Scaled},
                            Case{.name = "mean", .mean = HeadMean::Layer}, Case{.name = "all", .mean = HeadMean::Kind},
                            Case{.name = "difference", .is_difference = true}}) {
      CAPTURE(one.name);
      State state = view_of("head");
      state.playground().settings.heads = 2;
      state.selection.head = 1;
      state.selection.mean = one.mean;
      state.view.heatmap_stage = one.stage;
      state.view.theme = Theme::Light;
      state.set(kMapView.color_map, chart::ColorMap::Magma);
      UiDriver ui(state);
      if (one.is_difference) {
        ui.press(Key::D, kControl);
        ui.press(Key::C);  // the causal mask
        REQUIRE(ui.state().compare.baseline);
      }
      ui.settle();
      const std::string shown = figure_of(ui, folder.path() / fmt::format("head_{}.svg", one.name));
      ExportOptions options;
      options.inputs = run_inputs(ui.state());
      options.stages = {one.stage};
      if (one.is_difference) options.baseline = *ui.state().compare.baseline;
      options.formats = {ExportFormat::Svg};
      options.views = {&kHeadFigure};
      options.mean = one.mean;
      if (one.mean != HeadMean::Kind) options.layers = IndexSet(0);
      if (one.mean == HeadMean::None) options.heads = IndexSet(1);
      options.set(kFigureLook.color_map, chart::ColorMap::Magma);
      options.directory = folder.path() / one.name;
      const std::unique_ptr<Runner> runner = open_reference_runner("");
      const ExportReport report = run_export(*runner, options);
      REQUIRE(report.files.size() == 2);  // and run.json
      CHECK(without_session(shown) == without_session(read_file(report.files.front())));
      CHECK(shown != without_session(shown));
    }
  }

  TEST_CASE("the figure of Head is of words where the map is, and says where a map is too large for it") {
    const TemporaryDirectory folder;
    State state = view_of("head");
    state.set(kMapView.groups_words, true);
    {
      UiDriver ui(state);
      show_golden_model(ui, "gpt2");
      ui.settle();
      REQUIRE(ui.sees("head.words"));
      const std::string svg = figure_of(ui, folder.path() / "words.svg");
      CHECK(test::svg_words(svg).find("words: sums over keys, means over queries") != std::string::npos);
      for (const char* word : {">cat</text>", ">mat</text>"}) CHECK(count(svg, word) == 2);  // a row and a column
    }
    State long_text = view_of("head");
    for (int i = 0; i < 1'030; ++i) long_text.text() += " x";
    UiDriver ui(long_text, open_gpu_runner);
    ui.settle();
    ui.press(Key::S, kControlShift);
    ui.type((folder.path() / "large.svg").string());
    ui.press(Key::Enter);
    CHECK(ui.window().notice().text.find("at most 1024 × 1024 cells") != std::string::npos);
    CHECK_FALSE(fs::exists(folder.path() / "large.svg"));
  }

  TEST_CASE("the figure of Block has all matrices of the layer with their formulas, sizes and the engine's numbers") {
    const TemporaryDirectory folder;
    UiDriver ui(view_of("block"));
    show_golden_model(ui, "gpt2");
    ui.settle();
    const std::string svg = figure_of(ui, folder.path() / "block.svg");
    for (const char* title : {">residual stream</text>", ">queries</text>", ">keys</text>", ">values</text>",
                              ">attention weights</text>", ">merged heads</text>", ">next layer's input</text>"}) {
      CAPTURE(title);
      CHECK(count(svg, title) == 1);
    }
    CHECK(count(svg, ">softmax</text>") == 1);
    for (const Stage stage : {Stage::Q, Stage::K, Stage::V, Stage::Heads, Stage::Scores}) {
      CAPTURE(attention::to_string(stage));
      CHECK(svg.find(range_in_words(ui, stage)) != std::string::npos);
    }
    ui.press(Key::Enter);  // unfolds the last matrix
    REQUIRE_FALSE(ui.state().opened_matrix.empty());
    const std::string opened = figure_of(ui, folder.path() / "block_opened.svg");
    CHECK(count(opened, "<line") == count(svg, "<line"));
  }

  TEST_CASE("the figure of Model has a map for each head, and below its name the metric that was measured") {
    const TemporaryDirectory folder;
    const AnalysisQuery asked = HeadMetricsQuestion{.kind = model::BlockKind::EncoderSelf};
    std::string first;
    {
      UiDriver ui(view_of("model"));
      show_golden_model(ui, "gpt2");
      ui.settle();
      first = figure_of(ui, folder.path() / "model.svg");
      const Analysed* answer = ui.result().analysed(asked);
      REQUIRE(answer != nullptr);
      const HeadMetricsFound& found = *answer->as<HeadMetricsFound>();
      REQUIRE(found.heads.size() == 12);
      std::size_t named = 0;
      for (const auto& [head, metrics] : found.heads) {
        const std::string badge = badge_text(metrics);
        const std::string entropy = metric_number(HeadMetric::Entropy, metrics.value(HeadMetric::Entropy));
        named += count(first, fmt::format(">{}  {}</text>", head_name(head), badge.empty() ? "entropy " + entropy : badge));
      }
      CHECK(named == found.heads.size());
    }
    // Another order moves the same maps.
    State ordered = view_of("model");
    ordered.heads.order = HeadMetric::Distance;
    UiDriver ui(ordered);
    show_golden_model(ui, "gpt2");
    ui.settle();
    const std::string again = figure_of(ui, folder.path() / "ordered.svg");
    CHECK(again.find("ordered by distance, the highest first") != std::string::npos);
    CHECK(count(again, "<rect") == count(first, "<rect"));
  }

  TEST_CASE(
      "the figure of Predictions has the likeliest tokens with the engine's probabilities, and every layer's reading") {
    const TemporaryDirectory folder;
    UiDriver ui(view_of("predictions"));
    show_golden_model(ui, "gpt2");
    ui.settle();
    const std::string svg = figure_of(ui, folder.path() / "predictions.svg");
    const std::uint32_t layers = predicting_layers(*ui.result().network);
    std::size_t read = 0;
    for (const auto& [query, prediction] : ui.result().predictions) {
      if (query.is_of_baseline || prediction.candidates.empty()) continue;
      const double percent = 100.0 * prediction.candidates.front().probability;
      const int decimals = percent >= 99.95 ? 0 : percent >= 9.995 ? 1 : percent >= 0.9995 ? 2 : 3;
      CHECK(svg.find(fmt::format(">{:.{}f} %</text>", percent, decimals)) != std::string::npos);
      ++read;
    }
    CHECK(read == layers + 1);
    CHECK(count(svg, ">output</text>") == 1);
    CHECK(count(svg, ">input</text>") == 1);
    CHECK(svg.find(">Next token after") != std::string::npos);
  }

  TEST_CASE("each mode of Heads has a figure: a map of layers and heads, or of heads and heads") {
    const TemporaryDirectory folder;
    for (const HeadsMode mode : {HeadsMode::FromTo, HeadsMode::Pattern, HeadsMode::Similarity, HeadsMode::Composition}) {
      CAPTURE(static_cast<int>(mode));
      State state = view_of("heads");
      state.set(kHeadsView.mode, mode);
      UiDriver ui(state);
      show_golden_model(ui, "gpt2");
      ui.settle();
      const std::string svg = figure_of(ui, folder.path() / fmt::format("heads_{}.svg", static_cast<int>(mode)));
      CHECK(count(svg, ">head</text>") == (mode == HeadsMode::Similarity ? 2 : 1));
      CHECK(count(svg, ">layer</text>") == (mode == HeadsMode::Similarity ? 0 : 1));
      const std::size_t values = mode == HeadsMode::Similarity ? 64 : mode == HeadsMode::Composition ? 4 : 8;
      CHECK(count(svg, "<rect") >= values);
    }
  }

  TEST_CASE("figures of Heads have every kind of attention that the mode shows, or name the one that it shows") {
    const TemporaryDirectory folder;
    for (const HeadsMode mode :
         {HeadsMode::Metrics, HeadsMode::FromTo, HeadsMode::Pattern, HeadsMode::Similarity, HeadsMode::Composition}) {
      CAPTURE(static_cast<int>(mode));
      State state = view_of("heads");
      state.set(kHeadsView.mode, HeadsMode::FromTo);
      state.set(kHeadsView.circuit_score, CircuitScore::ValueComposition);
      UiDriver ui(state);
      show_golden_model(ui, "marian");
      ui.click("heads.kind.0");
      REQUIRE(ui.state().selection.block.kind == BlockKind::EncoderSelf);
      ui.click(fmt::format("heads.mode.{}", static_cast<int>(mode)));
      REQUIRE(ui.state()[kHeadsView.mode] == mode);
      ui.settle();
      const std::string svg = figure_of(ui, folder.path() / fmt::format("kinds_{}.svg", static_cast<int>(mode)));
      const std::string words = test::svg_words(svg);
      if (mode != HeadsMode::Composition) {
        CHECK(words.find("\u00B7 encoder self-attention") != std::string::npos);
        CHECK(words.find("cross-attention") == std::string::npos);
        continue;
      }
      std::size_t shown = 0;
      for (const model::BlockKind kind : {BlockKind::EncoderSelf, BlockKind::DecoderSelf, BlockKind::Cross}) {
        const std::string name(model::to_string(kind));
        CAPTURE(name);
        const bool is_seen = ui.sees(fmt::format("heads.composed.{}.0.0", name));
        CHECK(count(svg, fmt::format(">{}</text>", kind_text(kind))) == (is_seen ? 1 : 0));
        shown += is_seen ? 1 : 0;
      }
      CHECK(shown >= 2);
      CHECK(count(svg, ">head</text>") == shown);
      CHECK(count(svg, ">no value</text>") == 1);  // of the encoder's heads that no later one reads
    }
  }

  TEST_CASE("a view's figure carries the window's session, from which the same figure is made again") {
    const TemporaryDirectory folder;
    std::vector<State> states;
    for (const char* tab :
         {"head", "model", "predictions", "block", "lines", "text", "steps", "flow", "logits", "what_if"}) {
      states.push_back(view_of(tab));
    }
    for (const NeuronForm form : {NeuronForm::Pair, NeuronForm::AllKeys}) {
      states.push_back(view_of("neuron"));
      states.back().set(kNeuronView.form, form);
    }
    for (const HeadsMode mode :
         {HeadsMode::Metrics, HeadsMode::FromTo, HeadsMode::Pattern, HeadsMode::Similarity, HeadsMode::Composition}) {
      states.push_back(view_of("heads"));
      states.back().set(kHeadsView.mode, mode);
    }
    attention::MaskSet trained;
    trained[BlockKind::EncoderSelf].rule.causal = true;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::string& tab = states[i].view.tab;
      CAPTURE(i);
      CAPTURE(tab);
      select_model(states[i], kGoldenModels + "gpt2", trained);
      const fs::path path = folder.path() / fmt::format("{}.svg", tab);
      std::string first;
      {
        UiDriver ui(states[i]);
        first = figure_of(ui, path);
        const Result<State> state = load_session(path);
        REQUIRE(state);
        CHECK(state->view.tab == tab);
        State found = *state;
        find_at(found, model_path(ui.state().source));  // a figure says no more than the model's name
        CHECK(found == ui.state());
        CHECK_FALSE(load_figure(path).has_value());  // it is no figure of `headlight export`
      }
      State shown = *load_session(path);
      find_at(shown, kGoldenModels + "gpt2");
      UiDriver again(shown);
      CHECK(figure_of(again, folder.path() / "again.svg") == first);
    }
  }
}

}  // namespace viewer_view_figures_test
