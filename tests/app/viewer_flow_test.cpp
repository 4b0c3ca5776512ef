// The Flow tab, in the whole window.
#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "app/ui_driver.h"

namespace viewer_flow_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

State flow_of(const std::string& text) {
  State state;
  state.text() = text;
  state.view.tab = "flow";
  return state;
}

/// An edge of attention on screen that is no token's to itself: its layer, from and to.
std::optional<std::array<std::uint32_t, 3>> some_edge(const UiDriver& ui) {
  for (std::uint32_t layer = 0; layer < 2; ++layer) {
    for (std::uint32_t to = 0; to < 16; ++to) {
      for (std::uint32_t from = 0; from < to; ++from) {
        if (ui.sees(fmt::format("flow.edge.{}.{}.{}", layer, from, to))) return {{layer, from, to}};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("routes, rollout and flow are drawn; an edge opens its head at its cell") {
    UiDriver ui(flow_of("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    CHECK(ui.sees("flow.graph"));
    CHECK(ui.sees("flow.summary"));
    CHECK(ui.sees("flow.threshold"));
    CHECK_FALSE(ui.sees("flow.residual"));
    const std::uint32_t last = ui.result().input->source.length - 1;
    CHECK(ui.sees(fmt::format("flow.node.2.{}", last)));
    ui.move_to(fmt::format("flow.node.2.{}", last));  // its tooltip asks for predictions
    CHECK(ui.sees("flow.graph"));
    for (const FlowMethod method : {FlowMethod::Rollout, FlowMethod::MaximumFlow, FlowMethod::Routes}) {
      ui.wait(2.0);
      ui.click(fmt::format("flow.method.{}", static_cast<int>(method)));
      CHECK(ui.state().flow.method == method);
      CHECK(ui.window().undo().undo_label() == "Choose what flows");
      CHECK(ui.sees("flow.graph"));
      CHECK(ui.sees("flow.residual") == (method != FlowMethod::Routes));
    }
    const auto edge = some_edge(ui);
    REQUIRE(edge);
    ui.click(fmt::format("flow.edge.{}.{}.{}", (*edge)[0], (*edge)[1], (*edge)[2]));
    CHECK(ui.state().view.tab == "head");
    REQUIRE(ui.state().view.pinned);
    CHECK(ui.sees("head.map"));
    ui.press(Key::Z, kControl);
    CHECK(ui.state().view.tab == "flow");
  }

  TEST_CASE("arrow keys walk through the graph, Enter opens the strongest edge's head") {
    UiDriver ui(flow_of("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    CHECK_FALSE(ui.sees("flow.chosen"));
    const Selection before = ui.state().selection;
    ui.press(Key::Down);
    REQUIRE(ui.sees("flow.chosen"));
    const float top = ui.rect("flow.chosen").origin.y;
    ui.press(Key::Down);
    CHECK(ui.rect("flow.chosen").origin.y > top);
    CHECK(ui.sees("flow.chosen_text"));
    ui.press(Key::Up);
    CHECK(ui.rect("flow.chosen").origin.y == top);
    ui.press(Key::Left);
    CHECK(ui.rect("flow.chosen").origin.y == top);  // the last layer has one node
    CHECK(ui.state().selection.head == before.head);
    ui.press(Key::Enter);
    CHECK(ui.state().view.tab == "head");
    CHECK(ui.state().view.pinned);
  }

  TEST_CASE("what can't be traced is said, and the other ways are offered") {
    UiDriver ui(flow_of("the cat"));
    show_golden_model(ui, "bert");
    CHECK(ui.sees("flow.none"));
    ui.click("flow.method.1");
    CHECK_FALSE(ui.sees("flow.none"));
    CHECK(ui.sees("flow.graph"));
    show_golden_model(ui, "marian");
    CHECK(ui.sees("flow.none"));
  }

  TEST_CASE("a small window scrolls the graph instead of leaving its region") {
    UiDriver ui(flow_of("the cat sat on the mat and looked at the dog"));
    show_golden_model(ui, "gpt2");
    ui.resize(1024, 640);
    CHECK(ui.sees("flow.graph"));
    CHECK(ui.sees("flow.copy"));
  }
}

}  // namespace viewer_flow_test
