// The dialog of exports: what it proposes, announces, previews and writes.
#include <doctest/doctest.h>

#include <imgui.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "app/figures/export_plan.h"
#include "app/ui_driver.h"
#include "app/views/view_table.h"
#include "core/file.h"
#include "files/image.h"
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
    REQUIRE(ui.sees("export.save"));
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
    CHECK(ui.rect("export.save").end().y < 640.0F);
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

  TEST_CASE("the figure that Export shows is the one that Enter saves: its parts, ground, letters, and a column's width") {
    const TemporaryDirectory folder;
    const fs::path out = folder.path() / "out";
    UiDriver ui(with_text("one two three"));
    const auto figure = [&] {
      ui.settle();
      const PreviewedFigure* shown = ui.window().export_dialog().preview().figure();
      REQUIRE(shown != nullptr);
      return shown;
    };
    ui.press(Key::E, kControl);
    CHECK(figure()->drawing->size().x > 330.0F);
    const shell::PixelImage before = ui.ui().read_pixels();
    for (const char* choice : {"export.part.Labels", "export.part.Colour bar", "export.dark.1", "export.width.0"})
      ui.click(choice);
    const glm::vec2 size = figure()->drawing->size();
    CHECK(ui.ui().read_pixels().rgba != before.rgba);
    CHECK(size.x == doctest::Approx(84.0 * 96.0 / 25.4).epsilon(1e-5));
    const chart::Rect page = ui.rect("export.page");
    CHECK(page.size.x / page.size.y == doctest::Approx(size.x / size.y).epsilon(0.01));
    CHECK(ui.rect("export.preview").contains(page.center()));
    for (const int format : {1, 2, 0}) {
      CAPTURE(format);
      ui.click(fmt::format("export.file.{}", format));
      ui.click("export.folder");
      ui.press(Key::A, kControl);
      ui.type(out.string());
      ui.press(Key::Enter);  // is the field's
      CHECK(ui.window().export_dialog().is_open());
      const PreviewedFigure* shown = figure();
      const auto draw = [&](exporting::Canvas& canvas) { shown->drawing->draw(canvas); };
      constexpr std::array kFormats = {exporting::DrawingFormat::Pdf, exporting::DrawingFormat::Svg,
                                       exporting::DrawingFormat::Png};
      const std::string expected = exporting::encode(*shown->drawing, kFormats.at(static_cast<std::size_t>(format)));
      const exporting::Pixels pixels = exporting::draw_pixels(size, shown->drawing->output(), draw);
      ui.wait(1.0);
      ui.press(Key::Enter);
      CHECK_FALSE(ui.window().export_dialog().is_open());
      CHECK(ui.window().notice().text.find("L0H0") != std::string::npos);
      const fs::path file = out / (std::array{"L0H0.pdf", "L0H0.svg", "L0H0.png"}.at(static_cast<std::size_t>(format)));
      CHECK(read_file(file) == expected);
      if (format == 2) CHECK(files::read_image_file(file).rgba == pixels.rgba);
      ui.press(Key::E, kControl);  // as it was left
      CHECK(figure()->drawing->size() == size);
    }
    CHECK(ui.window().settings().figure_look.find("\"width_mm\":84.0") != std::string::npos);
    const std::string svg = read_file(out / "L0H0.svg");
    CHECK(svg.find(">three<") == std::string::npos);
    CHECK(svg.find(">attention weight<") == std::string::npos);
    CHECK(svg.find("<metadata>headlight-session:") != std::string::npos);
  }

  TEST_CASE("Export shows and saves the figure of every view on a page of any width, or says why there is none") {
    const TemporaryDirectory folder;
    UiDriver ui({}, open_gpu_runner);
    show_golden_model(ui, "gpt2");
    ui.press(Key::E, kControl);
    ui.click("export.width.1");
    ui.press(Key::Escape);
    std::size_t saved = 0;
    for (const View& view : views()) {
      CAPTURE(view.id);
      ui.show(view.id);
      ui.settle();
      ui.press(Key::E, kControl);
      ui.click("export.of.3");
      ui.settle();
      const FigurePreview& preview = ui.window().export_dialog().preview();
      CHECK((preview.figure() == nullptr) == !preview.trouble().empty());
      if (const PreviewedFigure* shown = preview.figure()) {
        CHECK(shown->drawing->size().x >= 174.0F * 96.0F / 25.4F - 0.01F);
        ui.click("export.folder");
        ui.press(Key::A, kControl);
        ui.type(folder.path().string());
        ui.press(Key::Enter);
        ui.click("export.save");
        CHECK(fs::exists(folder.path() / fmt::format("{}.pdf", view.id)));
        ++saved;
      }
      ui.press(Key::Escape);
    }
    CHECK(saved >= 9);
  }

  TEST_CASE("a figure of some heads of all layers, copied as text, and one that can't be so narrow") {
    UiDriver ui({}, open_gpu_runner);
    show_golden_model(ui, "gpt2");
    ui.press(Key::E, kControl);
    ui.click("export.of.2");
    ui.click("export.heads");
    ui.type("1,3");
    ui.press(Key::Enter);
    ui.settle();
    ui.click("export.copy_text");
    ui.settle();
    const std::string text = ImGui::GetClipboardText();
    CHECK(text.find("L0 H1") != std::string::npos);
    CHECK(text.find("L1 H3") != std::string::npos);
    CHECK(text.find("L1 H2") == std::string::npos);
    CHECK(ui.window().export_dialog().is_open());
    ui.click("export.heads");
    ui.type("x");
    ui.press(Key::Enter);
    ui.settle();
    CHECK_FALSE(ui.window().export_dialog().preview().trouble().empty());
    ui.wait(1.0);
    ui.press(Key::Enter);  // there is nothing to save
    CHECK(ui.window().export_dialog().is_open());
  }
}

}  // namespace viewer_export_test
