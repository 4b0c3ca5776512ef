// Figures of views from the export dialog.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "app/ui_driver.h"
#include "app/window/offscreen_viewer.h"
#include "core/file.h"
#include "support/temporary_directory.h"

namespace viewer_figures_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;
namespace fs = std::filesystem;

TEST_SUITE("gpu") {
  TEST_CASE("the export dialog offers the figures of views, previews the chosen one and writes all of them") {
    const TemporaryDirectory folder;
    UiDriver ui(with_text("one two three"));
    ui.press(Key::E, kControl);
    ui.click("export.view.Head");
    for (const char* view : {"Heads", "Grid", "Lines", "Text", "Steps", "Metrics"}) {
      CAPTURE(view);
      ui.click(fmt::format("export.view.{}", view));
    }
    CHECK_FALSE(ui.sees("export.view.Side by side"));  // there is no baseline
    CHECK_FALSE(ui.sees("export.numbers.0"));
    ui.click("export.view.Heads");  // a sheet of one head would be the head's figure
    ui.click("export.view.Heads");
    const chart::Rect preview = ui.rect("export.preview");
    CHECK(preview.size.x > 700.0F);
    CHECK(preview.size.y > 600.0F);
    ui.settle();
    ui.click("export.format.svg");
    ui.fill_in("export.folder", (folder.path() / "out").string());
    ui.click("export.start");
    for (const char* name : {"grid.svg", "layer-00_lines.svg", "layer-00_batch-0_head-00_text.svg",
                             "layer-00_batch-0_head-00_steps.svg", "metrics.svg", "grid.png"}) {
      CAPTURE(name);
      CHECK(fs::exists(folder.path() / "out" / name));
    }
    CHECK_FALSE(fs::exists(folder.path() / "out" / "layer-00_batch-0_head-00_weights.svg"));
  }

  TEST_CASE("a figure needs no mouse: Ctrl+E, then Enter, which leaves a field first and isn't the palette's, still held") {
    const TemporaryDirectory folder;
    UiDriver ui(with_text("one two three"));
    ui.press(Key::E, kControl);
    ui.click("export.folder");
    ui.press(Key::A, kControl);
    ui.type((folder.path() / "out").string());
    ui.press(Key::Enter);
    CHECK_FALSE(fs::exists(folder.path() / "out"));
    ui.press(Key::Escape);
    ui.press(Key::P, kControl);
    ui.type("Export");
    ui.press(Key::Enter);
    REQUIRE(ui.window().export_dialog().is_open());
    for (int i = 0; i < 5; ++i) {
      ui.wait(0.1);
      ui.press(Key::Enter);
    }
    CHECK_FALSE(fs::exists(folder.path() / "out"));
    ui.wait(1.0);
    ui.press(Key::Enter);
    CHECK(fs::exists(folder.path() / "out" / "L0H0.pdf"));
  }

  TEST_CASE("with a baseline the dialog writes differences or the run's own numbers, and pairs of both") {
    const TemporaryDirectory folder;
    UiDriver ui(with_text("one two three"));
    ui.press(Key::D, kControl);
    REQUIRE(ui.state().compare.baseline);
    ui.press(Key::L, kControl);
    ui.press(Key::Enter);
    ui.type("four");
    ui.press(Key::Escape);
    ui.press(Key::E, kControl);
    ui.click("export.more");
    CHECK(ui.sees("export.start"));
    CHECK_FALSE(ui.sees("export.view.Side by side"));  // runs of other numbers of lines have nothing to compare
    ui.press(Key::Escape);
    ui.press(Key::Z, kControl);
    ui.press(Key::C);  // the causal mask
    ui.press(Key::E, kControl);
    REQUIRE(ui.sees("export.view.Side by side"));
    check_tips(ui);
    ui.click("export.view.Side by side");
    ui.click("export.format.svg");
    ui.fill_in("export.folder", (folder.path() / "difference").string());
    ui.click("export.start");  // maps show differences, and so the dialog begins with them
    const std::string head = "layer-00_batch-0_head-00";
    CHECK(fs::exists(folder.path() / "difference" / (head + "_difference_weights.svg")));
    CHECK(fs::exists(folder.path() / "difference" / (head + "_side_by_side.svg")));
    ui.click("export.numbers.0");
    ui.fill_in("export.folder", (folder.path() / "own").string());
    ui.click("export.start");
    CHECK(fs::exists(folder.path() / "own" / (head + "_weights.svg")));
    CHECK_FALSE(fs::exists(folder.path() / "own" / (head + "_difference_weights.svg")));
    CHECK(read_file(folder.path() / "own" / (head + "_side_by_side.svg")).find("the other run") == std::string::npos);
  }

  TEST_CASE("of two runs side by side each map has its own run's tokens, on screen, in the view's figure and in a pair") {
    const TemporaryDirectory folder;
    UiDriver ui(with_text("one two three"));
    ui.press(Key::D, kControl);
    ui.fill_in("text.edit", "one two four");
    REQUIRE(ui.result().baseline_input);
    CHECK(ui.result().baseline_input->source.texts[0][2] == "three");
    CHECK(ui.result().input->source.texts[0][2] == "four");
    ui.press(Key::Escape);
    ui.press(Key::J);
    ui.click("side_by_side.right.1");
    REQUIRE(ui.sees("side_by_side.other"));
    ui.window().write_figure(folder.path() / "view.svg");
    ui.press(Key::E, kControl);
    ui.click("export.view.Side by side");
    ui.click("export.format.svg");
    ui.fill_in("export.folder", folder.path().string());
    ui.click("export.start");
    for (const char* name : {"view.svg", "layer-00_batch-0_head-00_side_by_side.svg"}) {
      CAPTURE(name);
      const std::string svg = read_file(folder.path() / name);
      for (const char* token : {">three<", ">four<"}) {
        CAPTURE(token);
        const std::size_t first = svg.find(token);
        REQUIRE(first != std::string::npos);
        CHECK(svg.find(token, first + 1) != std::string::npos);  // as a query and as a key
      }
    }
  }
}

}  // namespace viewer_figures_test
