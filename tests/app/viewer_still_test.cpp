// The drawing doesn't move by itself: an item that the pointer comes to stays under it, and every view comes to rest.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/models/starter_view.h"
#include "app/ui_driver.h"
#include "app/views/view_table.h"

namespace viewer_still_test {

using namespace headlight;
using namespace headlight::app;

namespace {

bool is_inside(const chart::Rect& one, const chart::Rect& other) {
  return glm::all(glm::greaterThanEqual(one.origin, other.origin)) && glm::all(glm::lessThanEqual(one.end(), other.end()));
}

/// Points at every control that hasn't been pointed at before, from outside the window. Of a matrix in Block the cells alone
/// are its rectangle then.
void point_at_all(UiDriver& ui, std::set<std::string>& done) {
  std::set<std::string> names;
  for (const auto& [name, tip] : ui.window().item_tips()) {
    if (done.insert(name).second) names.insert(name);
  }
  ui.feed({shell::MouseLeave{}});
  std::map<std::string, chart::Rect> rects;
  for (const std::string& name : names) {
    if (ui.sees(name)) rects[name] = ui.rect(name);
  }
  for (const std::pair<const std::string, chart::Rect>& item : rects) {
    const std::string& name = item.first;
    ui.feed({shell::MouseLeave{}, shell::MouseMove{item.second.center()}});
    CAPTURE(name);
    REQUIRE(ui.sees(name));
    CHECK(is_inside(ui.rect(name), item.second));
  }
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("what the pointer comes to stays under it, in every view, also while runs are compared") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.text() = "a girl with red hair and a dog";
    UiDriver ui(state, open_gpu_runner);
    for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1180, 760), glm::uvec2(1600, 1000)}) {
      ui.resize(size.x, size.y);
      std::set<std::string> done;
      for (const View& view : views()) {
        ui.show(view.id);
        CAPTURE(std::string(view.id));
        CAPTURE(size.x);
        point_at_all(ui, done);
      }
      CHECK(done.size() > 250);
      if (ui.state().compare.baseline) continue;
      ui.press(shell::Key::D, shell::kControl);
      ui.wait(5.0);
      ui.fill_in("text.edit", "a girl with blue hair and a dog");
      REQUIRE(ui.state().compare.baseline);
    }
  }

  TEST_CASE("every view comes to rest in windows of any size") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.text() = "a girl with red hair and a dog";
    UiDriver ui(state, open_gpu_runner);
    ui.draw_every_frame();
    for (const View& view : views()) {
      ui.show(view.id);
      CAPTURE(std::string(view.id));
      const std::uint32_t step = std::string_view(view.id) == "side_by_side" ? 9 : 54;  // maps that grow with their width
      for (const std::uint32_t width : {400U, 520U, 620U, 800U, 1024U}) {
        for (std::uint32_t height = 240; height < 680; height += step) {
          CAPTURE(width);
          CAPTURE(height);
          REQUIRE_NOTHROW(ui.resize(width, height));
        }
      }
    }
  }
}

}  // namespace viewer_still_test
