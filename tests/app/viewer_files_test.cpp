#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "app/exports/export_plan.h"
#include "app/state/session_file.h"
#include "app/ui_driver.h"
#include "app/window/offscreen_viewer.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "files/npy.h"
#include "support/decode_npy.h"
#include "support/temporary_directory.h"

namespace viewer_files_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;
namespace fs = std::filesystem;

namespace {

const std::string kGpt2 = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/gpt2";

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

/// From the file's header.
glm::uvec2 png_size(const fs::path& path) {
  const std::string bytes = read_file(path);
  REQUIRE(bytes.starts_with("\x89PNG"));
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(i));
    return value;
  };
  return {number(16), number(20)};
}

void write(const fs::path& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

/// What an export of a window's run announces.
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
    State state;
    state.text() = "one two three\nfour";
    UiDriver ui(state);
    ui.press(Key::E, kControl);
    REQUIRE(ui.sees("export.start"));
    for (const char* name : {"export.format.csv", "export.format.npy", "export.format.json", "export.stage.q"})
      ui.click(name);
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
      options.formats = {ExportFormat::Png, ExportFormat::Csv, ExportFormat::Npy, ExportFormat::Json};
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
    const view::Rect map = ui.rect("head.map");
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

    // What doesn't exist can't be started, and says why.
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
    write(folder.path() / "file", "in the way");
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
    ui.window().open_model(kGpt2);
    ui.settle();
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

  TEST_CASE("the view is saved without the panels around it") {
    const TemporaryDirectory folder;
    UiDriver ui;
    const auto save = [&](const std::string& name, const char* area) {
      ui.press(Key::S, kControlShift);
      ui.click(area);
      ui.fill_in("screenshot.path", (folder.path() / name).string());
      ui.click("screenshot.save");
      return png_size(folder.path() / name);
    };
    const glm::uvec2 drawn = ui.ui().read_pixels().size;
    CHECK(save("window.png", "screenshot.area.0") == drawn);
    const glm::uvec2 view = save("view.png", "screenshot.area.1");
    const view::Rect map = ui.rect("head.map");
    CHECK(view.x >= static_cast<std::uint32_t>(map.size.x * ui.ui().scale()));
    CHECK(view.x < drawn.x);
    CHECK(view.y >= static_cast<std::uint32_t>(map.size.y * ui.ui().scale()));
    CHECK(view.y < drawn.y);
  }

  TEST_CASE("File, Open text reads a text file; one that can't be read keeps the dialog and the text") {
    const TemporaryDirectory folder;
    UiDriver ui;
    const auto open = [&](const std::string& name) {
      ui.click("menu.File");
      ui.click("menu.Open text\u2026");
      REQUIRE(ui.sees("text_file.path"));
      ui.click("text_file.path");
      ui.press(shell::Key::A, shell::kControl);
      ui.type((folder.path() / name).string());
      ui.click("text_file.open");
    };
    write(folder.path() / "text.txt", "alpha beta\ngamma\n");
    open("text.txt");
    CHECK_FALSE(ui.window().file_dialog().is_open());
    CHECK(ui.state().text() == "alpha beta\ngamma");
    open("nowhere.txt");
    CHECK(ui.window().file_dialog().is_open());
    CHECK(ui.sees("text_file.trouble"));
    ui.click("text_file.cancel");
    CHECK(ui.state().text() == "alpha beta\ngamma");
    ui.press(shell::Key::Z, shell::kControl);
    CHECK(ui.state().text() == State{}.text());
  }

  TEST_CASE("dropped files: a text, a session, and what is neither") {
    const TemporaryDirectory folder;
    UiDriver ui;
    write(folder.path() / "text.txt", "alpha beta\r\ngamma\n\n");
    ui.window().open_files({(folder.path() / "text.txt").string()});
    ui.settle();
    CHECK(ui.state().text() == "alpha beta\ngamma");
    CHECK(ui.result().input->source.batch == 2);
    ui.press(Key::Z, kControl);
    CHECK(ui.state().text() == State{}.text());

    State session;
    session.text() = "kept in a session";
    session.view.theme = Theme::Light;
    save_session(folder.path() / "a.headlight.json", session);
    ui.window().open_files({(folder.path() / "a.headlight.json").string()});
    ui.settle();
    CHECK(ui.state().text() == "kept in a session");
    CHECK(ui.state().view.theme == Theme::Light);

    write(folder.path() / "picture.txt", "\x89PNG\xff\xfe");
    ui.window().open_files({(folder.path() / "picture.txt").string()});
    ui.settle();
    CHECK(ui.window().notice().is_warning);
    CHECK(ui.window().notice().text.find("an image") != std::string::npos);
    CHECK(ui.state().text() == "kept in a session");
    ui.click("notice.close");
    CHECK_FALSE(ui.window().notice().is_shown());

    ui.window().open_files({(folder.path() / "nowhere.txt").string()});
    CHECK(ui.window().notice().is_warning);
    write(folder.path() / "large.txt", std::string((std::size_t{1} << 20) + 1, 'a'));
    ui.window().open_files({(folder.path() / "large.txt").string()});
    CHECK(ui.window().notice().text.find("MiB") != std::string::npos);
  }

  TEST_CASE("a screenshot is saved without the dialog on it") {
    const TemporaryDirectory folder;
    UiDriver ui;
    const shell::PixelImage before = ui.ui().read_pixels();
    ui.press(Key::S, shell::kControlShift);
    ui.fill_in("screenshot.path", (folder.path() / "new" / "shot").string());
    ui.click("screenshot.save");
    CHECK(ui.window().notice().text.find("shot.png") != std::string::npos);
    CHECK(fs::file_size(folder.path() / "new" / "shot.png") > 10'000);
    CHECK(read_file(folder.path() / "new" / "shot.png").substr(1, 3) == "PNG");
    CHECK_THROWS_AS(write_png(folder.path() / "new" / "shot.png" / "x.png", before), Error);
  }

  TEST_CASE("lines and text are saved as figures in three formats; a view that has none refuses") {
    const TemporaryDirectory folder;
    State state;
    state.text() = "one two three";
    state.view.tab = "lines";
    UiDriver ui(state);
    const auto save = [&](const std::string& name) {
      ui.press(Key::S, kControlShift);
      ui.fill_in("screenshot.path", (folder.path() / name).string());
      ui.click("screenshot.save");
    };
    save("lines.svg");
    CHECK_FALSE(ui.window().notice().is_warning);
    const std::string svg = read_file(folder.path() / "lines.svg");
    CHECK(svg.find("<svg") != std::string::npos);
    CHECK(svg.find(">three</text>") != std::string::npos);
    ui.click("notice.close");
    save("lines.pdf");
    CHECK(read_file(folder.path() / "lines.pdf").starts_with("%PDF-"));
    ui.press(Key::S, kControlShift);
    ui.click("screenshot.area.2");
    ui.fill_in("screenshot.path", (folder.path() / "lines.png").string());
    ui.click("screenshot.save");
    CHECK(read_file(folder.path() / "lines.png").starts_with("\x89PNG"));
    CHECK_FALSE(ui.window().notice().is_warning);
    ui.click("tab.text");
    save("text.svg");
    CHECK_FALSE(ui.window().notice().is_warning);
    const std::string text = read_file(folder.path() / "text.svg");
    for (const char* part : {">one</text>", ">three</text>", "<rect", "attends to"}) {
      CAPTURE(part);
      CHECK(text.find(part) != std::string::npos);
    }
    show_golden_model(ui, "gpt2");
    ui.click("tab.flow");
    save("flow.svg");
    CHECK_FALSE(ui.window().notice().is_warning);
    const std::string flow = read_file(folder.path() / "flow.svg");
    for (const char* part : {">input</text>", ">layer 1</text>", ">head ", "<line", "What flows into"}) {
      CAPTURE(part);
      CHECK(flow.find(part) != std::string::npos);
    }
    for (const char* const tab : {"logits", "what_if"}) {
      CAPTURE(tab);
      ui.click(std::string("tab.") + tab);
      save(std::string(tab) + ".svg");
      CHECK_FALSE(ui.window().notice().is_warning);
      const std::string heads = read_file(folder.path() / (std::string(tab) + ".svg"));
      CHECK(heads.find(">layer</text>") != std::string::npos);
      CHECK(heads.find(">head</text>") != std::string::npos);
    }
    ui.click("notice.close");
    ui.press(Key::A);  // patching, which needs a baseline
    save("patching.svg");
    CHECK(ui.window().notice().is_warning);
    CHECK(ui.window().notice().text.find("has no figure") != std::string::npos);
    CHECK_FALSE(fs::exists(folder.path() / "patching.svg"));
  }

  TEST_CASE("a screenshot is a part of Export: its name is selected, Enter saves, and figures are on white") {
    const TemporaryDirectory folder;
    State state;
    state.text() = "one two three";
    REQUIRE(state.view.theme == Theme::Dark);
    UiDriver ui(state);
    ui.press(Key::S, kControlShift);
    CHECK(ui.sees("export.reach.3"));
    CHECK(ui.sees("screenshot.browse"));
    ui.type((folder.path() / "window.png").string());
    ui.press(Key::Enter);
    CHECK_FALSE(ui.window().notice().is_warning);
    CHECK(fs::exists(folder.path() / "window.png"));
    ui.click("notice.close");
    ui.press(Key::E, kControl);
    CHECK(ui.sees("export.start"));
    ui.click("export.reach.3");
    CHECK_FALSE(ui.sees("export.start"));
    ui.click("screenshot.area.2");
    ui.type((folder.path() / "view.svg").string());
    ui.press(Key::Enter);
    const std::string svg = read_file(folder.path() / "view.svg");
    CHECK(svg.find("fill=\"#ffffff\"") != std::string::npos);
    CHECK(svg.find("fill=\"#14161a\"") == std::string::npos);  // the ground of dark paper
  }

  TEST_CASE("steps, heads and two heads side by side are figures of several maps") {
    const TemporaryDirectory folder;
    for (const auto& one : std::vector<std::pair<std::string, std::vector<std::string>>>{
             {"steps", {">The steps of layer 0, head 0<", ">three<", ">feature<", ">query<"}},
             {"heads", {">Heads by what they do<", ">layer<", ">head<", ">previous<"}},
             {"side_by_side", {">Side by side<", ">L0 H0<", ">three<"}}}) {
      const auto& tab = one.first;
      const auto& parts = one.second;
      CAPTURE(tab);
      State state;
      state.text() = "one two three";
      state.view.tab = tab;
      UiDriver ui(state);
      ui.press(Key::S, kControlShift);
      ui.fill_in("screenshot.path", (folder.path() / (tab + ".svg")).string());
      ui.click("screenshot.save");
      CHECK_MESSAGE(!ui.window().notice().is_warning, ui.window().notice().text);
      const std::string svg = read_file(folder.path() / (tab + ".svg"));
      for (const std::string& part : parts) {
        CAPTURE(part);
        CHECK(svg.find(part) != std::string::npos);
      }
    }
  }

  TEST_CASE("the export dialog previews the figure, and its parts go into the file") {
    const TemporaryDirectory folder;
    State state;
    state.text() = "one two three";
    UiDriver ui(state);
    ui.press(Key::E, kControl);
    ui.click("export.look");
    REQUIRE(ui.sees("export.preview"));
    CHECK_FALSE(ui.sees("export.start"));
    const auto image = [&] { return ui.ui().read_pixels(); };
    ui.settle();
    const shell::PixelImage before = image();
    ui.click("export.part.labels");
    ui.click("export.part.bar");
    ui.click("export.ground.1");
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

  TEST_CASE("a figure that is opened brings its text back, and is no place to save to") {
    const TemporaryDirectory folder;
    State state;
    state.text() = "one two three";
    fs::path figure;
    {
      UiDriver ui(state);
      ui.press(Key::E, kControl);
      ui.click("export.format.svg");
      ui.fill_in("export.folder", folder.path().string());
      ui.click("export.start");
      for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
        if (entry.path().extension() == ".svg") figure = entry.path();
      }
    }
    REQUIRE_FALSE(figure.empty());
    const std::string bytes = read_file(figure);
    UiDriver ui;
    ui.window().open_files({figure.string()});
    ui.settle();
    CHECK(ui.state().text() == "one two three");
    ui.press(Key::S, kControl);  // asks for a name
    CHECK(ui.sees("session.path"));
    CHECK(read_file(figure) == bytes);
  }
}

}  // namespace viewer_files_test
