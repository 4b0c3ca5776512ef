// The colour range of the big heatmap: dragged on its bar, logarithmic, fitted by the hint. And steps that scroll.
#include <algorithm>
#include <cmath>

#include "app/panel_stage.h"
#include "app/views/head/head_parts.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/head_subject.h"
#include "app/widgets/range_bar.h"

namespace map_range_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

TEST_SUITE_BEGIN("gpu");

namespace {

/// One row that looks at one key, and 199 that look at all alike: what "absolute" paints dark.
attention::Tile mostly_dark(const attention::TileRequest& request) {
  attention::Tile tile{.request = request, .values = {}, .masked = {}, .row_max = {}, .row_sum = {}};
  for (std::uint32_t row = 0; row < request.tile_rows(); ++row) {
    for (std::uint32_t column = 0; column < request.tile_columns(); ++column) {
      tile.values.push_back(row == 0 ? (column == 0 ? 1.0F : 0.0F) : 0.005F + 1e-5F * static_cast<float>(column % 7));
    }
  }
  if (!attention::is_map(request.stage)) return tile;
  tile.masked.assign(tile.values.size(), 0);
  tile.row_max.assign(request.rows, 0.0F);
  tile.row_sum.assign(request.rows, 200.0F);
  if (request.row == 0) tile.row_sum.front() = 1.0F;
  return tile;
}

std::string words(std::uint32_t count) {
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i) text += (i > 0 ? " w" : "w") + std::to_string(i % 40);
  return text;
}

glm::vec2 in(const view::Rect& rect, float across, float down) { return rect.origin + rect.size * glm::vec2(across, down); }

}  // namespace

TEST_CASE("the top of the colour bar can be dragged down, the wheel moves it, a double click fits again") {
  PanelStage stage;
  stage.settle();
  auto& limits = stage.state.view.color_limits;
  const view::Rect bar = stage.rect("head.range_bar");
  const glm::vec2 top = in(bar, 0.5F, 0.05F);
  stage.feed(shell::drag(top, {top.x, bar.origin.y + bar.size.y * 0.55F}));
  REQUIRE(limits.contains(Stage::Weights));
  const view::ValueLimits dragged = limits.at(Stage::Weights);
  CHECK(dragged.low == 0.0F);
  const attention::Tile* whole = stage.result.tile({.rows = 6, .columns = 6});
  REQUIRE(whole);
  const float largest = largest_weight(*whole);
  CHECK(dragged.high < 0.6F * largest);
  CHECK(dragged.high > 0.3F * largest);
  // The bottom moves up, and the ends never cross.
  const glm::vec2 bottom = in(bar, 0.5F, 0.95F);
  stage.feed(shell::drag(bottom, {bottom.x, bar.center().y}));
  CHECK(limits.at(Stage::Weights).low > 0.0F);
  CHECK(limits.at(Stage::Weights).low < limits.at(Stage::Weights).high);
  // From another place: at the same one it would be a double click.
  stage.feed(shell::drag({bottom.x, bar.origin.y + bar.size.y * 0.8F}, {bottom.x, bar.origin.y - 300.0F}));
  CHECK(limits.at(Stage::Weights).low < limits.at(Stage::Weights).high);
  const glm::vec2 middle = in(bar, 0.5F, 0.4F);
  stage.feed(shell::click_at(middle));
  stage.feed(shell::click_at(middle));
  CHECK(limits.empty());
  stage.feed({shell::MouseMove{middle}, shell::MouseWheel{.steps = {0.0F, 1.0F}}});
  REQUIRE(limits.contains(Stage::Weights));
  CHECK(limits.at(Stage::Weights).high == doctest::Approx(largest / 1.25F));
  // Scores have both signs: their ends move together.
  stage.state.view.heatmap_stage = Stage::Scores;
  stage.settle();
  stage.feed(shell::drag(top, {top.x, bar.origin.y + bar.size.y * 0.3F}));
  REQUIRE(limits.contains(Stage::Scores));
  CHECK(limits.at(Stage::Scores).low == -limits.at(Stage::Scores).high);
  CHECK(limits.contains(Stage::Weights));
}

TEST_CASE("however often the ends are moved, the limits stay finite and apart") {
  PanelStage stage;
  for (const Stage shown : {Stage::Weights, Stage::Scores}) {
    for (const view::ScaleSpread spread : {view::ScaleSpread::Linear, view::ScaleSpread::Root, view::ScaleSpread::Log}) {
      CAPTURE(shown);
      CAPTURE(spread);
      stage.state.view.heatmap_stage = shown;
      stage.state.view.color_spread = spread;
      stage.state.view.color_limits.clear();
      stage.settle();
      const view::Rect bar = stage.rect("head.range_bar");
      bool are_sound = true;
      const auto look = [&] {
        const auto limits = stage.state.view.color_limits.find(shown);
        if (limits == stage.state.view.color_limits.end()) return;
        const auto [low, high] = limits->second;
        are_sound = are_sound && std::isfinite(low) && std::isfinite(high) && low < high;
      };
      // Each drag begins at another place: at the same one it would be a double click.
      for (const float to : {2'000.0F, -2'000.0F}) {
        for (int i = 0; i < 40; ++i) {
          const glm::vec2 from = in(bar, 0.5F, (to > 0.0F ? 0.05F : 0.7F) + 0.005F * static_cast<float>(i));
          stage.feed(shell::drag(from, {from.x, from.y + to}));
          look();
        }
      }
      for (const float wheel : {40.0F, -40.0F}) {
        for (int i = 0; i < 40; ++i) {
          stage.feed({shell::MouseMove{bar.center()}, shell::MouseWheel{.steps = {0.0F, wheel}}});
          look();
        }
      }
      CHECK(are_sound);
    }
  }
}

TEST_CASE("a fixed range is typed, stays for other heads, layers and texts, and is given up for the map's own") {
  PanelStage stage({1280, 880});
  stage.settle();
  auto& limits = stage.state.view.color_limits;
  const auto choose = [&](const char* kind) {
    stage.feed(shell::click_at(stage.rect("head.range").center()));
    stage.feed(shell::click_at(stage.rect(kind).center()));
  };
  const auto type = [&](const char* field, const std::string& text) {
    const glm::vec2 at = stage.rect(field).center();
    stage.feed(shell::click_at(at));
    stage.feed({shell::TextInput{text}});  // a click selects what was there
    stage.feed(shell::click_at({8.0F, 860.0F}));
  };
  const float largest = largest_weight(*stage.result.tile({.rows = 6, .columns = 6}));
  choose("head.range.2");
  REQUIRE(limits.contains(Stage::Weights));
  CHECK(limits.at(Stage::Weights).high == largest);  // as it was shown
  type("head.range.high", "0.25");
  type("head.range.low", "0.125");
  CHECK(limits.at(Stage::Weights) == view::ValueLimits{.low = 0.125F, .high = 0.25F});
  stage.settle();
  // What no bar can show changes nothing.
  for (const char* text : {"0.1", "-1", "7", "nan"}) type("head.range.high", text);
  CHECK(limits.at(Stage::Weights) == view::ValueLimits{.low = 0.125F, .high = 0.25F});
  stage.state.selection.head = 1;
  stage.state.selection.block.layer.value = 1;
  stage.state.text() = "another text";
  stage.settle();
  CHECK(limits.at(Stage::Weights) == view::ValueLimits{.low = 0.125F, .high = 0.25F});
  shell::HeatmapImage image;
  set_weight_colors(image, stage.state, {}, false);
  CHECK(image.low == 0.125F);
  CHECK(image.high == 0.25F);
  // Each row's own range forgets nothing.
  choose("head.range.1");
  CHECK(stage.state.view.color_range == ColorRange::PerRow);
  choose("head.range.2");
  CHECK(limits.at(Stage::Weights) == view::ValueLimits{.low = 0.125F, .high = 0.25F});
  const State fixed = stage.state;
  choose("head.range.0");
  CHECK(limits.empty());
  CHECK(describe_change(fixed, stage.state).label == "Change colour range");
  // Scores have one number.
  stage.state.view.heatmap_stage = Stage::Scores;
  stage.settle();
  choose("head.range.2");
  CHECK_FALSE(stage.items.contains("head.range.low"));
  type("head.range.reach", "2.5");
  CHECK(limits.at(Stage::Scores) == view::ValueLimits{.low = -2.5F, .high = 2.5F});
  // Words have the same range as tokens.
  stage.state.view.heatmap_stage = Stage::Weights;
  stage.state.view.groups_words = true;
  stage.settle();
  choose("head.range.2");
  CHECK(limits.contains(Stage::Weights));
}

TEST_CASE("the header's controls are on two lines and never overlap, in windows from 1024 wide") {
  for (const std::uint32_t width : {1004U, 1020U, 1200U, 1600U}) {  // 664, 680, 860 and 1260 of the map
    for (const bool is_zoomed : {false, true}) {
      CAPTURE(width);
      PanelStage stage({width, 640});
      if (is_zoomed) stage.state.text() = words(200);
      stage.state.playground().settings = {.d_model = 64, .heads = 16, .layers = 2};
      stage.state.selection = {.block = {.layer = LayerIndex{1}}, .head = 15};
      stage.settle();
      std::vector<std::string> names = {"head.title", "head.mean",  "head.gain",    "head.knock_out", "head.about",
                                        "head.brush", "head.shown", "head.stage.0", "head.stage.4"};
      for (std::size_t i = 0; i < names.size(); ++i) {
        const view::Rect one = stage.rect(names[i]);
        CHECK_MESSAGE(one.end().x <= static_cast<float>(width) - 340.0F - 15.0F, names[i]);
        for (std::size_t j = i + 1; j < names.size(); ++j) {
          const view::Rect other = stage.rect(names[j]);
          const bool overlap = one.origin.x < other.end().x && other.origin.x < one.end().x &&
                               one.origin.y < other.end().y && other.origin.y < one.end().y;
          CHECK_MESSAGE(!overlap, names[i] << " and " << names[j]);
        }
      }
      const float second_line = stage.rect("head.about").origin.y;
      CHECK(stage.rect("head.gain").origin.y < second_line);
      CHECK(stage.rect("head.map").origin.y < second_line + 150.0F);
      stage.settle();
    }
  }
}

TEST_CASE("where the header has no room for all that the map is, sizes go first and the kind last") {
  const auto measure = [](std::string_view text) {  // letters
    return static_cast<float>(std::ranges::count_if(text, [](char letter) { return (letter & 0xc0) != 0x80; }));
  };
  const HeadAbout about{.kind = "cross-attention",
                        .sizes = "4 × 13",
                        .line = "line 1 of 2",
                        .grouping = "words: sums over keys, means over queries",
                        .brief_grouping = "words"};
  const std::string whole = "cross-attention · 4 × 13 · line 1 of 2 · words: sums over keys, means over queries";
  CHECK(about.text() == whole);
  std::vector<std::string> seen;
  for (float room = measure(whole); room >= 1.0F; room -= 1.0F) {
    const std::string text = fit_about(about, room, measure);
    CHECK(measure(text) <= room);
    if (seen.empty() || seen.back() != text) seen.push_back(text);
  }
  REQUIRE(seen.size() > 6);
  CHECK(seen[0] == whole);
  CHECK(seen[1] == "cross-attention · 4 × 13 · line 1 of 2 · words");
  CHECK(seen[2] == "cross-attention · line 1 of 2 · words …");
  CHECK(seen[3] == "cross-attention · line 1 of 2 …");
  CHECK(seen[4] == "cross-attention …");
  CHECK(seen[5] == "cross-attention");
  CHECK(seen[6] == "cross-attenti…");
  CHECK(fit_about({.kind = "self-attention", .sizes = "12 × 12"}, 20.0F, measure) == "self-attention …");
}

TEST_CASE("the colours of a long text fit by themselves and say so, a click shows all, and a fixed range can be fitted") {
  PanelStage stage;
  stage.make_tile = mostly_dark;
  stage.state.text() = words(200);
  stage.state.playground().settings.layers = 1;
  stage.settle();
  stage.settle();
  auto& limits = stage.state.view.color_limits;
  CHECK(limits.empty());
  const attention::Tile* whole = stage.result.tile({.rows = 200, .columns = 200});
  REQUIRE(whole);
  const TileFacts facts = make_tile_facts(*whole);
  CHECK(facts.high_weight == doctest::Approx(0.00506));
  CHECK(fitted_range(facts, view::ScaleSpread::Linear).high == doctest::Approx(0.0051));
  CHECK(fitted_range(facts, view::ScaleSpread::Root).high == 1.0F);  // where 0.005 is at 7 % of the colours
  REQUIRE(stage.items.contains("head.fit_range"));
  stage.feed(shell::click_at(in(stage.rect("head.fit_range"), 0.5F, 0.5F)));
  REQUIRE(limits.contains(Stage::Weights));
  CHECK(limits.at(Stage::Weights) == view::ValueLimits{.low = 0.0F, .high = 1.0F});
  stage.settle();
  // The fixed range hides this map, and the click gives it up.
  REQUIRE(stage.items.contains("head.fit_range"));
  stage.feed(shell::click_at(in(stage.rect("head.fit_range"), 0.5F, 0.5F)));
  CHECK(limits.empty());
  // Another run has its own range: nothing of the long text's is left.
  stage.make_tile = {};
  stage.result.tiles.clear();
  stage.state.text() = "one two three four";
  stage.settle();
  CHECK(limits.empty());
  CHECK_FALSE(stage.items.contains("head.fit_range"));
  const attention::Tile* brief = stage.result.tile({.rows = 4, .columns = 4});
  REQUIRE(brief);
  CHECK(fitted_range(make_tile_facts(*brief), view::ScaleSpread::Linear).high == largest_weight(*brief));
}

TEST_CASE("the logarithmic scale is one click, and the cells' colours follow it") {
  PanelStage stage;
  stage.make_tile = mostly_dark;
  stage.state.text() = words(30);
  stage.state.playground().settings.layers = 1;
  stage.state.view.show_numbers = false;
  stage.state.view.color_limits[Stage::Weights] = {.low = 0.0F, .high = 1.0F};
  stage.settle();
  const view::Rect map = stage.rect("head.map");
  const glm::vec2 cell = in(map, 0.55F, 0.55F);  // the middle of one
  const auto color = [&] {
    return stage.shell.ui.read_pixels().at(static_cast<std::uint32_t>(cell.x), static_cast<std::uint32_t>(cell.y));
  };
  const std::uint32_t linear = color();
  const glm::vec2 box = in(stage.rect("head.spread.2"), 0.5F, 0.5F);
  stage.feed(shell::click_at(box));
  CHECK(stage.state.view.color_spread == view::ScaleSpread::Log);
  const std::uint32_t logarithmic = color();
  // 0.005 of 0.0001 … 1 is at 42 % of the colours, and at 0.5 % of the linear ones.
  shell::HeatmapImage image;
  image.color_map = weight_colors(stage.state);
  image.high = 1.0F;
  CHECK(shell::largest_difference(linear, color_of(image, 0.005F)) <= 3);
  image.spread = view::ScaleSpread::Log;
  CHECK(shell::largest_difference(logarithmic, color_of(image, 0.00503F)) <= 3);
  CHECK(shell::largest_difference(logarithmic, linear) > 40);
  stage.settle();
}

TEST_CASE("a mean over heads has its title, no gain, weights or norms, and a thumbnail ends it") {
  PanelStage stage;
  stage.settle();
  CHECK(stage.items.contains("head.gain"));
  stage.state.selection.mean = HeadMean::Layer;
  stage.state.view.heatmap_stage = Stage::Scores;
  stage.settle();
  CHECK_FALSE(stage.items.contains("head.gain"));
  CHECK_FALSE(stage.items.contains("head.stage.0"));
  CHECK(stage.items.contains("head.mean_stage.1"));  // weights, or their norms
  CHECK(std::ranges::any_of(stage.tile_queries, [](const TileQuery& query) { return query.quantity == kMeanOfLayer; }));
  const view::Rect map = stage.rect("head.map");
  stage.feed({shell::MouseMove{map.center()}});
  stage.settle();
  // There is no mask that a brush could paint: a click pins.
  stage.transient.paints = true;
  stage.feed(shell::click_at(map.center()));
  CHECK(stage.state.view.pinned);
  CHECK(stage.state.masks[model::BlockKind::EncoderSelf].painted.empty());
  const glm::vec2 thumbnail = in(stage.rect("grid.encoder.0.2"), 0.5F, 0.5F);
  stage.feed(shell::click_at(thumbnail));
  CHECK(stage.state.selection.mean == HeadMean::None);
  CHECK(stage.state.selection.head == 2);
}

TEST_CASE("the steps begin with the parts of token vectors; all heads side by side are the heads' numbers") {
  PanelStage stage({1400, 4000});
  stage.state.view.tab = "steps";
  select_preset(stage.state, "notebook-002");
  stage.settle();
  for (const char* name : {"steps.token_vectors", "steps.positions", "steps.x", "steps.q", "steps.attention_sum",
                           "steps.attended", "steps.w_1", "steps.ffn_hidden", "steps.ffn_sum", "steps.next"}) {
    CAPTURE(name);
    CHECK(stage.items.contains(name));
  }
  CHECK_FALSE(stage.items.contains("steps.all_q"));
  stage.feed(shell::click_at(in(stage.rect("steps.heads.1"), 0.5F, 0.5F)));
  stage.settle();
  for (const char* name : {"steps.all_q", "steps.all_k", "steps.all_v", "steps.all_heads"}) {
    CAPTURE(name);
    CHECK(stage.items.contains(name));
  }
  CHECK_FALSE(stage.items.contains("steps.q"));
  Frame frame{.ui = stage.shell.ui,
              .state = stage.state,
              .transient = stage.transient,
              .result = stage.result,
              .queries = stage.queries};
  const HeadSubject subject = selected_subject(frame);
  const auto values = [&](StepMatrix matrix) {
    const auto size = size_of(matrix, subject);
    REQUIRE(size);
    const StepValues::Known* known =
        stage.steps.values.find(frame, matrix, subject, {.rows = size->rows, .columns = size->columns});
    REQUIRE(known);
    return known->tile.values;
  };
  const auto stage_values = [&](attention::Stage shown) {
    const auto extent = *subject.geometry.shape.extent(shown);
    const EngineTile* known = frame.ask(
        TileQuery{.quantity = shown, .block = subject.block, .rows = extent.rows, .columns = extent.columns, .pool = 1});
    REQUIRE(known);
    return known->tile->values;
  };
  CHECK(values(StepMatrix::Other::AllHeads) == stage_values(attention::Stage::Merged));
  const std::vector<float> tokens = values(StepMatrix::Other::TokenVectors);
  const std::vector<float> positions = values(StepMatrix::Other::PositionVectors);
  const std::vector<float> x = stage_values(attention::Stage::X);
  REQUIRE(tokens.size() == x.size());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(tokens[i] + positions[i] - x[i]) < 1e-6F);  // seen: 0
}

TEST_CASE("the steps have the weights between their matrices, and large ones scroll") {
  PanelStage stage({1400, 1500});
  stage.state.view.tab = "steps";
  stage.state.text() = words(100);
  stage.state.playground().settings = {.d_model = 256, .heads = 4, .layers = 1};
  stage.settle();
  for (const char* name : {"steps.w_q", "steps.w_k", "steps.w_v", "steps.w_o"}) CHECK(stage.items.contains(name));
  CHECK_FALSE(stage.items.contains("steps.memory"));
  stage.settle();
  // Once a cell was clicked, the wheel over the cells moves their first row, a drag of the bar far more; a cell's number is
  // the weight's.
  const glm::vec2 cells = in(stage.rect("steps.w_q"), 0.5F, 0.5F);
  stage.feed(shell::click_at(cells));
  stage.feed({shell::MouseWheel{.steps = {0.0F, -1.0F}}});
  const StepMatrix weight = StepMatrix::Other::QueryWeight;
  REQUIRE(stage.steps.scrolls.contains(weight));
  const std::uint32_t wheeled = stage.steps.scrolls.at(weight).row.value_or(0);
  CHECK(wheeled > 0);
  const view::Rect bar = stage.rect("steps.w_q.rows");
  const glm::vec2 from = in(bar, 0.5F, 0.1F);
  stage.feed(shell::drag(from, {from.x, bar.end().y}));
  CHECK(stage.steps.scrolls.at(weight).row.value_or(0) > 200);
  Frame frame{.ui = stage.shell.ui,
              .state = stage.state,
              .transient = stage.transient,
              .result = stage.result,
              .queries = stage.queries};
  const StepValues::Known* known =
      stage.steps.values.find(frame, weight, selected_subject(frame), {.row = 250, .rows = 1, .column = 3, .columns = 1});
  REQUIRE(known);
  std::vector<float> row(256);
  stage.result.network->layer({}).weights->query.weight.read(3, 1, row);
  CHECK(known->tile.values.front() == row[250]);
}

TEST_CASE("a clicked cell stays explained, its terms open in a list, and the whole is copied") {
  PanelStage stage({1400, 1200});
  stage.state.view.tab = "steps";
  stage.settle();
  const glm::vec2 cell = in(stage.rect("steps.q"), 0.3F, 0.3F);
  stage.feed(shell::click_at(cell));
  REQUIRE(stage.steps.held);
  CHECK(stage.steps.held->matrix == StepMatrix(Stage::Q));
  stage.feed({shell::MouseMove{{3.0F, 3.0F}}});
  REQUIRE(stage.items.contains("arithmetic.copy"));
  const glm::vec2 copy = in(stage.rect("arithmetic.copy"), 0.5F, 0.5F);
  stage.feed(shell::click_at(copy));
  const std::string text = ImGui::GetClipboardText();
  CHECK(text.starts_with("Q["));
  const std::uint32_t d_model = stage.result.shapes.begin()->second.d_model;
  CHECK(static_cast<std::uint32_t>(std::ranges::count(text, '+')) + 1 >= d_model);
  const glm::vec2 all = in(stage.rect("arithmetic.all"), 0.5F, 0.5F);
  stage.feed(shell::click_at(all));
  CHECK(stage.steps.shows_all_terms);
  CHECK(stage.items.contains("arithmetic.term.0"));
  stage.settle();
  stage.feed(shell::click_at(cell));
  CHECK_FALSE(stage.steps.held);
}

TEST_SUITE_END();

}  // namespace map_range_test
