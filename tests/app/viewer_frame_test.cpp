#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "app/dialogs/glossary.h"
#include "app/hand.h"
#include "core/atomic_file.h"
#include "support/temporary_directory.h"

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

/// Every control that the last frame drew says what it does, in one sentence.
void check_tips(Hand& hand) {
  CHECK(hand.window().item_tips().size() > 0);
  for (const auto& [name, tip] : hand.window().item_tips()) {
    CAPTURE(name);
    CAPTURE(tip);
    CHECK_FALSE(tip.empty());
    CHECK(tip.size() <= 220);
    CHECK(tip.find('\n') == std::string::npos);
  }
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("at 1024 × 640 the map is large, and the folded grid opens and folds by mouse and key") {
    Hand hand;
    hand.resize(1024, 640);
    CHECK(hand.sees("rail.grid"));
    CHECK_FALSE(hand.sees("grid.encoder.0.0"));
    const float alone = hand.rect("head.map").width;
    CHECK(alone >= 260.0F);  // seen: see the bound of the height; it was 100 between two panels
    hand.click("rail.grid");
    CHECK(hand.sees("grid.encoder.0.0"));
    CHECK(hand.window().settings().panes.grid_fold == Fold::Open);
    hand.press(Key::B, kControl);
    CHECK_FALSE(hand.sees("text.edit"));
    CHECK(hand.sees("rail.sidebar"));
    hand.click("fold.grid");
    CHECK_FALSE(hand.sees("grid.encoder.0.0"));
    CHECK(hand.window().settings().panes.grid_fold == Fold::Folded);
    hand.click("rail.sidebar");
    CHECK(hand.sees("text.edit"));
    hand.resize(1600, 1000);
    CHECK(hand.sees("rail.grid"));  // chosen, so remembered
    hand.press(Key::G, kControl);
    CHECK(hand.sees("grid.encoder.0.0"));
    hand.click("fold.sidebar");
    CHECK(hand.window().settings().panes.sidebar_fold == Fold::Folded);
  }

  TEST_CASE("a control's tooltip comes when the pointer rests, and goes with it") {
    Hand hand;
    hand.move_to("head.stage.3");
    const std::uint64_t before = hand.ui().pictures();
    CHECK(hand.window().redraw_after_s() < 1.0);
    hand.wait(1.0);
    hand.settle();
    CHECK(hand.ui().pictures() > before);
    CHECK(hand.window().redraw_after_s() > 1.0);
  }

  TEST_CASE("every control in the window, its menus and its dialogs has a tooltip") {
    State state;
    state.text = "one two three\nfour";
    state.cross = true;
    state.key_text = "five six";
    Hand hand(state, open_reference_runner, {}, true);
    check_tips(hand);
    hand.click("head.mean");
    CHECK(hand.sees("head.mean.layer"));
    check_tips(hand);
    hand.press(Key::Escape);
    hand.press(Key::F1);
    check_tips(hand);
    hand.press(Key::Escape);
    for (const char* menu : {"File", "Edit", "View", "Presets", "Device", "Help"}) {
      CAPTURE(menu);
      hand.click(std::string("menu.") + menu);
      check_tips(hand);
      hand.press(Key::Escape);
    }
    hand.click("menu.View");
    for (const char* menu : {"Map", "Colour map", "Colour range", "Order of the grid", "Interface scale"}) {
      CAPTURE(menu);
      hand.move_to(std::string("menu.") + menu);
      check_tips(hand);
    }
    hand.press(Key::Escape);
    for (const Key tab : {Key::Digit2, Key::Digit3}) {
      hand.press(tab);
      check_tips(hand);
    }
    hand.press(Key::S, kControlShift);
    check_tips(hand);
    hand.press(Key::Escape);
    hand.press(Key::O, kControl);
    check_tips(hand);
    hand.press(Key::Escape);
    hand.press(Key::E, kControl);
    hand.click("export.range.1");
    check_tips(hand);
    hand.click("export.browse");
    CHECK(hand.sees("folder.use"));
    check_tips(hand);
  }

  TEST_CASE("a translator's controls have tooltips, too") {
    Hand hand({}, open_reference_runner, {}, true);
    show_golden_model(hand, "marian");
    CHECK(hand.sees("head.rows.0"));
    check_tips(hand);
    hand.press(Key::Digit3);
    check_tips(hand);
  }

  TEST_CASE("F1 shows keys and words, all of them at any size") {
    Hand hand;
    hand.press(Key::F1);
    for (const auto& [width, height] : {std::pair(1600U, 1000U), std::pair(1024U, 640U)}) {
      hand.resize(width, height);
      CAPTURE(width);
      hand.click("help.0");
      const shell::UiRect page = hand.rect("help.page");
      CHECK(page.y + page.height <= static_cast<float>(height) - 16.0F);
      if (height < 1000U) {  // what doesn't fit is scrolled to
        CHECK(hand.rect("help.end").y > page.y + page.height);
        hand.move_to("help.page");
        for (int i = 0; i < 12; ++i) hand.ui().feed(shell::MouseWheel{.horizontal = 0.0F, .vertical = -3.0F});
        hand.settle();
      }
      CHECK(hand.rect("help.end").y <= page.y + page.height + 10.0F);  // the last line has room below it
    }
    hand.click("help.1");
    CHECK(hand.sees("help.end"));
    for (const char* word : {"score", "scaled", "masked", "absolute, per row", "concentration", "gain", "knock out", "fill",
                             "prefix", "logit lens"}) {
      const auto has_word = [&](const GlossaryEntry& entry) { return entry.word == word; };
      CHECK_MESSAGE(std::ranges::any_of(glossary(), has_word), word);
    }
  }

  TEST_CASE("the export dialog asks for title, size, resolution, colours and folder") {
    const TemporaryDirectory directory;
    fs::create_directories(directory.path() / "figures" / "first");
    fs::create_directories(directory.path() / "figures" / "second");
    Hand hand;
    hand.press(Key::E, kControl);
    hand.fill_in("export.folder", (directory.path() / "figures").string());
    hand.press(Key::E, kControl);  // leaving the field with Escape closed the dialog
    hand.click("export.browse");
    hand.click("folder.1");
    CHECK(hand.sees("folder.up"));
    hand.click("folder.use");
    hand.click("export.format.svg");
    hand.click("export.format.png");
    hand.click("export.range.1");
    hand.click("export.title");
    hand.type("My title");
    hand.click("export.start");
    CHECK(hand.sees("export.outcome"));
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
    Hand hand;
    hand.press(Key::C, kControlShift);
    CHECK(hand.window().notice().text == "The figure is on the clipboard.");
    CHECK(read_file(copied).substr(1, 3) == "PNG");
    CHECK(read_file(copied.string() + ".arguments").find("-t image/png") != std::string::npos);
    programs.add("xclip", "exit 1");
    hand.press(Key::C, kControlShift);
    CHECK(hand.window().notice().is_warning);
    setenv("PATH", directory.path().c_str(), 1);
    fs::remove(directory.path() / "xclip");
    hand.press(Key::C, kControlShift);
    CHECK(hand.window().notice().text.find("needs xclip") != std::string::npos);
  }

  TEST_CASE("a pinned cell's numbers are copied as text") {
    Hand hand;
    std::string clipboard;
    hand.ui().set_clipboard(
        {.read = [&] { return clipboard; }, .write = [&](const std::string& text) { clipboard = text; }});
    hand.press(Key::C, kControl);
    CHECK(clipboard.empty());
    hand.click("chips.query.0.1");
    hand.press(Key::C, kControl);
    CHECK(clipboard.starts_with("layer 0, head 0\nquery 1: "));
    CHECK(clipboard.find("\nweight 0.") != std::string::npos);
  }
}
