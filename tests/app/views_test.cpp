// The table of views: what is drawn, named and remembered walks it.
#include <doctest/doctest.h>

#include <cctype>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "app/state/state_json.h"
#include "app/ui_driver.h"
#include "app/views/view_table.h"

namespace views_test {

using namespace headlight;
using namespace headlight::app;
using nlohmann::json;

namespace {

json session_with_tab(const json& tab) {
  json value = to_json(State{});
  value["view"]["tab"] = tab;
  return value;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("views have ids, titles, keys and one sentence of help of their own") {
    std::set<std::string_view> ids;
    std::set<std::string_view> titles;
    REQUIRE_FALSE(views().empty());
    for (const View& view : views()) {
      CAPTURE(view.id);
      CHECK(ids.insert(view.id).second);
      CHECK(titles.insert(view.title).second);
      for (const char c : view.id) CHECK((std::islower(static_cast<unsigned char>(c)) != 0 || c == '_'));
      CHECK(view.help.ends_with('.'));
      CHECK_FALSE(view.key.text.empty());
      CHECK(&find_view(view.id) == &view);
      CHECK(view.open() != nullptr);
      CHECK_FALSE(view.group.empty());
    }
  }

  TEST_CASE("files of every version name views as they always did") {
    CHECK(State{}.view.tab == views().front().id);
    for (const char* tab : {"head", "steps", "predictions", "lines", "text", "model", "heads"}) {
      const Result<State> read = state_from_json(session_with_tab(tab));
      REQUIRE(read);
      CHECK(read->view.tab == tab);
      CHECK(find_view(tab).id == tab);
      CHECK(to_json(*read)["view"]["tab"] == tab);
    }
  }

  TEST_CASE("a file of a newer version may name a view that this one lacks; what is no name is refused") {
    const Result<State> newer = state_from_json(session_with_tab("no such view"));
    REQUIRE(newer);
    CHECK(newer->view.tab == "no such view");
    CHECK(find_view("no such view").id == views().front().id);
    for (const json& wrong : {json(7), json(""), json("Head\n"), json("../x"), json(std::string(33, 'a')), json(nullptr)}) {
      const Result<State> read = state_from_json(session_with_tab(wrong));
      REQUIRE_FALSE(read);
      CHECK(read.error().find("view.tab: expected the name of a view") == 0);
    }
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("each view is shown by its tab, its key and its menu entry, with an undo that names it") {
    UiDriver ui;
    ui.draw_every_frame();  // all frames of every view, under the validation layer
    for (const View& view : views()) {
      const std::string id(view.id);
      CAPTURE(id);
      const auto leave = [&] {
        ui.wait(2.0);
        ui.click(id == views().front().id ? "tab." + std::string(views().back().id)
                                          : "tab." + std::string(views().front().id));
        ui.wait(2.0);
        REQUIRE(ui.state().view.tab != id);
      };
      leave();
      ui.click("tab." + id);
      CHECK(ui.state().view.tab == id);
      CHECK(ui.window().undo().undo_label().starts_with("Show "));
      const bool predicts = id == "predictions" || id == "logits" || id == "what_if" || id == "patching" || id == "prompts";
      CHECK(ui.sees("view.unavailable") == predicts);  // the playground predicts nothing
      const std::string tip = ui.window().item_tips().find("tab." + id)->second;
      CHECK((predicts ? tip.find("predicts no tokens") != std::string::npos : tip == view.help));
      leave();
      ui.show(id);
      leave();
      ui.click("menu.View");
      ui.click("menu." + std::string(view.title));
      CHECK(ui.state().view.tab == id);
      CHECK_FALSE(ui.window().notice().is_shown());
    }
  }

  TEST_CASE(
      "tabs stand in their groups, all in sight from 1024 units on, and stay where they are when another one is shown") {
    UiDriver ui;
    for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1280, 720), glm::uvec2(1400, 900),
                                  glm::uvec2(1920, 1080), glm::uvec2(2560, 1440), glm::uvec2(3840, 2160)}) {
      ui.resize(size.x, size.y, size.x > 3000 ? 2.0F : 1.0F);
      CAPTURE(size.x);
      std::map<std::string, chart::Rect> places;
      for (const View& view : views()) {
        const std::string tab = "tab." + std::string(view.id);
        REQUIRE(ui.sees(tab));
        places[tab] = ui.rect(tab);
        CHECK(places[tab].origin.x >= ui.rect("fold.sidebar").end().x - 1.0F);
        CHECK(places[tab].end().x <= ui.rect("head.map").end().x + 600.0F);
      }
      for (std::size_t i = 1; i < views().size(); ++i) {  // in the order of the table, row by row
        const chart::Rect& one = places["tab." + std::string(views()[i - 1].id)];
        const chart::Rect& next = places["tab." + std::string(views()[i].id)];
        CHECK((next.origin.y > one.origin.y || next.origin.x >= one.end().x));
      }
      for (const View& view : views()) {
        ui.show(view.id);
        for (const auto& one : places) {
          const auto& tab = one.first;
          const auto& place = one.second;
          CAPTURE(tab);
          CHECK(ui.rect(tab) == place);
        }
      }
      ui.press(views().front().key.key);
    }
  }

  TEST_CASE("in a window too narrow for tabs each group has a menu of its views") {
    UiDriver ui;
    ui.resize(640, 640, 2.0F);
    CHECK_FALSE(ui.sees("tab.head"));
    for (const View& view : views()) {
      ui.click(fmt::format("tabs.{}", view.group));
      ui.click("tab." + std::string(view.id));
      CHECK(ui.state().view.tab == view.id);
    }
    ui.resize(2400, 1000);
    for (const View& view : views()) {
      CHECK(ui.sees("tab." + std::string(view.id)));
      CHECK_FALSE(ui.sees(fmt::format("tabs.{}", view.group)));
    }
  }

  TEST_CASE("a view that this version lacks: the first one is shown, and its tab leads back") {
    State state;
    state.view.tab = "no such view";
    UiDriver ui(state);
    CHECK(ui.sees("head.map"));
    ui.click("tab.steps");
    CHECK(ui.sees("steps.weights"));
    ui.click("tab.head");
    CHECK(ui.state().view.tab == "head");
  }
}

}  // namespace views_test
