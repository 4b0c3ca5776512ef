// The big map under pointer and keys: cells are named, pinned, moved and enlarged; its minimap, its search, its strongest
// cells, and the mean of several heads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/shell_stage.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "engine/fake_runner.h"

namespace viewer_map_test {

using namespace headlight;
using namespace headlight::app;
using attention::Cell;
using shell::Key;

namespace {

/// One layer of small heads.
State small(std::uint32_t tokens, std::uint32_t heads) {
  State state = with_text(words(tokens));
  state.playground().settings = {.d_model = 8, .heads = heads, .layers = 1};
  return state;
}

void turn_wheel(UiDriver& ui, glm::vec2 at, int steps) {
  ui.feed({shell::MouseMove{at}});
  for (int i = 0; i < steps; ++i) ui.feed({shell::MouseWheel{.steps = {0.0F, 1.0F}}});
}

/// The cell under the pointer, as the map's tooltip names it.
std::optional<Cell> pointed_cell(UiDriver& ui) {
  ui.settle();  // of a frame that is drawn only the changed rectangles are left
  if (!ui.sees("tooltip")) return std::nullopt;
  const std::string text = text_on_screen(ui.rect("tooltip"));
  const std::size_t query = text.rfind("query ");  // the tooltip is drawn last, above other text
  const std::size_t key = text.find("key ", std::min(query, text.size()));
  if (key == std::string::npos) return std::nullopt;
  const auto number = [&](std::size_t at) { return static_cast<std::uint32_t>(std::atoi(text.c_str() + at)); };
  return Cell{.query = number(query + 6), .key = number(key + 4)};
}

/// The cell at a place of the visible part of the map.
Cell cell_at(UiDriver& ui, float across, float down) {
  ui.feed({shell::MouseMove{ui.at("head.map", across, down)}});
  const std::optional<Cell> cell = pointed_cell(ui);
  REQUIRE(cell);
  return *cell;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the pointer names the cell, a click pins it, with the brush a right click") {
    UiDriver ui;
    const glm::vec2 at = ui.at("head.map", 3.2F / 6.0F, 0.1F / 6.0F);
    ui.feed({shell::MouseMove{at}});
    CHECK(pointed_cell(ui) == Cell{.query = 0, .key = 3});
    CHECK(ui.window().followed_query() == 0U);  // by all views
    for (const bool paints : {false, true}) {
      if (paints) ui.press(Key::B);
      const shell::MouseButton button = paints ? shell::MouseButton::Right : shell::MouseButton::Left;
      ui.feed(shell::click_at(at, button));
      CHECK(ui.state().view.pinned == Cell{.query = 0, .key = 3});
      if (paints) ui.click("menu.map.unpin");  // in the cell's menu, which the right button opens
      if (!paints) ui.feed(shell::click_at(at, button));
      CHECK_FALSE(ui.state().view.pinned);
    }
    CHECK(ui.state().masks == attention::MaskSet{});
    ui.feed({shell::MouseMove{{2.0F, 2.0F}}});
    CHECK_FALSE(pointed_cell(ui));
    CHECK_FALSE(ui.window().followed_query());
  }

  TEST_CASE("without the brush a drag moves the map and neither masks nor pins; a double click fits it") {
    UiDriver ui(with_text(words(40)));
    const chart::Rect fitted = ui.rect("head.map");
    const glm::vec2 middle = fitted.center();
    turn_wheel(ui, middle, 6);
    CHECK(ui.rect("head.map") != fitted);
    const std::optional<Cell> before = pointed_cell(ui);
    REQUIRE(before);
    ui.feed(shell::drag(middle, middle + glm::vec2(60.0F, 0.0F)));
    CHECK(pointed_cell(ui) == before);
    ui.feed({shell::MouseMove{middle}});
    REQUIRE(pointed_cell(ui));
    CHECK(pointed_cell(ui)->query == before->query);
    CHECK(pointed_cell(ui)->key < before->key);
    CHECK_FALSE(ui.state().view.pinned);
    CHECK(ui.state().masks == attention::MaskSet{});
    // Elsewhere: a click where the drag began would be the second one of a double click.
    const glm::vec2 elsewhere = middle + glm::vec2(80.0F, 0.0F);
    ui.feed(shell::click_at(elsewhere));
    CHECK(ui.state().view.pinned);
    ui.feed(shell::click_at(elsewhere));
    CHECK(ui.rect("head.map") == fitted);
    CHECK_FALSE(ui.state().view.pinned);
  }

  TEST_CASE("the wheel zooms where the pointer is, and only the visible cells are requested") {
    State state = with_text(words(400));
    state.playground().settings.layers = 1;
    UiDriver ui(state);
    const chart::Rect fitted = ui.rect("head.map");
    // ImGui cuts the pointer's place to whole units: one that is near the middle of a cell is in that cell after zooming.
    glm::vec2 at = glm::floor(ui.at("head.map", 0.75F, 0.25F));
    const auto cells = [&] { return (at - fitted.origin) / fitted.size * 400.0F; };
    while (std::abs(glm::fract(cells().x) - 0.5F) > 0.25F) ++at.x;
    while (std::abs(glm::fract(cells().y) - 0.5F) > 0.25F) ++at.y;
    const Cell kCell{.query = static_cast<std::uint32_t>(cells().y), .key = static_cast<std::uint32_t>(cells().x)};
    turn_wheel(ui, at, 0);
    CHECK(pointed_cell(ui) == kCell);
    turn_wheel(ui, at, 20);  // 38 times as large
    CHECK(pointed_cell(ui) == kCell);
    std::uint32_t fewest = 400 * 400;
    for (const auto& [query, known] : ui.result().tiles) {
      const bool is_part = query.quantity == QuantityId(attention::Stage::Weights) && query.head == 0 && query.pool == 1 &&
                           query.rows > 1 && query.columns > 1;
      const bool has_cell = query.row <= kCell.query && query.row + query.rows > kCell.query && query.column <= kCell.key &&
                            query.column + query.columns > kCell.key;
      if (is_part && has_cell) fewest = std::min(fewest, query.rows * query.columns);
    }
    CHECK(fewest <= 64 * 64);
    const std::size_t tiles = ui.result().tiles.size();
    ui.feed({shell::MouseClick{shell::MouseButton::Middle, true, {}}, shell::MouseMove{at + glm::vec2(3.0F, 2.0F)},
             shell::MouseClick{shell::MouseButton::Middle, false, {}}});
    CHECK(pointed_cell(ui) == kCell);              // the map moved with the pointer
    CHECK(ui.result().tiles.size() - tiles <= 3);  // at most the tooltip's cell and row
    ui.press(Key::Digit0);
    CHECK(ui.rect("head.map") == fitted);
  }

  TEST_CASE("while a zoomed-in tile is on its way, the whole map stays on screen") {
    const auto log = std::make_shared<FakeLog>();
    UiDriver ui(with_text(words(40)), fake_factory(log));
    const chart::Rect map = ui.rect("head.map");
    ui.move_to("head.map");
    const int evaluations = log->evaluations;
    log->is_held = true;
    for (int i = 0; i < 6; ++i) ui.ui().feed(shell::MouseWheel{.steps = {0.0F, 1.0F}});
    int frames = 0;
    ui.frames_until([&] { return ++frames > 12 && !ui.ui().has_pending_input(); });
    const shell::PixelImage pixels = ui.ui().read_pixels();
    const bool is_zoomed = ui.window().item_rect("head.map") != map;
    const int evaluated = log->evaluations - evaluations;
    log->is_held = false;  // before anything can fail: the window's end waits for it
    log->is_held.notify_all();
    CHECK(is_zoomed);
    CHECK(evaluated == 0);
    std::size_t missing = 0;
    for (std::uint32_t dx = 0; dx < 40; ++dx) {
      const auto color = pixels.at(static_cast<std::uint32_t>(map.origin.x + 30.0F) + dx,
                                   static_cast<std::uint32_t>(map.origin.y + 100.0F));
      missing += shell::largest_difference(color, ui.ui().theme().missing) <= 2 ? 1U : 0U;
    }
    CHECK(missing < 10);
  }

  TEST_CASE("a minimap appears where a map of many cells is zoomed in, and moves it") {
    UiDriver ui(small(200, 2));
    CHECK_FALSE(ui.sees("head.minimap"));
    turn_wheel(ui, ui.rect("head.map").center(), 10);
    REQUIRE(ui.sees("head.minimap"));
    const chart::Rect minimap = ui.rect("head.minimap");
    const chart::Rect zoomed = ui.rect("head.map");
    CHECK(minimap.origin.x > zoomed.center().x);
    CHECK(minimap.end().x < zoomed.end().x);
    CHECK(minimap.end().y < zoomed.center().y);
    const glm::vec2 inside(10.0F, 10.0F);
    const Cell before = cell_at(ui, 0.5F, 0.5F);
    ui.feed(shell::click_at({minimap.origin.x + inside.x, minimap.end().y - inside.y}));
    Cell now = cell_at(ui, 0.5F, 0.5F);
    CHECK(now.key + 20 < before.key);
    CHECK(now.query > before.query + 20);
    CHECK_FALSE(ui.state().view.pinned);  // the click was the minimap's
    ui.feed(shell::drag(minimap.origin + inside, {minimap.end().x - inside.x, minimap.origin.y + inside.y}));
    CHECK_FALSE(pointed_cell(ui));  // the cell below it isn't pointed at
    CHECK_FALSE(ui.window().followed_query());
    now = cell_at(ui, 0.5F, 0.5F);
    CHECK(now.key > before.key + 20);
    ui.press(Key::Digit0);
    CHECK_FALSE(ui.sees("head.minimap"));
  }

  TEST_CASE("the search goes from token to token, and shows each on a zoomed map") {
    UiDriver ui(small(200, 1));
    turn_wheel(ui, ui.rect("head.map").center(), 12);
    ui.press(Key::F, shell::kControl);
    ui.type("Y49");
    const auto check = [&](std::uint32_t token) {
      CAPTURE(token);
      CHECK(ui.state().view.pinned == Cell{.query = token, .key = token});
      const Cell first = cell_at(ui, 0.01F, 0.01F), last = cell_at(ui, 0.99F, 0.99F);
      CHECK(std::max(first.query, first.key) <= token);
      CHECK(std::min(last.query, last.key) >= token);
      CHECK(last.query - first.query < 50);  // or all would be shown anyway
    };
    for (const std::uint32_t token : {49U, 99U, 149U}) {
      ui.press(Key::Enter);
      check(token);
    }
    ui.press(Key::Enter, shell::kShift);
    check(99);
    ui.click("search.next");
    check(149);
    ui.click("search.previous");
    check(99);
    ui.click("search.close");
    CHECK_FALSE(ui.sees("search.text"));
    ui.press(Key::F3);  // which opens it again
    check(149);
    CHECK(ui.sees("search.text"));
  }

  TEST_CASE("the strongest cells of the map are pinned one after another, then those of its row") {
    UiDriver ui(small(30, 1));
    const attention::Tile map = weights(ui);
    std::vector<std::pair<float, Cell>> ranked;
    for (std::uint32_t row = 0; row < 30; ++row) {
      for (std::uint32_t key = 0; key < 30; ++key) ranked.emplace_back(-map.at(row, key), Cell{row, key});
    }
    std::ranges::sort(ranked);
    const auto seek = [&](Key key) {
      ui.wait(2.0);  // a letter soon after another one is a text
      ui.press(key);
      return ui.state().view.pinned;
    };
    CHECK(seek(Key::M) == ranked[0].second);
    CHECK(seek(Key::M) == ranked[1].second);
    const auto next_of_row = std::ranges::find_if(
        ranked.begin() + 2, ranked.end(), [&](const auto& cell) { return cell.second.query == ranked[1].second.query; });
    CHECK(seek(Key::N) == next_of_row->second);
    ui.press(Key::Escape);
    CHECK_FALSE(seek(Key::N));  // no row is meant
    CHECK(ui.window().toast().text.starts_with("No cell is pinned"));
  }

  TEST_CASE("a mean over heads has its title, no gain, weights or norms, and a thumbnail ends it") {
    UiDriver ui;
    CHECK(ui.sees("head.gain"));
    ui.click("head.stage.0");
    ui.click("head.mean");
    ui.click("head.mean.layer");
    CHECK(ui.state().selection.mean == HeadMean::Layer);
    CHECK_FALSE(ui.sees("head.gain"));
    CHECK_FALSE(ui.sees("head.stage.0"));
    CHECK(ui.sees("head.mean_stage.1"));  // weights, or their norms
    CHECK(text_on_screen(ui.rect("head.title")).find("mean of 8 heads") != std::string::npos);
    CHECK(std::ranges::any_of(ui.result().tiles, [](const auto& known) { return known.first.quantity == kMeanOfLayer; }));
    // There is no mask that a brush could paint: a click pins.
    ui.press(Key::B);
    ui.click("head.map");
    CHECK(ui.state().view.pinned);
    CHECK(ui.state().masks[model::BlockKind::EncoderSelf].painted.empty());
    ui.click("grid.encoder.0.2");
    CHECK(ui.state().selection.mean == HeadMean::None);
    CHECK(ui.state().selection.head == 2);
  }
}

}  // namespace viewer_map_test
