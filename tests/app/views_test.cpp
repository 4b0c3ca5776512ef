// The table of views: what is drawn, named and remembered walks it.
#include <doctest/doctest.h>

#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "app/models/starter_view.h"
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
  TEST_CASE("each view is shown by its tab, its key and its menu entry, which is no change") {
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
      CHECK_FALSE(ui.window().undo().can_undo());
      const bool predicts = id == "predictions" || id == "logits" || id == "what_if" || id == "patching" || id == "prompts";
      CHECK(ui.sees("view.unavailable") == predicts);  // the playground predicts nothing
      const std::string tip = ui.window().item_tips().find("tab." + id)->second;
      CHECK((predicts ? tip.find("predicts no tokens") != std::string::npos : tip == view.help));
      leave();
      ui.show(id);
      leave();
      ui.click("menu.View");
      ui.move_to("menu." + std::string(view.group));
      ui.click("menu." + std::string(view.title));
      CHECK(ui.state().view.tab == id);
      CHECK_FALSE(ui.window().notice().is_shown());
    }
  }

  TEST_CASE("a view that the shown network has nothing for opens the decoder that comes along, and is then drawn") {
    UiDriver ui;
    ui.show("predictions");
    REQUIRE(ui.sees("view.unavailable"));
    ui.click("view.begin");
    CHECK(std::filesystem::path(model_path(ui.state().source)).filename() == kCaptionWriter);
    CHECK(ui.state().view.tab == "predictions");
    CHECK_FALSE(ui.sees("view.unavailable"));
    CHECK(ui.sees("prediction.0"));
  }

  TEST_CASE("one row has menus, groups and the views of one group, and nothing in it moves when another one is shown") {
    UiDriver ui;
    const std::vector<std::string> fixed = {"menu.File",  "menu.Help", "tabs.Look",  "tabs.Compute",
                                            "tabs.Heads", "tabs.Why",  "row.palette"};
    for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1280, 720), glm::uvec2(1600, 1000),
                                  glm::uvec2(2560, 1440), glm::uvec2(3840, 2160)}) {
      ui.resize(size.x, size.y, size.x > 3000 ? 2.0F : 1.0F);
      CAPTURE(size.x);
      std::map<std::string, chart::Rect> places;
      for (const std::string& name : fixed) {
        if (ui.sees(name)) places[name] = ui.rect(name);  // below 1,280 units one menu has the others
      }
      CHECK((size.x < 1280 || places.size() == fixed.size()));
      for (const View& view : views()) {
        CAPTURE(view.id);
        ui.show(view.id);
        float end = ui.rect("tabs.Why").end().x;
        for (const View& other : views()) {
          const std::string tab = "tab." + std::string(other.id);
          REQUIRE(ui.sees(tab) == (other.group == view.group));
          if (other.group != view.group) continue;
          const chart::Rect rect = ui.rect(tab);
          CHECK(rect.origin.x >= end);  // in the order of the table
          CHECK(rect.origin.y == 0.0F);
          end = rect.end().x;
        }
        CHECK(end <= ui.rect("row.palette").origin.x);
        for (const auto& [name, place] : places) CHECK((ui.rect(name) == place));
      }
      ui.press(views().front().key.key);
    }
  }

  TEST_CASE("a group shows the view that was shown last in it, at first one that has something to draw") {
    UiDriver ui;
    ui.click("tabs.Heads");
    CHECK(ui.state().view.tab == "heads");
    ui.click("tab.model");
    ui.click("tabs.Compute");
    CHECK(ui.state().view.tab == "block");
    ui.click("tabs.Why");
    CHECK(ui.state().view.tab == "flow");  // the playground predicts nothing
    ui.click("tabs.Heads");
    CHECK(ui.state().view.tab == "model");
  }

  TEST_CASE("in a narrow window the row keeps every menu and every view within reach") {
    UiDriver ui;
    for (const auto& [width, scale] : {std::pair(1280U, 1.75F), std::pair(1100U, 2.0F), std::pair(640U, 2.0F)}) {
      ui.resize(width, 1000, scale);
      CAPTURE(width);
      CHECK_FALSE(ui.sees("menu.File"));
      check_tips(ui);
      ui.click("menu.Menu");
      ui.move_to("menu.Help");
      CHECK(ui.sees("menu.Find a command\u2026"));
      ui.press(shell::Key::Escape);
      ui.press(shell::Key::Escape);
      CHECK(ui.sees("tabs.Why") == (width > 1100));
      for (const View& view : views()) {
        ui.click("tab." + std::string(view.id));
        CHECK(ui.state().view.tab == view.id);
      }
    }
  }

  TEST_CASE("the palette opens by its button") {
    UiDriver ui;
    ui.click("row.palette");
    CHECK(ui.window().palette().is_open());
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
