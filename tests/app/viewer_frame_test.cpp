#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "app/ui_driver.h"
#include "app/window/dialogs/help_dialogs.h"
#include "core/file.h"
#include "support/temporary_directory.h"

namespace viewer_frame_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;

namespace {

namespace fs = std::filesystem;

/// PATH and a display, for programs of the test's own in a folder.
class FakePrograms {
 public:
  explicit FakePrograms(const fs::path& folder) : folder_(folder) {
    set("PATH", folder.string() + ":" + (std::getenv("PATH") != nullptr ? std::getenv("PATH") : ""));
    set("DISPLAY", ":77");
    unsetenv("WAYLAND_DISPLAY");
  }
  ~FakePrograms() {
    for (const auto& [name, value] : old_) value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  FakePrograms(const FakePrograms&) = delete;
  FakePrograms& operator=(const FakePrograms&) = delete;

  /// A shell script.
  void add(const std::string& name, const std::string& script) const {
    write_file_atomically(folder_ / name, "#!/bin/sh\n" + script + "\n");
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }

 private:
  void set(const char* name, const std::string& value) {
    const char* old = std::getenv(name);
    old_.emplace_back(name, old ? std::optional<std::string>(old) : std::nullopt);
    setenv(name, value.c_str(), 1);
  }

  fs::path folder_;
  std::vector<std::pair<std::string, std::optional<std::string>>> old_;
};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("at 1024 × 640 the map is large, and the folded grid opens and folds by mouse and key") {
    UiDriver ui;
    ui.resize(1024, 640);
    CHECK(ui.sees("grid.encoder.0.0"));
    CHECK(ui.rect("head.map").size.x >= 260.0F);  // it was 100 between two panels
    ui.resize(780, 640);
    CHECK(ui.sees("rail.grid"));
    CHECK_FALSE(ui.sees("grid.encoder.0.0"));
    ui.click("rail.grid");
    CHECK(ui.sees("grid.encoder.0.0"));
    CHECK(ui.window().settings().panes.grid_fold == Fold::Open);
    ui.resize(1024, 640);
    ui.press(Key::F4);
    REQUIRE(ui.sees("lesson.close"));
    ui.press(Key::B, kControl);
    CHECK_FALSE(ui.sees("lesson.close"));
    CHECK(ui.sees("rail.sidebar"));
    ui.click("fold.grid");
    CHECK_FALSE(ui.sees("grid.encoder.0.0"));
    CHECK(ui.window().settings().panes.grid_fold == Fold::Folded);
    ui.click("rail.sidebar");
    CHECK(ui.sees("lesson.close"));
    ui.resize(1600, 1000);
    CHECK(ui.sees("rail.grid"));  // chosen, so remembered
    ui.press(Key::G, kControl);
    CHECK(ui.sees("grid.encoder.0.0"));
    ui.click("fold.sidebar");
    CHECK(ui.window().settings().panes.sidebar_fold == Fold::Folded);
  }

  TEST_CASE("a control's tooltip comes when the pointer rests, and goes with it") {
    UiDriver ui;
    ui.draw_every_frame();
    ui.move_to("head.stage.3");
    const std::uint64_t before = ui.ui().frames_drawn();
    CHECK(ui.window().redraw_after_s() < 1.0);
    ui.wait(1.0);
    ui.settle();
    CHECK(ui.ui().frames_drawn() > before);
    CHECK(ui.window().redraw_after_s() > 1.0);
  }

  TEST_CASE("what the user does redraws a part of the window, and all pixels are as if everything were redrawn") {
    UiDriver ui;
    ui.draw_every_frame();
    constexpr std::uint64_t kWindow = 1600ULL * 1000ULL;
    const auto check_pixels = [&] {
      ui.wait(1.0);  // a tooltip may come
      ui.settle();
      const shell::PixelImage kept = ui.ui().read_pixels();
      const std::uint64_t before = ui.ui().pixels_drawn();
      ui.ui().redraw_all();
      ui.settle();
      CHECK(ui.ui().pixels_drawn() >= before + kWindow);
      CHECK(kept.rgba == ui.ui().read_pixels().rgba);
      const std::uint64_t rested = ui.ui().pixels_drawn();
      ui.settle();
      CHECK(ui.ui().pixels_drawn() == rested);
    };
    ui.click("text.edit");
    std::uint64_t before = ui.ui().pixels_drawn();
    std::uint64_t frames = ui.ui().frames_drawn();
    ui.type("x");
    CHECK(ui.ui().pixels_drawn() > before);
    CHECK(ui.ui().pixels_drawn() - before < kWindow * (ui.ui().frames_drawn() - frames) * 3 / 4);
    ui.press(Key::Escape);  // no caret blinks
    check_pixels();
    before = ui.ui().pixels_drawn();
    frames = ui.ui().frames_drawn();
    ui.move_to("head.stage.3");
    ui.wait(1.0);
    ui.settle();  // its tooltip is there
    CHECK(ui.ui().pixels_drawn() > before);
    CHECK(ui.ui().pixels_drawn() - before < kWindow * (ui.ui().frames_drawn() - frames) / 4);
    check_pixels();
    ui.click_cell(1, 0);
    check_pixels();
    ui.click("menu.View");
    check_pixels();
    ui.press(Key::Escape);
    ui.press(Key::F1);
    check_pixels();
    ui.press(Key::Escape);
    for (const Key tab : {Key::Digit2, Key::Digit3, Key::Digit1}) {
      ui.press(tab);
      check_pixels();
    }
    ui.press(Key::G, kControl);
    check_pixels();
  }

  TEST_CASE("every control in the window, its menus and its dialogs has a tooltip") {
    State state = with_text("one two three\nfour");
    state.playground().cross = true;
    state.playground().key_text = "five six";
    UiDriver ui(state, open_reference_runner, {}, true);
    check_tips(ui);
    ui.click("head.mean");
    CHECK(ui.sees("head.mean.layer"));
    check_tips(ui);
    ui.press(Key::Escape);
    ui.press(Key::F1);
    check_tips(ui);
    ui.press(Key::Escape);
    for (const char* menu : {"File", "Edit", "View", "Help"}) {
      CAPTURE(menu);
      ui.click(std::string("menu.") + menu);
      check_tips(ui);
      ui.press(Key::Escape);
    }
    for (const auto& [menu, inner] : {std::pair("menu.File", "menu.Presets"), std::pair("menu.Edit", "menu.Device")}) {
      ui.click(menu);
      ui.move_to(inner);
      check_tips(ui);
      ui.press(Key::Escape);
    }
    ui.click("menu.View");
    for (const char* menu : {"Map", "Colour map", "Colour range", "Order of the grid", "Interface scale"}) {
      CAPTURE(menu);
      ui.move_to(std::string("menu.") + menu);
      check_tips(ui);
    }
    ui.press(Key::Escape);
    for (const Key tab : {Key::Digit2, Key::Digit3}) {
      ui.press(tab);
      check_tips(ui);
    }
    ui.press(Key::S, kControlShift);
    check_tips(ui);
    ui.press(Key::Escape);
    ui.press(Key::O, kControl);
    check_tips(ui);
    ui.press(Key::Escape);
    ui.press(Key::E, kControl);
    check_tips(ui);
    ui.click("export.per_row.1");
    check_tips(ui);
    ui.click("export.browse");
    CHECK(ui.sees("folder.use"));
    check_tips(ui);
  }

  TEST_CASE("a translator's controls have tooltips, too") {
    UiDriver ui({}, open_reference_runner, {}, true);
    show_golden_model(ui, "marian");
    CHECK(ui.sees("view.row_names.0"));
    check_tips(ui);
    ui.press(Key::Digit3);
    check_tips(ui);
  }

  TEST_CASE("F1 shows keys and words, all of them at any size") {
    UiDriver ui;
    ui.press(Key::F1);
    for (const auto& size : {std::pair(1600U, 1000U), std::pair(1024U, 640U)}) {
      const auto& width = size.first;
      const auto& height = size.second;
      ui.resize(width, height);
      CAPTURE(width);
      ui.click("help.0");
      const chart::Rect page = ui.rect("help.page");
      CHECK(page.origin.y + page.size.y <= static_cast<float>(height) - 16.0F);
      if (ui.rect("help.end").origin.y > page.origin.y + page.size.y) {  // what doesn't fit is scrolled to
        ui.move_to("help.page");
        for (int i = 0; i < 12; ++i) ui.ui().feed(shell::MouseWheel{.steps = {0.0F, -3.0F}});
        ui.settle();
      }
      CHECK(ui.rect("help.end").origin.y <= page.origin.y + page.size.y + 10.0F);  // the last line has room below it
    }
    ui.click("help.1");
    CHECK(ui.sees("help.end"));
    for (const char* word : {"score", "scaled", "masked", "to largest, per row, fixed, to 98 %", "concentration", "gain",
                             "knock out", "fill", "prefix", "logit lens"}) {
      const auto has_word = [&](const GlossaryEntry& entry) { return entry.word == word; };
      CHECK_MESSAGE(std::ranges::any_of(glossary(), has_word), word);
    }
  }

  TEST_CASE("the export dialog asks for title, size, resolution, colours and folder") {
    const TemporaryDirectory directory;
    fs::create_directories(directory.path() / "figures" / "first");
    fs::create_directories(directory.path() / "figures" / "second");
    UiDriver ui;
    ui.press(Key::E, kControl);
    ui.fill_in("export.folder", (directory.path() / "figures").string());
    ui.press(Key::E, kControl);  // leaving the field with Escape closed the dialog
    ui.click("export.browse");
    ui.click("folder.1");
    CHECK(ui.sees("folder.up"));
    ui.click("folder.use");
    ui.click("export.format.svg");
    ui.click("export.format.png");
    ui.click("export.per_row.1");
    ui.click("export.title");
    ui.type("My title");
    ui.press(Key::Enter);
    ui.click("export.start");
    CHECK(ui.sees("export.outcome"));
    bool has_title = false;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory.path() / "figures" / "second")) {
      if (entry.path().extension() != ".svg") continue;
      const std::string svg = read_file(entry.path());
      has_title = svg.find("My title") != std::string::npos;
      CHECK(svg.find("row maximum") != std::string::npos);
    }
    CHECK(has_title);
  }

  TEST_CASE("copying a figure hands a PNG to the clipboard's program, or says what is missing") {
    const TemporaryDirectory directory;
    FakePrograms programs(directory.path());
    const fs::path copied = directory.path() / "copied";
    programs.add("xclip", "echo \"$@\" > '" + copied.string() + ".arguments'; cat > '" + copied.string() + "'");
    UiDriver ui;
    ui.press(Key::C, kControlShift);
    CHECK(ui.window().notice().text == "The figure is on the clipboard.");
    CHECK(read_file(copied).substr(1, 3) == "PNG");
    CHECK(read_file(copied.string() + ".arguments").find("-t image/png") != std::string::npos);
    programs.add("xclip", "exit 1");
    ui.press(Key::C, kControlShift);
    CHECK(ui.window().notice().is_warning);
    setenv("PATH", directory.path().c_str(), 1);
    fs::remove(directory.path() / "xclip");
    ui.press(Key::C, kControlShift);
    CHECK(ui.window().notice().text.find("needs xclip") != std::string::npos);
  }

  TEST_CASE("a pinned cell's numbers are copied as text") {
    UiDriver ui;
    std::string clipboard;
    ui.ui().set_clipboard({.read = [&] { return clipboard; }, .write = [&](const std::string& text) { clipboard = text; }});
    ui.press(Key::C, kControl);
    CHECK(clipboard.empty());
    ui.click("chips.query.0.1");
    ui.press(Key::C, kControl);
    CHECK(clipboard.starts_with("layer 0, head 0\nquery 1: "));
    CHECK(clipboard.find("\nweight 0.") != std::string::npos);
  }
}

}  // namespace viewer_frame_test
