// The model view in the window: every head as a large thumbnail, in any order, and the film strip below.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/ui_driver.h"
#include "app/widgets/head_tools.h"
#include "app/window/offscreen_viewer.h"

namespace model_view_test {

using namespace headlight;
using namespace headlight::app;
using evaluation::HeadMetric;
using shell::Key;

namespace {

State repeating_text() {
  State state = with_text("a cat sees a dog and a cat sees a dog");
  state.playground().settings = {.d_model = 24, .heads = 4, .layers = 3, .seed = 5};
  state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
  state.view.tab = "model";
  return state;
}

HeadRef head_of(std::uint32_t layer, std::uint32_t head) { return {{.layer = {layer}}, head}; }
HeadRef selected(const UiDriver& ui) { return {ui.state().selection.block, ui.state().selection.head}; }
std::string map_of(const HeadRef& head) { return fmt::format("model.map.{}.{}", head.block.layer.value, head.head); }

/// The colours of a thumbnail's middle column, from top to bottom.
std::vector<std::uint32_t> column_of(UiDriver& ui, const chart::Rect& box) {
  const shell::PixelImage image = ui.ui().read_pixels();
  std::vector<std::uint32_t> colors;
  for (float y = box.origin.y + 2.0F; y < box.end().y - 2.0F; y += 1.0F) {
    colors.push_back(image.at(static_cast<std::uint32_t>(box.origin.x + box.size.x * 0.25F), static_cast<std::uint32_t>(y)));
  }
  return colors;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every head is there and large, a click selects one, a double click opens it") {
    UiDriver ui(repeating_text());
    for (std::uint32_t layer = 0; layer < 3; ++layer) {
      for (std::uint32_t head = 0; head < 4; ++head) {
        CHECK(ui.sees(map_of(head_of(layer, head))));
        CHECK(ui.rect(map_of(head_of(layer, head))).size.x >= 64.0F);
      }
    }
    ui.click(map_of(head_of(1, 2)));
    CHECK(selected(ui) == head_of(1, 2));
    ui.press(Key::Right);
    CHECK(selected(ui) == head_of(1, 3));
    ui.press(Key::Space);
    CHECK(is_pinned(ui.state().heads, head_of(1, 3)));
    ui.click(map_of(head_of(2, 0)));
    ui.click(map_of(head_of(2, 0)));
    CHECK(selected(ui) == head_of(2, 0));
    CHECK(ui.state().view.tab == "head");
  }

  TEST_CASE("heads come in the order of a metric, either way round") {
    UiDriver ui(repeating_text());
    ui.click("model.order");
    ui.click("model.order.sink");
    CHECK(ui.state().heads.order == HeadMetric::Sink);
    const auto is_before = [&](const HeadRef& a, const HeadRef& b) {
      const glm::vec2 first = ui.rect(map_of(a)).origin, second = ui.rect(map_of(b)).origin;
      return first.y < second.y || (first.y == second.y && first.x < second.x);
    };
    const auto check_order = [&] {
      const Analysed* answer = ui.result().analysed(HeadMetricsQuestion());
      REQUIRE(answer);
      const std::vector<HeadRef> heads =
          listed_heads(ui.result().shapes, model::BlockKind::EncoderSelf, ui.state().heads, answer->as<HeadMetricsFound>());
      REQUIRE(heads.size() == 12);
      for (std::size_t i = 1; i < heads.size(); ++i) CHECK(is_before(heads[i - 1], heads[i]));
      return heads.front();
    };
    const HeadRef highest = check_order();
    ui.click("model.turn");
    CHECK(check_order() != highest);
  }

  TEST_CASE("the film strip goes through layers and heads, and covers what comes after a token without a new run") {
    UiDriver ui(repeating_text());
    ui.click_within("model.layer", 0.98F, 0.5F);
    CHECK(selected(ui).block.layer.value == 2);
    ui.click_within("model.head", 0.98F, 0.5F);
    CHECK(selected(ui) == head_of(2, 3));
    const chart::Rect box = ui.rect(map_of(head_of(0, 0)));
    const std::vector<std::uint32_t> whole = column_of(ui, box);
    const std::uint64_t run = ui.result().run;
    for (int i = 0; i < 5; ++i) ui.press(Key::Comma);
    const std::vector<std::uint32_t> covered = column_of(ui, box);
    CHECK(ui.result().run == run);
    CHECK(std::equal(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 3), covered.begin()));
    CHECK(covered.back() != whole.back());
    CHECK(covered.back() == covered[covered.size() - covered.size() / 4]);  // one colour
    for (int i = 0; i < 5; ++i) ui.press(Key::Period);
    CHECK(column_of(ui, box) == whole);
  }

  TEST_CASE("in a wide window the selected head is large beside all heads, with its tokens, and its sliders below it") {
    UiDriver ui(repeating_text());
    ui.resize(1600, 900);
    const chart::Rect film = ui.rect("model.film");
    CHECK(film.size.x > 300.0F);
    for (std::uint32_t head = 0; head < 4; ++head) {
      const chart::Rect map = ui.rect(map_of(head_of(2, head)));
      CHECK(map.end().x < film.origin.x);
      CHECK(map.size.x >= 100.0F);
    }
    CHECK(ui.rect("model.layer").origin.y > film.end().y);
    ui.click_within("model.head", 0.98F, 0.5F);
    CHECK(selected(ui) == head_of(0, 3));
    ui.resize(1024, 640);
    CHECK(ui.rect("model.layer").end().x > 0.0F);
  }

  TEST_CASE("a filter that leaves nothing says so") {
    UiDriver ui(repeating_text());
    ui.click("model.pinned");
    CHECK(ui.sees("model.empty"));
    ui.click("model.show_all");
    CHECK(ui.sees(map_of(head_of(0, 0))));
  }
}

}  // namespace model_view_test
