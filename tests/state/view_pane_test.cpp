// Panes of views: opening, closing, the keyboard, the layout, and files.
#include "app/state/view_pane.h"

#include <doctest/doctest.h>

#include "app/state/state.h"
#include "app/state/state_json.h"
#include "core/error.h"
#include "core/file.h"
#include "support/temporary_directory.h"

namespace view_pane_test {

using namespace headlight;
using namespace headlight::app;

namespace {

std::vector<std::string> views_of(ViewChoices& view) {
  std::vector<std::string> ids;
  for (const ViewPane* pane : panes_of(view.panes)) ids.push_back(pane->view.empty() ? "*" + view.tab : pane->view);
  return ids;
}

/// Returns why a state whose view has these panes is refused; empty: it isn't.
std::string error_with_panes(const std::string& panes) {
  nlohmann::json json = to_json(State());
  json["view"]["panes"] = nlohmann::json::parse(panes);
  const Result<State> read = state_from_json(json);
  return read ? "" : read.error();
}

using Names = std::vector<std::string>;

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("panes open at an edge, pass the keyboard on, and close") {
    ViewChoices view;
    REQUIRE(open_beside(view, view.panes, PaneEdge::Right, "lines"));
    CHECK(views_of(view) == Names{"head", "*lines"});
    REQUIRE(open_beside(view, pane_with_keys(view), PaneEdge::Top, "steps"));
    CHECK(views_of(view) == Names{"head", "*steps", "lines"});
    CHECK(is_on_screen(view, "lines"));
    CHECK(is_on_screen(view, "steps"));
    CHECK_FALSE(is_on_screen(view, "block"));
    give_keys(view, *panes_of(view.panes).front());
    CHECK(views_of(view) == Names{"*head", "steps", "lines"});
    give_keys(view, *panes_of(view.panes).front());  // which has them
    CHECK(views_of(view) == Names{"*head", "steps", "lines"});
    // A view may be there twice; a pane that is split keeps its pinned head.
    pane_with_keys(view).pinned = Selection{.block = {}, .head = 3};
    REQUIRE(open_beside(view, pane_with_keys(view), PaneEdge::Left, "head"));
    CHECK(views_of(view) == Names{"*head", "head", "steps", "lines"});
    CHECK(panes_of(view.panes)[1]->pinned == Selection{.block = {}, .head = 3});
    CHECK_FALSE(pane_with_keys(view).pinned);
    close_pane(view, pane_with_keys(view));
    CHECK(views_of(view) == Names{"*head", "steps", "lines"});
    CHECK(view.panes.parts[0].pinned == Selection{.block = {}, .head = 3});
    close_pane(view, *panes_of(view.panes)[1]);
    CHECK(views_of(view) == Names{"*head", "lines"});
    close_pane(view, *panes_of(view.panes)[0]);
    CHECK(views_of(view) == Names{"*lines"});
    close_pane(view, view.panes);
    CHECK(views_of(view) == Names{"*head"});
    for (std::size_t i = 1; i < kMostPanes; ++i) REQUIRE(open_beside(view, pane_with_keys(view), PaneEdge::Bottom, "flow"));
    CHECK_FALSE(open_beside(view, pane_with_keys(view), PaneEdge::Bottom, "flow"));
    CHECK(panes_of(view.panes).size() == kMostPanes);
  }

  TEST_CASE("the layout covers the room without gaps, by the shares") {
    ViewChoices view;
    open_beside(view, view.panes, PaneEdge::Right, "lines");
    open_beside(view, pane_with_keys(view), PaneEdge::Bottom, "steps");
    view.panes.share = 0.25F;
    const chart::Rect room{.origin = {10.0F, 20.0F}, .size = {801.0F, 333.0F}};
    const PaneLayout layout = lay_out_panes(view.panes, room);
    REQUIRE(layout.panes.size() == 3);
    CHECK(layout.panes[0].rect == chart::Rect{{10.0F, 20.0F}, {200.0F, 333.0F}});
    CHECK(layout.panes[1].rect == chart::Rect{{210.0F, 20.0F}, {601.0F, 167.0F}});
    CHECK(layout.panes[2].rect == chart::Rect{{210.0F, 187.0F}, {601.0F, 166.0F}});
    REQUIRE(layout.borders.size() == 2);
    CHECK(layout.borders[0].strip.center().x == 210.0F);
    CHECK(layout.borders[1].strip.center().y == 187.0F);
  }

  TEST_CASE("files keep panes, and a file with impossible ones is refused in words") {
    State state;
    open_beside(state.view, state.view.panes, PaneEdge::Left, "lines");
    open_beside(state.view, pane_with_keys(state.view), PaneEdge::Bottom, "head");
    state.view.panes.share = 0.75F;
    panes_of(state.view.panes)[2]->pinned =
        Selection{.block = {.kind = model::BlockKind::Cross, .layer = LayerIndex{2}}, .batch = 1, .head = 5};
    const State again = state_from_json(to_json(state)).value();
    CHECK(again.view.panes == state.view.panes);
    CHECK(again.view.tab == "head");
    CHECK(to_json(State())["view"]["panes"].is_null());

    const std::string leaf = R"({"view": "flow"})";
    std::string deep = R"({})";
    for (int i = 0; i < 9; ++i) deep = R"({"parts": [)" + deep + ", " + leaf + "]}";
    for (const std::string& panes : {std::string("[]"), std::string("3"), R"({"parts": [{}]})" + std::string(),
                                     R"({"parts": [{}, {}]})" + std::string(), R"({"parts": [)" + leaf + ", " + leaf + "]}",
                                     R"({"share": 2, "parts": [{}, )" + leaf + "]}", R"({"parts": 7})" + std::string(),
                                     R"({"parts": [{}, {"view": 4}]})" + std::string(),
                                     R"({"parts": [{}, {"view": "flow", "pinned": {"head": -1}}]})" + std::string(),
                                     R"({"view": "flow"})" + std::string(), deep}) {
      CAPTURE(panes);
      CHECK(error_with_panes(panes).find("view.panes") != std::string::npos);
    }
  }

  TEST_CASE("a layout in a file has the views and their places, and nothing else") {
    const TemporaryDirectory folder;
    const std::filesystem::path file = folder.path() / "class.json";
    State state;
    REQUIRE(open_beside(state.view, state.view.panes, PaneEdge::Right, "lines"));
    REQUIRE(open_beside(state.view, pane_with_keys(state.view), PaneEdge::Bottom, "steps"));
    state.view.panes.share = 0.25F;
    pane_with_keys(state.view).pinned = Selection{.block = {}, .head = 2};
    save_layout(file, state.view);
    State other;
    other.text() = "another text";
    other.view.theme = state.view.theme == Theme::Dark ? Theme::Light : Theme::Dark;
    State expected = other;
    expected.view.tab = state.view.tab;
    expected.view.panes = state.view.panes;
    load_layout(file, other.view);
    CHECK(other == expected);

    const auto refusal = [&](std::string_view content) -> std::string {
      write_file_atomically(file, content);
      try {
        load_layout(file, other.view);
      } catch (const Error& error) {
        return error.what();
      }
      return "";
    };
    CHECK(refusal("{").find("class.json: not JSON") != std::string::npos);
    CHECK(refusal("[]").find("class.json: the file: expected an object, found []") != std::string::npos);
    CHECK(refusal(R"({"tab": "head"})").find("class.json: it is no layout") != std::string::npos);
    CHECK(refusal(R"({"headlight_layout": 2})").find("class.json: a newer Headlight") != std::string::npos);
    CHECK(refusal(R"({"headlight_layout": 1, "tab": 3})").find("class.json: tab: expected") != std::string::npos);
    CHECK(refusal(R"({"headlight_layout": 1, "panes": {"parts": [{}, {}]}})").find("class.json: panes: exactly one pane") !=
          std::string::npos);
    CHECK(other == expected);
    CHECK(refusal(R"({"headlight_layout": 1})").empty());
    CHECK(other.view.panes == ViewPane());
    CHECK(other.view.tab == kHeadView);
  }
}

}  // namespace view_pane_test
