// Places in the window: titles, pages that fill the window, notices and details that are out of the way.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <imgui.h>

#include "app/engine/analyses/head_similarity.h"
#include "app/models/starter_view.h"
#include "app/state/comparison.h"
#include "app/state/map_settings.h"
#include "app/state/side_by_side_settings.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/views/view_table.h"

namespace viewer_layout_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

namespace {

State of_captions(const std::string& text = "A man in a red shirt rides a horse. A man in a red shirt rides a horse.") {
  State state;
  change_to_model(state, find_bundled_model("captions-gpt2")->string());
  state.text() = text;
  return state;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every view has its title at the same place, at every size") {
    UiDriver ui(of_captions(), open_gpu_runner);
    for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1400, 900), glm::uvec2(3840, 2160)}) {
      ui.resize(size.x, size.y);
      ui.show("head");
      const glm::vec2 place = ui.rect("view.title").origin;
      for (const View& view : views()) {
        // These views wait for a second text, for a survey, and for a training's other steps.
        if (view.id == "patching" || view.id == "corpus" || view.id == "checkpoints") continue;
        ui.show(view.id);
        CAPTURE(std::string(view.id));
        CAPTURE(size.x);
        REQUIRE(ui.sees("view.title"));
        CHECK(ui.rect("view.title").origin == place);
      }
    }
  }

  TEST_CASE("numbers are copied by a button at one place in all views that have it") {
    UiDriver ui(of_captions(), open_gpu_runner);
    ui.show("heads");
    const chart::Rect place = ui.rect("heads.copy");
    for (const char* view : {"logits", "flow", "what_if"}) {
      ui.show(view);
      const std::string name = std::string(view) + ".copy";
      CAPTURE(name);
      CHECK(ui.rect(name).origin == place.origin);
      ui.click(name);
      CHECK(std::string(ImGui::GetClipboardText()).find(',') != std::string::npos);
    }
  }

  TEST_CASE("a weight matrix and what it makes stand side by side") {
    UiDriver ui(of_captions(), open_gpu_runner);
    for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1400, 900), glm::uvec2(2560, 1440)}) {
      ui.resize(size.x, size.y);
      ui.show("steps");
      CAPTURE(size.x);
      for (const char* letter : {"q", "k", "v"}) {
        ui.click(std::string("steps.small.") + letter);
        const chart::Rect weights = ui.rect(std::string("steps.w_") + letter),
                          product = ui.rect(std::string("steps.") + letter);
        CHECK(weights.origin.y == product.origin.y);
        CHECK(product.origin.x > weights.end().x);
      }
    }
  }

  TEST_CASE("a short text fills its page in large type, a long one is small; pieces of a character are one") {
    UiDriver ui(of_captions(), open_gpu_runner);
    ui.resize(1024, 640);
    ui.show("text");
    const float large = ui.rect("text.token.1").size.y;
    std::string much;
    for (int i = 0; i < 22; ++i) much += "A man in a red shirt rides a horse. ";
    ui.fill_in("text.edit", much);
    REQUIRE(ui.result().error.empty());
    CHECK(large > 1.6F * ui.rect("text.token.1").size.y);
  }

  TEST_CASE("beside the selected head is the one that attends least like it, until another one is chosen") {
    UiDriver ui(of_captions(), open_gpu_runner);
    ui.show("side_by_side");
    CHECK_FALSE(ui.state()[kSideBySideView.is_chosen]);
    const Analysed* answer = ui.result().analysed(similarity_query(ui.state().selection));
    REQUIRE(answer);
    const auto* found = answer->as<HeadSimilarity>();
    REQUIRE(found);
    std::size_t farthest = 1;  // the selected head is the first one
    for (std::size_t head = 2; head < found->heads.size(); ++head) {
      if (found->between(0, head) > found->between(0, farthest)) farthest = head;
    }
    const HeadRef before = found->heads.at(farthest - 1);
    ui.click("side_by_side.previous");
    CHECK(ui.state()[kSideBySideView.is_chosen]);
    CHECK(ui.state()[kSideBySideView.layer] == before.block.layer.value);
    CHECK(ui.state()[kSideBySideView.head] == before.head);
  }

  TEST_CASE("colours are named, a bar\u2019s end says that larger weights share it, and rows that can be all seen are") {
    State state = of_captions();
    state.selection.block.layer = LayerIndex{1};
    state.selection.head = 4;
    UiDriver ui(state, open_gpu_runner);
    ui.resize(1600, 1000);
    ui.click("mask.causal");  // so that the first row sees a single key
    const auto shows = [&](const std::string& view, const char* words) {
      ui.show(view);
      ui.settle();
      const std::string text = letters_on_screen();
      CAPTURE(view);
      CAPTURE(text);
      CHECK(text.find(words) != std::string::npos);
    };
    shows("head", "\u2265");
    shows("steps", "\u2265");
    shows("model", "eachmap\u2019slargest");
    shows("text", "weight,0");
    ui.show("block");
    const chart::Rect output = ui.rect("block.heads");
    CHECK(output.end().x + 1.0F <= ui.rect("block.flow").end().x);
    shows("neuron", "largestscore");
    CHECK(ui.rect("neuron.product.31").end().y <= ui.rect("neuron.products").end().y);
  }

  TEST_CASE("tables of layers and heads use the page") {
    UiDriver ui(of_captions(), open_gpu_runner);
    for (const char* view : {"logits", "what_if"}) {
      const std::string first = std::string(view) == "logits" ? "logits.head.0.0" : "what_if.head.0.0";
      ui.resize(1024, 640);
      ui.show(view);
      const float small = ui.rect(first).size.x;
      ui.resize(2560, 1440);
      CHECK(ui.rect(first).size.x > 1.6F * small);
      CHECK(ui.rect(first).size.y > 30.0F);
    }
  }

  TEST_CASE("the thumbnails of the grid use the panel's width, and the selected head's numbers are in sight below them") {
    UiDriver ui(of_captions(), open_gpu_runner);
    for (const glm::uvec2 size : {glm::uvec2(1280, 800), glm::uvec2(1600, 1000), glm::uvec2(2560, 1440)}) {
      ui.resize(size.x, size.y);
      CAPTURE(size.x);
      const chart::Rect first = ui.rect("grid.encoder.0.0"), last = ui.rect("grid.encoder.3.7");
      const float bottom = ui.rect("status.time").origin.y;
      REQUIRE(ui.sees("properties.head.knock_out"));
      CHECK(ui.rect("properties.head").origin.y > last.end().y);
      CHECK(ui.rect("properties.head.knock_out").end().y < bottom);
      CHECK(last.end().x - first.origin.x > 0.75F * (static_cast<float>(size.x) - first.origin.x));
    }
  }

  TEST_CASE("a notice moves nothing and goes by itself; a pointer on it keeps it") {
    UiDriver ui(of_captions(), open_gpu_runner);
    const chart::Rect map = ui.rect("head.map");
    ui.window().open_files({"/no/such/file"});
    ui.settle();
    REQUIRE(ui.window().notice().is_shown());
    CHECK(ui.rect("head.map") == map);
    ui.move_to("notice.text");
    ui.wait(100.0);
    ui.settle();
    CHECK(ui.window().notice().is_shown());
    ui.move_to("head.map");
    ui.wait(100.0);
    ui.settle();
    CHECK_FALSE(ui.window().notice().is_shown());
  }

  TEST_CASE("masks are in sight at 1024 × 640; facts of the model are unfolded by a click") {
    UiDriver ui(of_captions(), open_gpu_runner);
    ui.resize(1024, 640);
    CHECK(ui.rect("mask.causal").end().y < ui.rect("status.time").origin.y);
    CHECK_FALSE(ui.sees("model.precision.0"));
    ui.click("model.details");
    CHECK(ui.sees("model.precision.0"));
    CHECK(ui.window().settings().panes.shows_details);
  }

  TEST_CASE("a right click on a cell or a head's map, and a dragged range, open a menu of what can be done") {
    UiDriver ui(of_captions(), open_gpu_runner);
    const chart::Rect map = ui.rect("head.map");
    const glm::vec2 cell = map.size / 20.0F;
    const auto right_click = [&](glm::vec2 at) {
      ui.feed({shell::MouseMove{at}});
      ui.feed(shell::click_at(at, shell::MouseButton::Right));
      ui.settle();
    };
    right_click(map.origin + cell * glm::vec2(2.5F, 5.5F));
    REQUIRE(ui.state().view.pinned);
    CHECK(*ui.state().view.pinned == attention::Cell{.query = 5, .key = 2});
    REQUIRE(ui.sees("menu.Copy row"));
    CHECK_FALSE(ui.sees("menu.Show the chosen range"));
    check_tips(ui);
    ui.click("menu.The pinned cell's column");
    CHECK(attention::painted_count(selected_mask(ui.state()).painted) > 0);
    CHECK_FALSE(ui.sees("menu.Copy row"));

    const std::size_t before = attention::painted_count(selected_mask(ui.state()).painted);
    ui.feed(shell::drag(map.origin + cell * glm::vec2(4.5F, 8.5F), map.origin + cell * glm::vec2(6.5F, 11.5F)));
    ui.settle();
    REQUIRE(ui.sees("menu.Show the chosen range"));  // by itself, when the button is released
    ui.click("menu.The chosen range");
    CHECK(attention::painted_count(selected_mask(ui.state()).painted) > before);

    right_click(ui.rect("grid.encoder.2.3").center());
    CHECK(ui.state().selection.block.layer.value == 2);
    CHECK(ui.state().selection.head == 3);
    REQUIRE(ui.sees("menu.head.knock_out"));
    ui.click("menu.head.knock_out");
    CHECK(ui.state().gains.size() == 1);
  }

  TEST_CASE("every menu fits into a window of 800 lines") {
    UiDriver ui(of_captions(), open_gpu_runner);
    ui.resize(1280, 800);
    for (const char* menu : {"menu.File", "menu.Edit", "menu.View", "menu.Help"}) {
      CAPTURE(menu);
      ui.click(menu);
      std::size_t entries = 0;
      for (const auto& [name, tip] : ui.window().item_tips()) {
        if (!name.starts_with("menu.")) continue;
        ++entries;
        CHECK(ui.rect(name).end().y <= 800.0F);
      }
      CHECK(entries > 8);
      ui.press(Key::Escape);
    }
  }

  TEST_CASE("tooltips cover nothing of what they explain") {
    UiDriver ui(of_captions(), open_gpu_runner);
    for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1600, 1000)}) {
      ui.resize(size.x, size.y);
      for (const char* view : {"head", "lines", "what_if", "heads"}) {
        ui.show(view);
        std::set<std::string> names;
        for (const auto& item : ui.window().item_tips()) names.insert(item.first);
        for (const std::string& name : names) {
          if (!ui.sees(name)) continue;
          const chart::Rect item = ui.rect(name);
          if (item.size.y > 0.4F * static_cast<float>(size.y)) continue;  // larger than what could stand beside it
          ui.feed({shell::MouseLeave{}, shell::MouseMove{item.center()}});
          ui.wait(2.0);
          ui.settle();
          if (!ui.sees("tooltip") || !ui.sees(name)) continue;
          const chart::Rect tip = ui.rect("tooltip"), now = ui.rect(name);
          CAPTURE(name);
          CAPTURE(std::string(view));
          const bool is_apart = tip.end().x <= now.origin.x || tip.origin.x >= now.end().x || tip.end().y <= now.origin.y ||
                                tip.origin.y >= now.end().y;
          CHECK(is_apart);
        }
      }
    }
  }

  TEST_CASE("a cell's card leaves the map free, a dialog's tooltips the dialog; typing sends them away") {
    State state = of_captions();
    compare_with_text(state, "A man in a red shirt rides a bike.");
    UiDriver ui(state, open_gpu_runner);
    const auto is_apart = [&](const std::string& name) {
      const chart::Rect tip = ui.rect("tooltip"), of = ui.rect(name);
      return tip.end().x <= of.origin.x || tip.origin.x >= of.end().x;
    };
    const auto rest = [&] {
      ui.wait(2.0);
      ui.settle();
    };
    ui.show("head");
    ui.feed({shell::MouseMove{ui.at("head.map", 0.3F, 0.8F)}});
    rest();
    REQUIRE(ui.sees("tooltip"));
    CHECK(is_apart("head.map"));
    CHECK(text_on_screen(ui.rect("tooltip")).find("first \u2212 second text") != std::string::npos);
    ui.press(Key::O, shell::kControl);
    ui.move_to("browser.path");
    rest();
    REQUIRE(ui.sees("tooltip"));
    CHECK(is_apart("browser.path"));
    CHECK(is_apart("browser.open"));
    ui.type("c");
    rest();
    CHECK_FALSE(ui.sees("tooltip"));
    ui.move_to("browser.browse");
    rest();
    CHECK(ui.sees("tooltip"));
  }

  TEST_CASE("tooltips of tokens, predictions, words, nodes and products stand beside them as well") {
    State state = of_captions();
    state.set(kMapView.groups_words, true);
    UiDriver ui(state, open_gpu_runner);
    std::size_t seen = 0;
    const std::string last = std::to_string(ui.result().input->source.lengths[0] - 1);
    const std::vector<std::pair<std::string, std::string>> drawn = {
        {"head", "head.words"},          {"head", "chips.source.0.3"},   {"predictions", "prediction.0"},
        {"predictions", "prediction.3"}, {"neuron", "neuron.product.1"}, {"flow", "flow.node.4." + last},
        {"block", "block.sizes"}};
    for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1600, 1000)}) {
      ui.resize(size.x, size.y);
      for (const auto& one : drawn) {
        const std::string& name = one.second;
        CAPTURE(name);
        CAPTURE(size.x);
        ui.show(one.first);
        ui.feed({shell::MouseLeave{}});
        if (!ui.sees(name)) continue;  // in a low window
        ++seen;
        ui.move_to(name);
        ui.wait(2.0);
        ui.settle();
        REQUIRE(ui.sees("tooltip"));
        const chart::Rect tip = ui.rect("tooltip");
        chart::Rect now = ui.rect(name);
        if (name == "head.words") now = {.origin = now.center() - 4.0F, .size = glm::vec2(8.0F)};  // within one of its cells
        const bool is_apart = tip.end().x <= now.origin.x || tip.origin.x >= now.end().x || tip.end().y <= now.origin.y ||
                              tip.origin.y >= now.end().y;
        CHECK(is_apart);
        CHECK(tip.origin.x >= 0.0F);
        CHECK(tip.end().x <= static_cast<float>(size.x));
      }
    }
    CHECK(seen >= 10);
  }

  TEST_CASE("predictions at every position are listed on demand, and a click goes to one of them") {
    UiDriver ui(of_captions(), open_gpu_runner);
    ui.show("predictions");
    CHECK_FALSE(ui.sees("prediction.position.row.3"));
    ui.click("predictions.part.1");
    for (const char* row : {"prediction.position.row.0", "prediction.position.row.19"}) CHECK(ui.sees(row));
    check_tips(ui);
    std::size_t known = 0;
    for (const auto& [query, prediction] : ui.result().predictions) known += query.layer == 4 ? 1U : 0U;
    CHECK(known >= 20);
    ui.click("prediction.position.row.3");
    REQUIRE(ui.state().view.pinned);
    CHECK(ui.state().view.pinned->query == 3);
    CHECK_FALSE(ui.sees("prediction.position.row.0"));
  }

  TEST_CASE("the grid folds where the view shows all heads itself, and opens by choice; the row stays as it is") {
    UiDriver ui(of_captions(), open_gpu_runner);
    REQUIRE(ui.sees("grid.encoder.0.0"));
    const chart::Rect group = ui.rect("tabs.Why");
    ui.show("model");
    CHECK_FALSE(ui.sees("grid.encoder.0.0"));
    CHECK(ui.rect("tabs.Why") == group);
    ui.press(Key::G, shell::kControl);
    CHECK(ui.sees("grid.encoder.0.0"));
    ui.press(Key::G, shell::kControl);
    CHECK_FALSE(ui.sees("grid.encoder.0.0"));
  }

  TEST_CASE("patching concludes in words, and its paths open where something is to be seen") {
    UiDriver ui(of_captions("a man with red hair and a man with"), open_gpu_runner);
    ui.press(Key::D, shell::kControl);
    ui.wait(5.0);
    ui.fill_in("text.edit", "a man with blue hair and a man with");
    ui.show("patching");
    CHECK(plain_text(ui.window().sentence()).find(" the difference") != std::string::npos);
    ui.click("patching.map.4");
    REQUIRE(plain_text(ui.window().sentence()).find(" the difference into ") != std::string::npos);
    CHECK(ui.sees("patching.receiver"));
  }
}

}  // namespace viewer_layout_test
