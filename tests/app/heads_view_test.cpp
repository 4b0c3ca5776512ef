// The table of heads in the window: metrics arrive, the mouse and the keyboard order, select, pin and open heads, and
// commands find one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <imgui.h>

#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/widgets/head_tools.h"
#include "app/window/offscreen_viewer.h"

namespace heads_view_test {

using namespace headlight;
using namespace headlight::app;
using evaluation::HeadMetric;
using shell::Key;

namespace {

State repeating_text() {
  State state = with_text("a cat sees a dog and a cat sees a dog");
  state.playground().settings = {.d_model = 24, .heads = 4, .layers = 3, .seed = 5};
  state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
  state.view.tab = "heads";
  return state;
}

const HeadMetricsFound& metrics_of(const UiDriver& ui) {
  const Selection& selection = ui.state().selection;
  const Analysed* answer = ui.result().analysed(HeadMetricsQuestion{.kind = selection.block.kind, .batch = selection.batch});
  REQUIRE(answer);
  REQUIRE(answer->as<HeadMetricsFound>());
  return *answer->as<HeadMetricsFound>();
}

HeadRef selected(const UiDriver& ui) { return {ui.state().selection.block, ui.state().selection.head}; }

std::string row_of(const HeadRef& head) { return fmt::format("heads.row.L{} H{}", head.block.layer.value, head.head); }

/// Only the second query has a choice, so that every head rests on the first token most of the time.
State resting_on_the_first(const std::string& text, std::uint32_t tokens) {
  State state = with_text(text);
  state.playground().settings = {.d_model = 8, .heads = 2, .layers = 1, .seed = 5};
  attention::MaskSpec& mask = state.masks[model::BlockKind::EncoderSelf];
  mask.rule.causal = true;
  for (std::uint32_t query = 2; query < tokens; ++query) {
    for (std::uint32_t key = 1; key <= query; ++key) mask.painted[{}].paint({query, key}, false);
  }
  return state;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the table lists every head, a click selects one everywhere and a double click opens it") {
    UiDriver ui(repeating_text());
    CHECK(metrics_of(ui).is_complete());
    for (std::uint32_t layer = 0; layer < 3; ++layer) {
      for (std::uint32_t head = 0; head < 4; ++head) CHECK(ui.sees(row_of({{.layer = {layer}}, head})));
    }
    CHECK(ui.sees("view.sentence"));
    ui.click("heads.row.L2 H1");
    CHECK(selected(ui) == HeadRef{{.layer = {2}}, 1});
    CHECK(ui.state().view.tab == "heads");
    ui.click("heads.row.L1 H3");
    ui.click("heads.row.L1 H3");
    CHECK(selected(ui) == HeadRef{{.layer = {1}}, 3});
    CHECK(ui.state().view.tab == "head");
  }

  TEST_CASE("a column says what each head does, and metrics that no head has have none") {
    UiDriver ui(repeating_text());
    ui.draw_every_frame();
    ui.settle();
    CHECK(ui.sees("heads.order.duplicate"));
    CHECK(text_on_screen(ui.rect("heads.row.L0 H0")).find("random") != std::string::npos);
    ui.fill_in("text.edit", "a cat sees the dog");
    CHECK(ui.sees("heads.order.sink"));
    CHECK_FALSE(ui.sees("heads.order.duplicate"));  // no token comes twice
    CHECK_FALSE(ui.sees("heads.order.induction"));
  }

  TEST_CASE("a title orders by its metric and turns the order round; keys go through the list in its order") {
    UiDriver ui(repeating_text());
    ui.click("heads.order.sink");
    CHECK(ui.state().heads.order == HeadMetric::Sink);
    const HeadRef best = best_head(metrics_of(ui), HeadMetric::Sink).value();
    const auto top = [&] {
      const std::vector<HeadRef> heads =
          listed_heads(ui.result().shapes, model::BlockKind::EncoderSelf, ui.state().heads, &metrics_of(ui));
      for (std::size_t i = 1; i < heads.size(); ++i) {
        CHECK(ui.rect(row_of(heads[i])).origin.y > ui.rect(row_of(heads[i - 1])).origin.y);
      }
      return heads.front();
    };
    CHECK(top() == best);
    ui.press(Key::Home);
    CHECK(selected(ui) == best);
    ui.press(Key::Down);
    CHECK(selected(ui) != best);
    ui.press(Key::Up);
    CHECK(selected(ui) == best);
    ui.click("heads.order.sink");
    CHECK(ui.state().heads.lowest_first);
    CHECK(top() != best);
    ui.press(Key::Right);
    CHECK(ui.state().heads.order == HeadMetric::Concentration);
    ui.press(Key::Space);
    CHECK(is_pinned(ui.state().heads, best));
    ui.press(Key::Enter);
    CHECK(ui.state().view.tab == "head");
    CHECK(selected(ui) == best);
    const std::uint32_t layer = selected(ui).block.layer.value;
    ui.press(layer > 0 ? Key::Up : Key::Down);  // elsewhere the arrows go through layers again
    CHECK(selected(ui).block.layer.value != layer);
  }

  TEST_CASE("filters leave out heads, say so when none is left, and are taken back by a button") {
    UiDriver ui(repeating_text());
    ui.click("heads.pin.0.2");
    CHECK(is_pinned(ui.state().heads, {{.layer = {0}}, 2}));
    ui.click("heads.pinned");
    CHECK(ui.state().heads.only_pinned);
    CHECK(ui.sees("heads.row.L0 H2"));
    CHECK_FALSE(ui.sees("heads.row.L0 H1"));
    ui.click("heads.pin.0.2");
    CHECK(ui.sees("heads.empty"));
    ui.click("heads.show_all");
    CHECK(ui.sees("heads.row.L0 H1"));
    ui.click("heads.filter");
    ui.click("heads.filter.induction");
    CHECK(ui.state().heads.filter == HeadMetric::Induction);
    CHECK(ui.sees("heads.least"));
    CHECK(ui.sees("heads.empty"));  // random weights copy nothing
    ui.click("heads.show_all");
    CHECK_FALSE(ui.state().heads.filter.has_value());
  }

  TEST_CASE("the palette and the view's buttons find the head with the largest value") {
    const std::pair<const char*, HeadMetric> wanted[] = {{"Find the previous-token head", HeadMetric::PreviousToken},
                                                         {"Find the induction head", HeadMetric::Induction},
                                                         {"Find the duplicate-token head", HeadMetric::DuplicateToken},
                                                         {"Find the sink head", HeadMetric::Sink}};
    State state = repeating_text();
    state.view.tab = "head";
    UiDriver ui(state);
    for (const auto& command : wanted) {
      ui.press(Key::P, shell::kControl);
      ui.type(command.first);
      ui.press(Key::Enter);
      CHECK(selected(ui) == best_head(metrics_of(ui), command.second).value());
      CHECK(ui.window().toast().text.find(": 0.") != std::string::npos);
    }
    ui.click("tab.heads");
    for (std::size_t i = 0; i < 4; ++i) {
      ui.click(fmt::format("heads.find.{}", i));
      CHECK(selected(ui) == best_head(metrics_of(ui), wanted[i].second).value());
    }
  }

  TEST_CASE("a text without repetitions has no induction head, and says what to type") {
    State state = repeating_text();
    state.text() = "all words differ here";
    UiDriver ui(state);
    const HeadRef before = selected(ui);
    ui.click("heads.find.1");
    CHECK(selected(ui) == before);
    CHECK(ui.window().toast().text.find("No token comes twice in this text") == 0);
  }

  TEST_CASE("a thumbnail says what its head does, until badges are switched off") {
    UiDriver ui(resting_on_the_first("one two three four five six", 6));
    const HeadRef best = best_head(metrics_of(ui), HeadMetric::Sink).value();
    CHECK(metrics_of(ui).find(best)->value(HeadMetric::Sink).value() >= 0.7);
    const std::string badge = fmt::format("grid.encoder.0.{}.badge", best.head);
    CHECK(ui.sees(badge));
    ui.press(Key::P, shell::kControl);
    ui.type("Badges of heads");
    ui.press(Key::Enter);
    CHECK_FALSE(ui.state().heads.shows_badges);
    CHECK_FALSE(ui.sees(badge));
  }

  TEST_CASE("heads of five tokens have no badges: there is hardly a choice of what to look at") {
    UiDriver ui(resting_on_the_first("one two three four five", 5));
    for (const std::string head : {"grid.encoder.0.0", "grid.encoder.0.1"}) {
      CHECK(ui.sees(head));
      CHECK_FALSE(ui.sees(head + ".badge"));  // though each rests on the first token, as with six
    }
  }

  TEST_CASE("the table goes to the clipboard, as many heads as are listed") {
    UiDriver ui(repeating_text());
    ui.click("heads.copy");
    const std::string csv = ImGui::GetClipboardText();
    CHECK(csv.starts_with("kind,layer,head,previous,"));
    CHECK(std::ranges::count(csv, '\n') == 13);
  }
}

}  // namespace heads_view_test
