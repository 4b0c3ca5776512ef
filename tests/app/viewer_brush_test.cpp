// The brush: cells, shapes, biases and patterns painted on the map.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>

#include "app/state/map_settings.h"
#include "app/state/model_changes.h"
#include "app/state/session_file.h"
#include "app/ui_driver.h"
#include "support/temporary_directory.h"

namespace viewer_brush_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;

TEST_SUITE("gpu") {
  TEST_CASE("the brush masks a cell, the weights follow, undo shows it again") {
    UiDriver ui;
    CHECK_FALSE(weights(ui).is_masked(2, 4));
    ui.paint_cell(2, 4);
    CHECK(ui.state().masks.by_kind[0].painted.size() == 1);
    CHECK(weights(ui).is_masked(2, 4));
    CHECK(weights(ui).at(2, 4) == 0.0F);
    ui.press(Key::Z, kControl);
    CHECK(ui.state().masks.by_kind[0].painted.empty());
    CHECK_FALSE(weights(ui).is_masked(2, 4));
    ui.press(Key::Y, kControl);
    CHECK(weights(ui).is_masked(2, 4));
    ui.wait(2.0);
    ui.paint_cell(2, 4);
    CHECK(ui.state().masks.by_kind[0].painted.empty());
  }

  TEST_CASE("with the brush a click masks a cell, another one shows it again, a drag goes on with what it began") {
    UiDriver ui;
    ui.press(Key::B);
    const auto cell = [&](std::uint32_t row, std::uint32_t column) {
      return ui.at("head.map", (static_cast<float>(column) + 0.5F) / 6.0F, (static_cast<float>(row) + 0.5F) / 6.0F);
    };
    const auto is_visible = [&](std::uint32_t row, std::uint32_t column) {
      return ui.state().masks[model::BlockKind::EncoderSelf].is_visible(0, 0, 0, row, column, 6);
    };
    ui.feed(shell::click_at(cell(1, 4)));
    CHECK_FALSE(is_visible(1, 4));
    CHECK(is_visible(4, 1));
    ui.feed(shell::click_at(cell(1, 4)));
    CHECK(is_visible(1, 4));
    ui.feed(shell::drag(cell(2, 0), cell(2, 5)));
    for (std::uint32_t column = 0; column < 6; ++column) CHECK_FALSE(is_visible(2, column));
    // The row has no weights now; over visible cells, too, a drag that began on a masked cell shows.
    ui.feed(shell::drag(cell(2, 0), cell(5, 0)));
    for (std::uint32_t row = 2; row < 6; ++row) CHECK(is_visible(row, 0));
    ui.feed(shell::drag(cell(4, 1), cell(4, 3), shell::kShift));
    CHECK(is_visible(4, 1));  // shift pans
  }

  TEST_CASE("the brush paints rows, columns, diagonals and rectangles") {
    UiDriver ui;
    const auto painted = [&] { return attention::painted_count(ui.state().masks.by_kind[0].painted); };
    const inference::BlockShape shape = ui.result().shapes.at(ui.state().selection.block);
    REQUIRE(shape.queries >= 5);
    const std::pair<const char*, std::size_t> shapes[] = {{"mask.brush_shape.1", shape.keys},
                                                          {"mask.brush_shape.2", shape.queries},
                                                          {"mask.brush_shape.3", shape.queries - 2}};
    for (const auto& one : shapes) {
      const char* name = one.first;
      CAPTURE(name);
      ui.press(Key::B);
      ui.click(name);
      ui.paint_cell(2, 4);
      CHECK(painted() == one.second);
      CHECK(weights(ui).is_masked(2, 4));
      ui.wait(2.0);
      ui.paint_cell(2, 4);
      CHECK(painted() == 0);
    }
    ui.press(Key::B);
    ui.click("mask.brush_shape.4");
    const chart::Rect map = ui.rect("head.map");
    const auto middle = [&](std::uint32_t query, std::uint32_t key) {
      const glm::vec2 cell{(static_cast<float>(key) + 0.5F) / static_cast<float>(shape.keys),
                           (static_cast<float>(query) + 0.5F) / static_cast<float>(shape.queries)};
      return map.origin + map.size * cell;
    };
    ui.feed(shell::drag(middle(1, 1), middle(2, 3)));
    CHECK(painted() == 6);
    CHECK(weights(ui).is_masked(1, 1));
    CHECK(weights(ui).is_masked(2, 3));
    CHECK_FALSE(weights(ui).is_masked(2, 4));
    ui.press(Key::Z, kControl);
    CHECK(painted() == 0);
  }

  TEST_CASE("the brush puts biases onto scores and takes them away again") {
    UiDriver ui;
    const float before = weights(ui).at(2, 4);
    REQUIRE(before > 0.0F);
    ui.press(Key::B);
    ui.click("mask.brush_ink.1");
    CHECK(ui.sees("mask.bias"));
    ui.paint_cell(2, 4);
    const attention::MaskSpec& mask = ui.state().masks.by_kind[0];
    CHECK(attention::painted_count(mask.biases) == 1);
    CHECK(mask.painted.empty());
    const float bias = ui.state()[kBrush.bias], grown = before * std::exp(bias);
    CHECK(std::abs(weights(ui).at(2, 4) - grown / (1.0F - before + grown)) < 1e-6F);  // observed 0
    CHECK(model_changes(ui.state()).find("1 bias painted") != std::string::npos);
    ui.wait(2.0);
    ui.paint_cell(2, 4);  // what is there already is taken away
    CHECK(mask.biases.empty());
    CHECK(weights(ui).at(2, 4) == before);
    ui.press(Key::Z, kControl);
    CHECK(attention::painted_count(mask.biases) == 1);
    ui.click("mask.reset");
    CHECK(mask.biases.empty());
  }

  TEST_CASE("the brush paints the pattern by which a head attends, row by row") {
    UiDriver ui;
    const float other = weights(ui).at(1, 4);
    ui.press(Key::B);
    ui.click("mask.brush_ink.2");
    CHECK(ui.sees("mask.weight"));
    ui.paint_cell(2, 4);
    ui.paint_cell(2, 0);
    CHECK(weights(ui).at(2, 4) == 0.5F);  // two painted weights alike
    CHECK(weights(ui).at(2, 0) == 0.5F);
    CHECK(weights(ui).at(2, 1) == 0.0F);
    CHECK(weights(ui).at(1, 4) == other);
    CHECK(ui.state().masks == attention::MaskSet{});
    ui.press(Key::Z, kControl);
    ui.press(Key::Z, kControl);
    CHECK(ui.state().patterns.empty());
  }

  TEST_CASE("a session's mask matrix that is smaller than the map: hovering and painting beyond it work") {
    UiDriver ui;
    State session = ui.state();
    session.masks[model::BlockKind::EncoderSelf].matrix =
        attention::BooleanMask{.queries = 2, .keys = 2, .keep = {0, 0, 0, 0}};
    const TemporaryDirectory folder;
    save_session(folder.path() / "small.headlight.json", session);
    ui.window().open_files({(folder.path() / "small.headlight.json").string()});
    ui.settle();  // the engine refuses the mask, the map on screen is the previous run's
    REQUIRE(ui.state().masks[model::BlockKind::EncoderSelf].matrix);
    const inference::BlockShape shape = ui.result().shapes.at(ui.state().selection.block);
    REQUIRE(shape.queries > 2);
    for (std::uint32_t query = 0; query < shape.queries; ++query) ui.click_cell(query, shape.keys - 1);
    ui.paint_cell(shape.queries - 1, 0);
    CHECK(attention::painted_count(ui.state().masks[model::BlockKind::EncoderSelf].painted) == 1);
    ui.press(Key::R, kControlShift);
    CHECK(ui.state().masks == attention::MaskSet{});
    CHECK_FALSE(weights(ui).is_masked(2, 4));
  }

  TEST_CASE("a click without the brush pins a cell, a second one unpins it, and neither masks") {
    UiDriver ui;
    ui.click_cell(2, 4);
    CHECK(ui.state().view.pinned == attention::Cell{.query = 2, .key = 4});
    ui.click_cell(1, 3);
    CHECK(ui.state().view.pinned == attention::Cell{.query = 1, .key = 3});
    ui.click_cell(1, 3);
    CHECK_FALSE(ui.state().view.pinned);
    CHECK(ui.state().masks == attention::MaskSet{});
    CHECK_FALSE(weights(ui).is_masked(2, 4));
  }

  TEST_CASE("the brush is a tool: B, its button and its switch take it up, a line says so, Esc lays it down") {
    UiDriver ui;
    for (const auto& size : {std::pair{1024U, 640U}, {1300U, 800U}, {1600U, 1000U}}) {
      const auto& width = size.first;
      const auto& height = size.second;
      CAPTURE(width);
      ui.resize(width, height);
      const chart::Rect map = ui.rect("head.map");
      CHECK_FALSE(ui.sees("head.hint"));
      ui.press(Key::B);
      CHECK(ui.window().is_painting());
      CHECK(ui.sees("head.hint"));
      CHECK(ui.rect("head.map").origin.y == map.origin.y);  // nothing moves below the pointer
      if (width < 1600U) ui.press(Key::B);
    }
    ui.move_to("head.map");
    CHECK(ui.ui().pointer() == shell::MousePointer::Hidden);  // the brush is drawn in its place
    ui.press(Key::Escape);
    CHECK_FALSE(ui.window().is_painting());
    CHECK_FALSE(ui.sees("head.hint"));
    CHECK(ui.ui().pointer() == shell::MousePointer::Arrow);
    ui.click("head.brush");
    CHECK(ui.window().is_painting());
    ui.click("head.brush");
    CHECK_FALSE(ui.window().is_painting());
    ui.click("mask.brush");
    CHECK(ui.window().is_painting());
    ui.press(Key::B);
    CHECK_FALSE(ui.window().is_painting());
    ui.press(Key::Digit2);
    ui.press(Key::B);  // the brush is of the map
    CHECK(ui.state().view.tab == "head");
    CHECK(ui.window().is_painting());
    CHECK(ui.state().masks == attention::MaskSet{});
  }
}

}  // namespace viewer_brush_test
