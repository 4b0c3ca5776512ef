// Figures of views from the export dialog.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "app/ui_driver.h"
#include "app/window/png_file.h"
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
    State state;
    state.text() = "one two three";
    UiDriver ui(state);
    ui.press(Key::E, kControl);
    ui.click("export.view.Head");
    for (const char* view : {"Heads", "Grid", "Lines", "Text", "Steps", "Metrics"}) {
      CAPTURE(view);
      ui.click(fmt::format("export.view.{}", view));
    }
    CHECK_FALSE(ui.sees("export.view.Pair"));  // an export of the window is of one run
    ui.click("export.view.Heads");             // a sheet of one head would be the head's figure
    ui.click("export.view.Heads");
    ui.click("export.look");
    const view::Rect preview = ui.rect("export.preview");
    CHECK(preview.size.x > 700.0F);
    CHECK(preview.size.y > 600.0F);
    ui.settle();
    const shell::PixelImage small = ui.ui().read_pixels();
    if (const char* kept = std::getenv("HEADLIGHT_TEST_OUT")) write_png(fs::path(kept) / "export_preview_view.png", small);
    ui.click("export.back");
    ui.click("export.format.svg");
    ui.fill_in("export.folder", (folder.path() / "out").string());
    if (const char* kept = std::getenv("HEADLIGHT_TEST_OUT"))
      write_png(fs::path(kept) / "export_dialog_views.png", ui.ui().read_pixels());
    ui.click("export.start");
    for (const char* name : {"grid.svg", "layer-00_lines.svg", "layer-00_batch-0_head-00_text.svg",
                             "layer-00_batch-0_head-00_steps.svg", "metrics.svg", "grid.png"}) {
      CAPTURE(name);
      CHECK(fs::exists(folder.path() / "out" / name));
    }
    CHECK_FALSE(fs::exists(folder.path() / "out" / "layer-00_batch-0_head-00_weights.svg"));
  }
}

}  // namespace viewer_figures_test
