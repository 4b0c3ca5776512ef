// Figures of what a view shows, saved with Ctrl+Shift+S: their numbers are the engine's, and they carry their session.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/analyses/head_metric_text.h"
#include "app/analyses/head_metrics.h"
#include "app/state/session_file.h"
#include "app/ui_driver.h"
#include "core/atomic_file.h"
#include "support/occurrences.h"
#include "support/temporary_directory.h"
#include "view/number_format.h"

namespace viewer_view_figures_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;
using evaluation::HeadMetric;
using shell::kControlShift;
using shell::Key;
using test::count;
namespace fs = std::filesystem;

namespace {

/// The view's figure as SVG.
std::string figure_of(UiDriver& ui, const fs::path& path) {
  ui.press(Key::S, kControlShift);
  ui.fill_in("screenshot.path", path.string());
  ui.click("screenshot.save");
  CHECK_FALSE(ui.window().notice().is_warning);
  ui.click("notice.close");
  if (const char* kept = std::getenv("HEADLIGHT_TEST_OUT")) {
    fs::copy_file(path, fs::path(kept) / path.filename(), fs::copy_options::overwrite_existing);
  }
  return read_file(path);
}

State view_of(const std::string& tab) {
  State state;
  state.text() = "the cat sat on the mat";
  state.view.tab = tab;
  return state;
}

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

/// "8 × 32: −1.234 … 1.234", as a diagram tells of a matrix with both signs.
std::string range_in_words(const attention::Tile& tile) {
  float reach = 0.0F;
  for (std::size_t i = 0; i < tile.values.size(); ++i) {
    const bool counts = (tile.masked.empty() || tile.masked[i] == 0) && std::isfinite(tile.values[i]);
    if (counts) reach = std::max(reach, std::abs(tile.values[i]));
  }
  return fmt::format(">{} × {}: {} … {}</text>", tile.request.rows, tile.request.columns, view::format_number(-reach, 7),
                     view::format_number(reach, 6));
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
        CHECK(svg.find(fmt::format(">{}</text>", view::format_fixed(query[i], 3))) != std::string::npos);
        CHECK(svg.find(fmt::format(">{}</text>", view::format_fixed(key[i], 3))) != std::string::npos);
        CHECK(svg.find(fmt::format(">{}</text>", view::format_fixed(static_cast<float>(product), 3))) != std::string::npos);
      }
      CHECK(svg.find(fmt::format(">{}</text>", view::format_exact(static_cast<float>(sum)))) != std::string::npos);
      CHECK(svg.find(fmt::format("query {} ", row)) != std::string::npos);
      CHECK(svg.find(fmt::format("key {} ", column)) != std::string::npos);
      for (const char* line : {">scale</text>", ">mask</text>", ">m</text>", ">l</text>", ">weight</text>"}) {
        CAPTURE(line);
        CHECK(count(svg, line) == 1);
      }
      CHECK(count(svg, ">q before</text>") == (std::string_view(model) == "llama" ? 1 : 0));
    }
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
      CHECK(svg.find(range_in_words(whole(ui, stage))) != std::string::npos);
    }
    ui.press(Key::Enter);  // unfolds the last matrix
    REQUIRE_FALSE(ui.state().block.opened.empty());
    const std::string opened = figure_of(ui, folder.path() / "block_opened.svg");
    CHECK(count(opened, "<line") == count(svg, "<line"));
  }

  TEST_CASE("the figure of Model has a map for each head, and below its name the metric that was measured") {
    const TemporaryDirectory folder;
    const AnalysisQuery asked{.analysis = &kHeadMetricAnalysis,
                              .block = {.kind = model::BlockKind::EncoderSelf, .layer = {}}};
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
        const std::string badge = badge_text(metrics, ui.state().heads.scoring);
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
      if (query.is_of_reference || prediction.candidates.empty()) continue;
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
      state.heads.mode = mode;
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

  TEST_CASE("a view's figure carries the window's session, from which the same figure is made again") {
    const TemporaryDirectory folder;
    for (const char* tab : {"model", "predictions", "neuron", "block", "lines", "flow"}) {
      CAPTURE(tab);
      const fs::path path = folder.path() / fmt::format("{}.svg", tab);
      std::string first;
      {
        UiDriver ui(view_of(tab));
        show_golden_model(ui, "gpt2");
        ui.settle();
        first = figure_of(ui, path);
        const Result<State> state = load_session(path);
        REQUIRE(state);
        CHECK(state->view.tab == tab);
        CHECK(*state == ui.state());
        CHECK_FALSE(load_figure(path).has_value());  // it is no figure of `headlight export`
      }
      UiDriver again(*load_session(path));
      show_golden_model(again, "gpt2");
      again.settle();
      CHECK(figure_of(again, folder.path() / "again.svg") == first);
    }
  }
}

}  // namespace viewer_view_figures_test
