// The colour range of the big map: dragged on its bar, typed, logarithmic, fitted to long texts.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "app/engine/analyses/value_reach.h"
#include "app/engine/gpu_runner.h"
#include "app/models/starter_view.h"
#include "app/shell_stage.h"
#include "app/state/map_settings.h"
#include "app/ui_driver.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/shown_tile.h"
#include "core/file.h"
#include "export/figure_frame.h"
#include "support/expressions.h"
#include "support/svg_words.h"
#include "support/temporary_directory.h"

namespace viewer_range_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;
using shell::Key;

namespace {

/// One layer whose scores are these, whatever the text says.
State with_scores(std::uint32_t tokens, std::string_view expression) {
  State state = with_text(words(tokens));
  state.playground().settings.layers = 1;
  state.masks[model::BlockKind::EncoderSelf].score_expression = test::score_expression(expression);
  return state;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the top of the colour bar can be dragged down, the wheel moves it, a double click fits again") {
    UiDriver ui;
    const auto& limits = ui.state().view.color_limits;
    const float largest = largest_weight(weights(ui));
    const chart::Rect bar = ui.rect("head.range_bar");
    const auto on_bar = [&](float down) { return bar.origin + bar.size * glm::vec2(0.5F, down); };
    ui.feed(shell::drag(on_bar(0.05F), on_bar(0.55F)));
    REQUIRE(limits.contains(Stage::Weights));
    const chart::ValueLimits dragged = limits.at(Stage::Weights);
    CHECK(dragged.low == 0.0F);
    CHECK(dragged.high < 0.6F * largest);
    CHECK(dragged.high > 0.3F * largest);
    // The bottom moves up, and the ends never cross.
    ui.feed(shell::drag(on_bar(0.95F), on_bar(0.5F)));
    CHECK(limits.at(Stage::Weights).low > 0.0F);
    CHECK(limits.at(Stage::Weights).low < limits.at(Stage::Weights).high);
    // The drag begins at another place: at the same one it would be a double click.
    ui.feed(shell::drag(on_bar(0.8F), on_bar(-1.0F)));
    CHECK(limits.at(Stage::Weights).low < limits.at(Stage::Weights).high);
    ui.feed(shell::click_at(on_bar(0.4F)));
    ui.feed(shell::click_at(on_bar(0.4F)));
    CHECK(limits.empty());
    ui.feed({shell::MouseMove{on_bar(0.4F)}, shell::MouseWheel{.steps = {0.0F, 1.0F}}});
    REQUIRE(limits.contains(Stage::Weights));
    CHECK(limits.at(Stage::Weights).high == doctest::Approx(largest / 1.25F));
    // Scores have both signs: their ends move together.
    ui.click("head.stage.0");
    ui.feed(shell::drag(on_bar(0.05F), on_bar(0.3F)));
    REQUIRE(limits.contains(Stage::Scores));
    CHECK(limits.at(Stage::Scores).low == -limits.at(Stage::Scores).high);
    CHECK(limits.contains(Stage::Weights));
  }

  TEST_CASE("however often the ends are moved, the limits stay finite and apart") {
    for (const Stage shown : {Stage::Weights, Stage::Scores}) {
      for (const chart::ScaleSpread spread :
           {chart::ScaleSpread::Linear, chart::ScaleSpread::Root, chart::ScaleSpread::Log}) {
        CAPTURE(shown);
        CAPTURE(spread);
        State state;
        state.view.heatmap_stage = shown;
        state.set(kMapView.color_spread, spread);
        UiDriver ui(state);
        ui.resize(900, 640);
        const chart::Rect bar = ui.rect("head.range_bar");
        bool are_sound = true;
        double now_s = 1000.0;
        const auto feed = [&](const std::vector<shell::InputEvent>& events) {
          ui.ui().feed(events);
          while (ui.ui().has_pending_input()) ui.window().frame({900, 640}, 1.0F, now_s += 0.5);
          const auto limits = ui.state().view.color_limits.find(shown);
          if (limits == ui.state().view.color_limits.end()) return;
          const auto [low, high] = limits->second;
          are_sound = are_sound && std::isfinite(low) && std::isfinite(high) && low < high;
        };
        for (const float to : {2'000.0F, -2'000.0F}) {
          for (int i = 0; i < 40; ++i) {
            const glm::vec2 from = bar.origin + bar.size * glm::vec2(0.5F, to > 0.0F ? 0.05F : 0.7F);
            feed(shell::drag(from, {from.x, from.y + to}));
          }
        }
        CHECK(ui.state().view.color_limits.contains(shown));
        for (const float wheel : {40.0F, -40.0F}) {
          for (int i = 0; i < 40; ++i) feed({shell::MouseMove{bar.center()}, shell::MouseWheel{.steps = {0.0F, wheel}}});
        }
        CHECK(are_sound);
      }
    }
  }

  TEST_CASE("a fixed range is typed, stays for other heads, layers and texts, and is given up for the map's own") {
    UiDriver ui;
    const auto& limits = ui.state().view.color_limits;
    const auto choose = [&](const char* kind) {
      ui.click("head.range");
      ui.click(kind);
    };
    const auto type = [&](const char* field, const std::string& text) {
      ui.wait(2.0);  // a click soon after another one is a double click
      ui.click(field);
      ui.type(text);  // a click selects what was there
      ui.click("head.title");
    };
    const float largest = largest_weight(weights(ui));
    choose("head.range.2");
    REQUIRE(limits.contains(Stage::Weights));
    CHECK(limits.at(Stage::Weights).high == largest);  // as it was shown
    type("head.range.high", "0.25");
    type("head.range.low", "0.125");
    const chart::ValueLimits typed{.low = 0.125F, .high = 0.25F};
    CHECK(limits.at(Stage::Weights) == typed);
    // Limits that no bar can show change nothing.
    for (const char* text : {"0.1", "-1", "7", "nan"}) type("head.range.high", text);
    CHECK(limits.at(Stage::Weights) == typed);
    ui.click("grid.encoder.1.1");
    ui.fill_in("text.edit", "another text");
    CHECK(limits.at(Stage::Weights) == typed);
    shell::HeatmapImage image;
    set_weight_colors(image, ui.state(), {}, false);
    CHECK(image.low == 0.125F);
    CHECK(image.high == 0.25F);
    // Each row's own range forgets nothing.
    choose("head.range.1");
    CHECK(ui.state()[kMapView.color_range] == ColorRange::PerRow);
    choose("head.range.2");
    CHECK(limits.at(Stage::Weights) == typed);
    const State fixed = ui.state();
    choose("head.range.0");
    CHECK(limits.empty());
    CHECK(describe_change(fixed, ui.state()).label == "Change colour range");
    // Scores have one number.
    ui.click("head.stage.0");
    choose("head.range.2");
    CHECK_FALSE(ui.sees("head.range.low"));
    type("head.range.reach", "2.5");
    CHECK(limits.at(Stage::Scores) == chart::ValueLimits{.low = -2.5F, .high = 2.5F});
    // Words have the same range as tokens.
    ui.click("head.stage.3");
    ui.click("head.shown");
    ui.click("head.shown.groups_words");
    REQUIRE(ui.sees("head.words"));
    choose("head.range.2");
    CHECK(limits.contains(Stage::Weights));
  }

  TEST_CASE("the quantile is offered where a long text is dark, and never chosen by itself") {
    // One row that looks at one key, and 199 that look at all nearly alike: from 500 / 100,594 to 506 / 100,594.
    UiDriver ui(with_scores(200, "q == 0 ? (k == 0 ? 100.0 : -100.0) : log(500.0 + float(k % 7))"));
    const auto& limits = ui.state().view.color_limits;
    const TileFacts facts = make_tile_facts(weights(ui));
    CHECK(facts.high_weight == doctest::Approx(506.0 / 100'594.0));
    CHECK(weight_limits(facts, ColorRange::Largest).high == 1.0F);  // the first row sees other keys too
    CHECK(weight_limits(facts, ColorRange::Quantile).high == facts.high_weight);
    CHECK(ui.state()[kMapView.color_range] == ColorRange::Largest);
    REQUIRE(ui.sees("head.fit_range"));
    ui.click("head.fit_range");
    CHECK(ui.state()[kMapView.color_range] == ColorRange::Quantile);
    REQUIRE(ui.sees("head.fit_range"));
    const TemporaryDirectory folder;
    const auto figure_words = [&] {
      ui.window().write_figure(folder.path() / "map.svg");
      return test::svg_words(read_file(folder.path() / "map.svg"));
    };
    CHECK(figure_words().find("to 98 %") != std::string::npos);
    ui.wait(2.0);
    ui.click("head.fit_range");
    CHECK(ui.state()[kMapView.color_range] == ColorRange::Largest);
    CHECK(figure_words().find("to 98 %") == std::string::npos);
    // A fixed range that hides the map is given up by a click.
    ui.wait(2.0);
    ui.click("head.range");
    ui.click("head.range.unit");
    CHECK(limits.at(Stage::Weights) == chart::ValueLimits{.low = 0.0F, .high = 1.0F});
    ui.click("head.range");
    ui.click("head.range.3");
    CHECK(limits.empty());
    CHECK(ui.state()[kMapView.color_range] == ColorRange::Quantile);
    ui.click("head.range");
    ui.click("head.range.0");
    ui.press(Key::R, shell::kControlShift);
    ui.fill_in("text.edit", "one two three four");
    CHECK_FALSE(ui.sees("head.fit_range"));
  }

  TEST_CASE(
      "a head's colours end at its largest weight in map, thumbnail, pair and figure, of a short text and a long one") {
    const std::string caption = "A man in a red shirt rides a horse. ";
    std::string longer;
    for (int i = 0; i < 13; ++i) longer += caption;
    for (const std::string& text : {caption + "A man in a red shirt rides a", longer}) {
      CAPTURE(text);
      State state;
      change_to_model(state, find_bundled_model("captions-gpt2")->string());
      state.model().text = text;
      state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
      state.selection.block.layer = {0};
      state.selection.head = 5;
      UiDriver ui(state, open_gpu_runner);
      const attention::Tile map = weights(ui);
      float largest = 0.0F;  // of all rows but the first, which sees itself alone
      for (std::uint32_t row = 1; row < map.request.rows; ++row) {
        for (std::uint32_t key = 0; key <= row; ++key) largest = std::max(largest, map.at(row, key));
      }
      REQUIRE(map.at(0, 0) == 1.0F);
      CHECK(largest > 0.9F);
      std::size_t tiles = 0;
      for (const char* view : {"head", "lines", "steps", "block", "model", "side_by_side"}) {
        CAPTURE(view);
        ui.show(view);
        ui.settle();
        for (const auto& [query, known] : ui.result().tiles) {
          const bool is_of_head =
              query.quantity == QuantityId(Stage::Weights) && query.block.layer.value == 0 && query.head == 5;
          if (!is_of_head || !ui.result().is_current(query)) continue;
          CHECK(weight_limits(*known.facts, ColorRange::Largest).high == doctest::Approx(largest).epsilon(1e-6));
          CHECK(exporting::scale_of(exporting::make_map(*known.tile), {.scale = chart::ScaleKind::Maximum}).high ==
                doctest::Approx(largest).epsilon(1e-6));
          ++tiles;
        }
      }
      CHECK(tiles > 6);
      ui.show("head");
      const TemporaryDirectory folder;
      ui.window().write_figure(folder.path() / "map.svg");
      const std::string words = test::svg_words(read_file(folder.path() / "map.svg"));
      CAPTURE(words);
      CHECK(words.find(fmt::format(" {:.2f} ", largest)) != std::string::npos);
    }
  }

  TEST_CASE(
      "rows that see a single key are set aside: of causal masks, documents and padding, in sharp maps and pooled ones") {
    State state = with_scores(300, "0.0");
    attention::MaskSpec& mask = state.masks[model::BlockKind::EncoderSelf];
    mask.rule.causal = true;
    attention::set_documents(mask, 0, {7, 100});
    state.text() += "\none two";
    std::size_t pooled = 0;
    const auto ui = std::make_unique<UiDriver>(state);
    for (const auto& [query, known] : ui->result().tiles) {
      if (query.quantity != QuantityId(Stage::Weights) || query.batch != 0 || !ui->result().is_current(query)) continue;
      CHECK(known.facts->largest_weight == doctest::Approx(0.5F));
      if (!query.is_exact()) ++pooled;
    }
    CHECK(pooled > 0);
  }

  TEST_CASE("where no row sees two keys, all of them count") {
    State state = with_scores(5, "0.0");
    state.masks[model::BlockKind::EncoderSelf].rule.window = 1;
    UiDriver ui(state);
    CHECK(weight_limits(make_tile_facts(weights(ui)), ColorRange::Largest).high == 1.0F);
  }

  TEST_CASE("scores have one range for all heads of the run, in map and figure") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.model().text = "A man in a red shirt rides a horse.";
    state.view.heatmap_stage = Stage::Scores;
    UiDriver ui(state, open_gpu_runner);
    const auto question = reach_question(Stage::Scores, model::BlockKind::EncoderSelf, 0);
    REQUIRE(question);
    const TemporaryDirectory folder;
    for (const char* head : {"grid.encoder.0.5", "grid.encoder.3.1"}) {
      CAPTURE(head);
      ui.click(head);
      const Analysed* answer = ui.result().analysed(*question);
      REQUIRE(answer);
      const auto* found = answer->as<ValueReach>();
      REQUIRE(found);
      CHECK(found->reach > 1.0F);
      ui.click("head.range");
      ui.click("head.range.2");  // as it is shown
      CHECK(ui.state().view.color_limits.at(Stage::Scores).high == found->reach);
      ui.click("head.range");
      ui.click("head.range.0");
      ui.window().write_figure(folder.path() / "map.svg");
      const std::string words = test::svg_words(read_file(folder.path() / "map.svg"));
      CAPTURE(words);
      CHECK((words.find(fmt::format(" {:.0f} ", found->reach)) != std::string::npos ||
             words.find(fmt::format(" {:.1f} ", found->reach)) != std::string::npos));
    }
    float largest = 0.0F;
    for (const std::uint32_t layer : {0U, 1U, 2U, 3U}) {
      for (std::uint32_t head = 0; head < 8; ++head) {
        ui.click(fmt::format("grid.encoder.{}.{}", layer, head));
        for (const auto& [query, known] : ui.result().tiles) {
          if (query.quantity != QuantityId(Stage::Scores) || !ui.result().is_current(query)) continue;
          largest = std::max({largest, -known.facts->range.low, known.facts->range.high});
        }
      }
    }
    CHECK(largest == ui.result().analysed(*question)->as<ValueReach>()->reach);
  }

  TEST_CASE("the logarithmic scale is one click, and the cells' colours follow it") {
    // Key 0 has the rest of each row: 1 - 29 * 0.005.
    State state = with_scores(30, "k == 0 ? log(0.855) : log(0.005)");
    state.set(kMapView.show_numbers, false);
    state.view.color_limits[Stage::Weights] = {.low = 0.0F, .high = 1.0F};
    UiDriver ui(state);
    const glm::vec2 cell = ui.at("head.map", 0.55F, 0.55F);  // the middle of one
    const auto color = [&] {
      return ui.ui().read_pixels().at(static_cast<std::uint32_t>(cell.x), static_cast<std::uint32_t>(cell.y));
    };
    const std::uint32_t linear = color();
    ui.click("view.color_spread.2");
    CHECK(ui.state()[kMapView.color_spread] == chart::ScaleSpread::Log);
    const std::uint32_t logarithmic = color();
    // 0.005 of 0.0001 … 1 is at 42 % of the colours, and at 0.5 % of the linear ones.
    shell::HeatmapImage image;
    image.color_map = weight_colors(ui.state());
    image.high = 1.0F;
    CHECK(shell::largest_difference(linear, color_of(image, 0.005F)) <= 3);
    image.spread = chart::ScaleSpread::Log;
    CHECK(shell::largest_difference(logarithmic, color_of(image, 0.005F)) <= 3);
    CHECK(shell::largest_difference(logarithmic, linear) > 40);
  }
}

}  // namespace viewer_range_test
