// The dialog of exports: what it proposes, announces, previews and writes.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "app/figures/export_plan.h"
#include "app/ui_driver.h"
#include "core/file.h"
#include "files/npy.h"
#include "support/decode_npy.h"
#include "support/temporary_directory.h"

namespace viewer_export_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;
namespace fs = std::filesystem;

namespace {

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

/// Returns the names of the files that an export of a window's run announces.
std::set<std::string> announced_names(const ExportOptions& options, const EngineResult& result) {
  const RunShapes run{.blocks = result.blocks, .shapes = result.shapes};
  const std::vector<ExportBlocks> blocks = select_blocks(run, *result.network, options);
  const std::vector<std::string> names = plan_export(options, blocks, *result.network, *result.input).names(options);
  return {names.begin(), names.end()};
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the export dialog writes what it announces") {
    const TemporaryDirectory folder;
    UiDriver ui(with_text("one two three\nfour"));
    ui.press(Key::E, kControl);
    REQUIRE(ui.sees("export.start"));
    for (const char* name : {"export.format.csv", "export.format.npy", "export.stage.q"}) ui.click(name);
    ui.fill_in("export.folder", (folder.path() / "out").string());

    SUBCASE("one head") {
      ui.click("export.start");
      CHECK(ui.sees("export.outcome"));
      const std::set<std::string> names = files_in(folder.path() / "out");
      CHECK(names.contains("weights.npy"));
      CHECK(names.contains("q.npy"));
      CHECK(names.contains("run.json"));
      CHECK(std::ranges::count_if(names, [](const std::string& name) { return name.ends_with(".csv"); }) == 2);
    }
    SUBCASE("everything") {
      ui.click("export.reach.2");
      ui.click("export.start");
      const std::set<std::string> names = files_in(folder.path() / "out");
      CHECK(std::ranges::count_if(names, [](const std::string& name) { return name.ends_with("_weights.png"); }) == 32);
      ExportOptions options;
      options.stages = {attention::Stage::Q, attention::Stage::Weights};
      options.formats = {ExportFormat::Png, ExportFormat::Csv, ExportFormat::Npy};
      CHECK(names == announced_names(options, ui.result()));
    }
    CHECK_FALSE(ui.window().export_dialog().is_running());
    ui.press(Key::Escape);
    CHECK_FALSE(ui.window().export_dialog().is_open());
  }

  TEST_CASE("a region of the map is exported: what is visible, what was dragged, what is typed, after its size is told") {
    const TemporaryDirectory folder;
    State state;
    state.text().clear();
    for (int i = 0; i < 40; ++i) state.text() += "w" + std::to_string(i) + " ";
    UiDriver ui(state);
    const chart::Rect map = ui.rect("head.map");
    ui.ui().feed(shell::drag(map.origin + map.size * 0.26F, map.origin + map.size * glm::vec2(0.76F, 0.41F)));
    ui.settle();
    ui.press(Key::Escape);  // the range's own menu
    ui.press(Key::E, kControl);
    for (const char* name : {"export.format.png", "export.format.npy"}) ui.click(name);
    const auto shape_of = [&](const std::string& name) {
      ui.fill_in("export.folder", (folder.path() / name).string());
      ui.click("export.start");
      return files::decode_npy(read_file(folder.path() / name / "weights.npy")).shape;
    };
    CHECK(shape_of("whole") == Shape{1, 1, 1, 40, 40});
    ui.click("export.region.2");
    CHECK(shape_of("dragged") == Shape{1, 1, 1, 7, 21});  // rows 10 to 16, columns 10 to 30
    CHECK(fs::file_size(folder.path() / "dragged" / "weights.npy") == 128 + 4 * 7 * 21);
    ui.click("export.region.1");
    CHECK(shape_of("visible") == Shape{1, 1, 1, 40, 40});
    ui.click("export.region.3");
    ui.resize(1024, 640);
    ui.click("export.format.png");  // whose settings take the most room
    CHECK(ui.rect("export.start").end().y < 640.0F);
    ui.click("export.format.png");
    ui.resize(1600, 1000);
    ui.fill_in("export.region.queries", "4:6");
    CHECK(shape_of("typed") == Shape{1, 1, 1, 2, 40});
    CHECK_FALSE(ui.sees("export.warning"));

    // An export of something that doesn't exist can't be started, and the dialog says why.
    ui.fill_in("export.region.keys", "2:41");
    CHECK(ui.sees("export.warning"));
    ui.fill_in("export.folder", (folder.path() / "nothing").string());
    ui.click("export.start");
    CHECK_FALSE(fs::exists(folder.path() / "nothing"));
    ui.press(Key::Escape);
    // A zoomed map shows less, and without the view Head nothing is visible.
    for (int i = 0; i < 12; ++i) ui.feed({shell::MouseMove{map.center()}, shell::MouseWheel{.steps = {0.0F, 1.0F}}});
    ui.settle();
    ui.press(Key::E, kControl);
    ui.click("export.region.1");
    CHECK(shape_of("zoomed").back() < 30);
    ui.press(Key::Escape);
    ui.press(Key::Digit2);
    ui.press(Key::E, kControl);
    CHECK(ui.sees("export.warning"));
    ui.click("export.region.0");
    CHECK_FALSE(ui.sees("export.warning"));
  }

  TEST_CASE("an export that can't be written says why in one line") {
    const TemporaryDirectory folder;
    write_file_atomically(folder.path() / "file", "in the way");
    UiDriver ui;
    ui.press(Key::E, kControl);
    ui.fill_in("export.folder", (folder.path() / "file" / "out").string());
    ui.click("export.start");
    CHECK(ui.sees("export.outcome"));
    ui.press(Key::Escape);
    CHECK(ui.sees("head.map"));
  }

  TEST_CASE("nothing chosen, nothing to start") {
    UiDriver ui;
    ui.press(Key::E, kControl);
    ui.click("export.format.png");
    ui.click("export.start");
    CHECK_FALSE(ui.window().export_dialog().is_running());
    CHECK_FALSE(ui.sees("export.outcome"));
  }

  TEST_CASE("the export dialog proposes what the view shows, and keeps what was chosen instead") {
    const TemporaryDirectory folder;
    UiDriver ui;
    ui.press(Key::Digit2);
    ui.press(Key::E, kControl);
    ui.click("export.format.csv");
    ui.click("export.format.png");
    ui.fill_in("export.folder", (folder.path() / "steps").string());
    ui.click("export.start");
    CHECK(files_in(folder.path() / "steps").size() == 14 + 1);  // stages of a playground without feed-forward, and run.json
    ui.click("export.stage.x");
    ui.press(Key::Escape);
    ui.press(Key::E, kControl);
    ui.fill_in("export.folder", (folder.path() / "again").string());
    ui.click("export.start");
    CHECK(files_in(folder.path() / "again").size() == 14);
  }

  TEST_CASE("predictions export logits, hidden states go with them") {
    const TemporaryDirectory folder;
    UiDriver ui({}, open_gpu_runner);  // the reference has no hidden states
    show_golden_model(ui, "gpt2");
    ui.press(Key::Digit3);
    ui.press(Key::E, kControl);
    ui.click("export.stage.hidden");
    ui.fill_in("export.folder", (folder.path() / "out").string());
    const std::set<std::string> expected = {"hidden.npy", "logits.npy", "run.json"};
    ExportOptions options;
    static_cast<ExportContents&>(options) = {.stages = {}, .hidden = true, .logits = true};
    options.formats = {ExportFormat::Npy};
    options.inputs = run_inputs(ui.state());
    CHECK(announced_names(options, ui.result()) == expected);
    ui.click("export.start");
    CHECK(files_in(folder.path() / "out") == expected);
  }

  TEST_CASE("the export dialog previews the figure, and its parts go into the file") {
    const TemporaryDirectory folder;
    UiDriver ui(with_text("one two three"));
    ui.press(Key::E, kControl);
    ui.click("export.look");
    REQUIRE(ui.sees("export.preview"));
    CHECK_FALSE(ui.sees("export.start"));
    const auto image = [&] { return ui.ui().read_pixels(); };
    ui.settle();
    const shell::PixelImage before = image();
    ui.click("export.part.labels");
    ui.click("export.part.bar");
    ui.click("export.dark.1");
    ui.settle();
    CHECK(image().rgba != before.rgba);
    ui.click("export.back");
    ui.click("export.format.svg");
    ui.fill_in("export.folder", (folder.path() / "out").string());
    ui.click("export.start");
    std::string svg;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.path() / "out")) {
      if (entry.path().extension() == ".svg") svg = read_file(entry.path());
    }
    REQUIRE(!svg.empty());
    CHECK(svg.find(">three<") == std::string::npos);
    CHECK(svg.find(">attention weight<") == std::string::npos);
    CHECK(svg.find("<metadata>headlight-session:") != std::string::npos);
  }
}

}  // namespace viewer_export_test
