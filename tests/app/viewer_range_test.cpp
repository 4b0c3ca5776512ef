// The colour range of the big map: dragged on its bar, typed, logarithmic, fitted to long texts.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "app/shell_stage.h"
#include "app/state/map_settings.h"
#include "app/ui_driver.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/shown_tile.h"
#include "support/expressions.h"

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

  TEST_CASE("the colours of a long text fit by themselves and say so, a click shows all, and a fixed range can be fitted") {
    // One row that looks at one key, and 199 that look at all nearly alike: from 500 / 100,594 to 506 / 100,594.
    UiDriver ui(with_scores(200, "q == 0 ? (k == 0 ? 100.0 : -100.0) : log(500.0 + float(k % 7))"));
    const auto& limits = ui.state().view.color_limits;
    CHECK(limits.empty());
    const TileFacts facts = make_tile_facts(weights(ui));
    CHECK(facts.high_weight == doctest::Approx(506.0 / 100'594.0));
    CHECK(fitted_range(facts, chart::ScaleSpread::Linear).high == doctest::Approx(0.0051));
    CHECK(fitted_range(facts, chart::ScaleSpread::Root).high == 1.0F);  // where 0.005 is at 7 % of the colours
    REQUIRE(ui.sees("head.fit_range"));
    ui.click("head.fit_range");
    REQUIRE(limits.contains(Stage::Weights));
    CHECK(limits.at(Stage::Weights) == chart::ValueLimits{.low = 0.0F, .high = 1.0F});
    // The fixed range hides this map, and the click gives it up.
    REQUIRE(ui.sees("head.fit_range"));
    ui.wait(2.0);
    ui.click("head.fit_range");
    CHECK(limits.empty());
    // Another run has its own range: nothing of the long text's is left.
    ui.press(Key::R, shell::kControlShift);
    ui.fill_in("text.edit", "one two three four");
    CHECK(limits.empty());
    CHECK_FALSE(ui.sees("head.fit_range"));
    const attention::Tile& brief = weights(ui);
    REQUIRE(brief.request.columns == 4);
    CHECK(fitted_range(make_tile_facts(brief), chart::ScaleSpread::Linear).high == largest_weight(brief));
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
