// The command palette in the window: what it lists, how it is used with keys and mouse, and what it looks like.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/commands/command_list.h"
#include "app/ui_driver.h"
#include "app/window/offscreen_viewer.h"
#include "project/source_tree.h"

namespace viewer_palette_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

const CommandPalette& palette(UiDriver& ui) { return ui.window().palette(); }

/// Opens the palette and types.
void look_for(UiDriver& ui, const std::string& query) {
  ui.press(Key::P, kControl);
  REQUIRE(palette(ui).is_open());
  ui.type(query);
}

/// Titles from the top.
std::vector<std::string> titles(UiDriver& ui) {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < palette(ui).count(); ++i) list.push_back(palette(ui).entry(i).title);
  return list;
}

bool lists(UiDriver& ui, const std::string& title) {
  const std::vector<std::string> list = titles(ui);
  return std::ranges::find(list, title) != list.end();
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("Ctrl+P opens the palette, letters find a command, Enter runs it, and the notice has its Undo") {
    UiDriver ui;
    look_for(ui, "causal");
    CHECK(titles(ui).front() == "Causal mask on or off");
    CHECK(palette(ui).entry(0).keys == "C");
    ui.press(Key::Enter);
    CHECK_FALSE(palette(ui).is_open());
    CHECK_FALSE(ui.sees("palette.query"));
    CHECK(ui.state().masks.by_kind[0].rule.causal);
    CHECK(ui.window().toast().text == "Causal mask on");
    CHECK(ui.window().toast().can_undo);
    ui.click("toast.button");
    CHECK_FALSE(ui.state().masks.by_kind[0].rule.causal);
  }

  TEST_CASE("what is typed is the palette's: no key reaches the map, and Escape, Ctrl+P and a click beside it close it") {
    UiDriver ui;
    const State before = ui.state();
    look_for(ui, "c");
    ui.press(Key::C);
    ui.press(Key::Down);
    ui.press(Key::PageDown);
    CHECK(ui.state() == before);
    ui.press(Key::Escape);
    CHECK_FALSE(palette(ui).is_open());
    ui.press(Key::P, kControl);
    ui.press(Key::P, kControl);
    CHECK_FALSE(palette(ui).is_open());
    ui.press(Key::P, kControl);
    ui.ui().feed(shell::click_at({20.0F, 980.0F}));
    ui.settle();
    CHECK_FALSE(palette(ui).is_open());
    CHECK(ui.state() == before);
    ui.press(Key::C);
    CHECK(ui.state().masks.by_kind[0].rule.causal);
  }

  TEST_CASE("arrows and page keys go through the list and around its ends") {
    UiDriver ui;
    ui.press(Key::P, kControl);
    CHECK(palette(ui).selected() == 0);
    ui.press(Key::Down);
    ui.press(Key::Down);
    CHECK(palette(ui).selected() == 2);
    ui.press(Key::Up);
    CHECK(palette(ui).selected() == 1);
    ui.press(Key::PageDown);
    CHECK(palette(ui).selected() == 13);
    CHECK(ui.sees("palette.13"));
    CHECK_FALSE(ui.sees("palette.0"));
    ui.press(Key::PageUp);
    CHECK(palette(ui).selected() == 1);
    CHECK(ui.sees("palette.1"));
    ui.press(Key::Up);
    ui.press(Key::Up);
    CHECK(palette(ui).selected() == palette(ui).count() - 1);
    ui.press(Key::Down);
    CHECK(palette(ui).selected() == 0);
    ui.type("theme");
    CHECK(palette(ui).selected() == 0);
  }

  TEST_CASE("heads are chosen by their short and by their long names, in networks with several kinds too") {
    UiDriver ui;
    look_for(ui, "l1h4");
    ui.press(Key::Enter);
    CHECK(ui.state().selection.block == model::BlockRef{model::BlockKind::EncoderSelf, {1}});
    CHECK(ui.state().selection.head == 4);
    look_for(ui, "layer 0 head 6");
    CHECK(titles(ui).front() == "Layer 0 · head 6");
    ui.press(Key::Enter);
    CHECK(ui.state().selection.block.layer.value == 0);
    CHECK(ui.state().selection.head == 6);
    show_golden_model(ui, "marian");
    look_for(ui, "l0h1 cross");
    CHECK(titles(ui).front() == "Layer 0 · head 1 · cross-attention");
    ui.press(Key::Enter);
    CHECK(ui.state().selection.block == model::BlockRef{model::BlockKind::Cross, {0}});
    CHECK(ui.state().selection.head == 1);
  }

  TEST_CASE("notebooks, models and examples are found and opened; one step to undo each") {
    UiDriver ui(with_text("one two"));
    look_for(ui, "notebook-002");
    ui.press(Key::Enter);
    CHECK(notebook_name(ui.state().source) == "notebook-002");
    look_for(ui, "playground");
    ui.press(Key::Enter);
    CHECK_FALSE(is_notebook(ui.state().source));
    look_for(ui, "repeated words");
    ui.press(Key::Enter);
    CHECK(ui.state().text() == "the cat saw the dog and the dog saw the cat");
    CHECK(ui.window().undo().undo_label() == "Edit text");
    look_for(ui, "captions-gpt2");
    ui.press(Key::Enter);
    REQUIRE(ui.result().model);
    CHECK(ui.result().model->path.filename() == "captions-gpt2");
  }

  TEST_CASE("the palette knows every button's word") {
    // The sources give each button's label that is no number or name. Buttons that only dialogs have aren't among them.
    const std::regex call(
        R"((?:\b[Bb]utton|draw_control|draw_button|draw_caption_button)\(((?:[^;{]|\{[^;{}]*\})*?)\)\s*[;){&|?,])");
    const std::regex literal(R"re("((?:[^"\\]|\\.)*)")re");
    const std::set<std::string> dialogs = {"folder_list.cpp", "survey_form.cpp"};
    constexpr std::size_t kLongestLabel = 40;
    std::set<std::string> words;
    for (const test::SourceFile& file : test::source_tree()) {
      const bool has_buttons = file.path.starts_with("app/views/") || file.path.starts_with("app/widgets/") ||
                               file.path.starts_with("app/window/sidebar/");
      if (!has_buttons || file.extension() != ".cpp" || dialogs.contains(file.name())) continue;
      for (std::sregex_iterator found(file.text.begin(), file.text.end(), call), end; found != end; ++found) {
        const std::string arguments = (*found)[1];
        for (std::sregex_iterator one(arguments.begin(), arguments.end(), literal); one != end; ++one) {
          std::string word = (*one)[1];
          const bool is_help = word.ends_with('.') || word.ends_with(')') || word.find(',') != std::string::npos ||
                               word.size() > kLongestLabel;
          word.resize(std::min(word.find_first_of("#{\\?"), word.size()));
          while (word.ends_with(' ')) word.pop_back();
          const bool is_label = word.size() > 2 && word[0] >= 'A' && word[0] <= 'Z';
          if (is_label && !is_help) words.insert(word);
        }
      }
    }
    CHECK(words.size() > 30);
    for (const char* word : {"Average", "Swap", "Automatic", "Generate", "Keep as baseline"}) CHECK(words.contains(word));
    const auto lower = [](std::string text) {
      for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      return text;
    };
    std::vector<std::string> known{"back to the playground"};
    for (const Command& command : commands()) {
      known.push_back(lower(command.label + ", " + command.menu.label + ", " + command.words));
    }
    for (const std::string& word : words) {
      CAPTURE(word);
      const auto has_word = [&](const std::string& text) { return text.find(lower(word)) != std::string::npos; };
      CHECK(std::ranges::any_of(known, has_word));
    }
    UiDriver ui;
    for (const auto& looked : std::vector<std::pair<std::string, std::string>>{{"swap", "Show Side by side"},
                                                                               {"average", "Show What if"},
                                                                               {"side by side", "Show Side by side"},
                                                                               {"keep this patch", "Show Patching"},
                                                                               {"back to the playground", "Playground"}}) {
      const std::string &word = looked.first, &title = looked.second;
      CAPTURE(word);
      look_for(ui, word);
      REQUIRE(palette(ui).count() > 0);
      CHECK(titles(ui).front() == title);
      ui.press(Key::Escape);
    }
  }

  TEST_CASE("only what is enabled is listed, and switches say that they are on") {
    UiDriver ui;
    ui.press(Key::P, kControl);
    CHECK_FALSE(lists(ui, "Copy the pinned cell's numbers"));
    CHECK_FALSE(lists(ui, "Bring all heads back"));
    CHECK_FALSE(lists(ui, "Find a command, a model or a head"));
    ui.press(Key::Escape);
    ui.click_cell(1, 1);
    ui.press(Key::C);
    ui.press(Key::P, kControl);
    CHECK(lists(ui, "Copy the pinned cell's numbers"));
    CHECK(lists(ui, "Undo: Switch causal mask"));
    ui.type("causal mask");
    CHECK(palette(ui).entry(0).detail == "on");
  }

  TEST_CASE("what was chosen last comes first when nothing is typed, and is remembered") {
    UiDriver ui;
    look_for(ui, "l1h2");
    ui.press(Key::Enter);
    look_for(ui, "dark, light or");
    ui.press(Key::Enter);
    ui.press(Key::P, kControl);
    CHECK(titles(ui)[0] == "Dark, light or high contrast");
    CHECK(titles(ui)[1] == "Layer 1 · head 2");
    CHECK(palette(ui).entry(1).is_recent);
    CHECK_FALSE(palette(ui).entry(2).is_recent);
    CHECK(ui.window().settings().recent_choices == std::vector<std::string>{"command view.theme", "head encoder.1.2"});
  }

  TEST_CASE("nothing found says so, Enter does nothing then, and the field keeps the keyboard") {
    UiDriver ui;
    const State before = ui.state();
    look_for(ui, "zzzz");
    CHECK(palette(ui).count() == 0);
    CHECK(ui.sees("palette.empty"));
    ui.press(Key::Enter);
    ui.press(Key::Down);
    CHECK(palette(ui).is_open());
    CHECK(ui.state() == before);
    for (int i = 0; i < 4; ++i) ui.press(Key::Backspace);
    ui.type("light window");
    CHECK(titles(ui).front() == "Light window");
    ui.press(Key::Enter);
    CHECK(ui.state().view.theme == Theme::Light);
  }

  TEST_CASE("the mouse chooses a row; commands that open dialogs and fields work from here") {
    UiDriver ui;
    look_for(ui, "export");
    ui.click("palette.0");
    CHECK(ui.window().export_dialog().is_open());
    ui.press(Key::P, kControl);  // a dialog is open
    CHECK_FALSE(palette(ui).is_open());
    ui.press(Key::Escape);
    look_for(ui, "write into");
    ui.press(Key::Enter);
    ui.type(" and more");
    CHECK(ui.state().text().ends_with(" and more"));
    ui.press(Key::P, kControl);  // while a text is being edited
    CHECK(palette(ui).is_open());
    ui.press(Key::Escape);
    ui.click("menu.Help");
    ui.click("menu.Find a command\u2026");
    CHECK(palette(ui).is_open());
  }

  TEST_CASE("the palette fits the window at any size, dark and light") {
    UiDriver ui({}, open_reference_runner, {}, true);
    for (const Theme theme : {Theme::Dark, Theme::Light}) {
      if (ui.state().view.theme != theme) ui.press(Key::T);
      for (const auto& [width, height] : {std::pair{1600U, 1000U}, std::pair{1024U, 640U}}) {
        ui.resize(width, height);
        for (const char* query : {"", "mask", "l1h", "zzzz"}) {
          look_for(ui, query);
          const chart::Rect field = ui.rect("palette.query");
          CHECK(field.origin.x >= 0.0F);
          CHECK(field.origin.x + field.size.x <= static_cast<float>(width));
          const std::string last = "palette." + std::to_string(std::min<std::size_t>(palette(ui).count(), 5) - 1);
          if (palette(ui).count() > 0) CHECK(ui.rect(last).origin.y + ui.rect(last).size.y <= static_cast<float>(height));
          ui.press(Key::Escape);
        }
      }
    }
    for (const auto& [width, height, scale] :
         {std::tuple{320U, 240U, 1.0F}, std::tuple{64U, 48U, 1.0F}, std::tuple{1600U, 1000U, 4.0F}}) {
      ui.resize(width, height, scale);
      look_for(ui, "mask");
      ui.press(Key::Escape);
      CHECK_FALSE(ui.window().notice().is_shown());
    }
  }
}

}  // namespace viewer_palette_test
