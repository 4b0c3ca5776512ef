// Files that are opened and saved by name or by dropping them: texts, sessions, screenshots and figures.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "app/lessons/exercise.h"
#include "app/state/session_file.h"
#include "app/ui_driver.h"
#include "app/window/offscreen_viewer.h"
#include "core/error.h"
#include "core/file.h"
#include "export/file_array.h"
#include "support/temporary_directory.h"
#include "survey/written_survey.h"

namespace viewer_files_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;
namespace fs = std::filesystem;

namespace {

/// Returns the size that the file's header states.
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

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the view is saved without the panels around it") {
    const TemporaryDirectory folder;
    UiDriver ui;
    const auto save = [&](const std::string& name) {
      ui.type((folder.path() / name).string());
      ui.press(Key::Enter);
      return png_size(folder.path() / name);
    };
    const glm::uvec2 drawn = ui.ui().read_pixels().size;
    ui.press(Key::S, kControlShift);
    CHECK(save("window.png") == drawn);
    ui.press(Key::P, kControl);
    ui.type("Save the view as an image");
    ui.press(Key::Enter);
    const glm::uvec2 view = save("view.png");
    const chart::Rect map = ui.rect("head.map");
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
    write_file_atomically(folder.path() / "text.txt", "alpha beta\ngamma\n");
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
    write_file_atomically(folder.path() / "text.txt", "alpha beta\r\ngamma\n\n");
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

    write_file_atomically(folder.path() / "picture.txt", "\x89PNG\xff\xfe");
    ui.window().open_files({(folder.path() / "picture.txt").string()});
    ui.settle();
    CHECK(ui.window().notice().is_warning);
    CHECK(ui.window().notice().text.find("an image") != std::string::npos);
    CHECK(ui.state().text() == "kept in a session");
    ui.click("notice.close");
    CHECK_FALSE(ui.window().notice().is_shown());

    ui.window().open_files({(folder.path() / "nowhere.txt").string()});
    CHECK(ui.window().notice().is_warning);
    write_file_atomically(folder.path() / "large.txt", std::string((std::size_t{1} << 20) + 1, 'a'));
    ui.window().open_files({(folder.path() / "large.txt").string()});
    CHECK(ui.window().notice().text.find("MiB") != std::string::npos);
  }

  TEST_CASE("a dropped file of an exercise's solution is checked, and completes the card that waits for it") {
    const TemporaryDirectory folder;
    setenv("XDG_STATE_HOME", (folder.path() / "state").c_str(), 1);
    const fs::path lesson = folder.path() / "code.json", solution = folder.path() / "mine.safetensors";
    write_file_atomically(lesson,
                          std::string_view(R"({"headlight_lesson": 1, "title": "T", "summary": "S", "cards": [{"title": "C",
      "text": ["a"], "opens": {"preset": "notebook-004"}, "task": "Solve", "done": [{"exercise": "004/attention"}]}]})"));
    const ExerciseStages stages = stages_of(exercise("004/attention"));
    const auto write = [&](float error) {
      const model::reference::Array& result = stages.back().second;
      Tensor tensor(result.shape, {result.values.begin(), result.values.end()});
      tensor.values.back() += error;
      std::vector<exporting::FileArray> arrays;
      arrays.push_back(exporting::array_of("output", tensor));
      const auto file = exporting::open_safetensors(solution, arrays, {{"exercise", "004/attention"}});
      std::string bytes;
      arrays.front().read(0, bytes);
      file->append(bytes);
      file->finish();
    };
    UiDriver ui;
    ui.window().open_files({lesson.string()});
    ui.settle();
    const auto drop = [&](float error) {
      write(error);
      ui.window().open_files({solution.string()});
      ui.settle();
      return ui.window().notice().text;
    };
    CHECK(drop(0.5F).starts_with("Wrong: merged \u2013 1 of 32 numbers differ"));
    CHECK(ui.sees("lesson.task"));
    CHECK(drop(0.0F) == "Right: merged, within 1e-05 of notebook-004.");
    CHECK(ui.sees("lesson.task.done"));
    unsetenv("XDG_STATE_HOME");
  }

  TEST_CASE("surveys and files of prompts that were opened are in the File menu and the palette, until they are gone") {
    const TemporaryDirectory folder;
    const fs::path survey = folder.path() / "sweep", prompts = folder.path() / "mine.jsonl";
    fs::create_directory(survey);
    test::write_small_survey(survey, kGoldenModels + "gpt2");
    write_file_atomically(prompts, R"({"text": "a cat", "answer": " sat"})");
    UiDriver ui(with_text("the cat sat"));
    show_golden_model(ui, "gpt2");
    ui.window().open_files({survey.string()});
    ui.settle();
    ui.press(Key::P, kControl);
    ui.type("open prompts");
    ui.press(Key::Enter);
    ui.click("prompts_file.path");
    ui.press(Key::A, kControl);
    ui.type(prompts.string());
    ui.click("prompts_file.open");
    CHECK(ui.window().settings().recent_files == std::vector<std::string>{prompts.string(), survey.string()});
    ui.click("menu.File");
    ui.click("menu.Recent files");
    REQUIRE(ui.sees("menu.recent.mine.jsonl"));
    ui.click("menu.recent.sweep");
    ui.settle();
    CHECK(ui.state().view.tab == "corpus");
    CHECK(ui.window().settings().recent_files == std::vector<std::string>{survey.string(), prompts.string()});
    ui.press(Key::P, kControl);
    ui.type("mine.jsonl");
    ui.press(Key::Enter);
    ui.settle();
    CHECK(ui.state().view.tab == "prompts");
    CHECK(ui.state()[kPromptsView.set] == prompts.string());
    fs::remove(prompts);
    ui.click("menu.File");
    ui.click("menu.Recent files");
    CHECK(ui.sees("menu.recent.sweep"));
    CHECK_FALSE(ui.sees("menu.recent.mine.jsonl"));
  }

  TEST_CASE("a screenshot is saved without the dialog on it") {
    const TemporaryDirectory folder;
    UiDriver ui;
    const shell::PixelImage before = ui.ui().read_pixels();
    ui.press(Key::S, shell::kControlShift);
    ui.type((folder.path() / "new" / "shot").string());
    ui.press(Key::Enter);
    CHECK(ui.window().notice().text.find("shot.png") != std::string::npos);
    CHECK(fs::file_size(folder.path() / "new" / "shot.png") > 10'000);
    CHECK(read_file(folder.path() / "new" / "shot.png").substr(1, 3) == "PNG");
    CHECK_THROWS_AS(write_png(folder.path() / "new" / "shot.png" / "x.png", before), Error);
  }

  TEST_CASE("lines and text are saved as figures in three formats; a view that has none refuses") {
    const TemporaryDirectory folder;
    UiDriver ui(with_text("one two three", "lines"));
    const auto save = [&](const std::string& name) {
      ui.press(Key::S, kControlShift);
      ui.type((folder.path() / name).string());
      ui.press(Key::Enter);
    };
    save("lines.svg");
    CHECK_FALSE(ui.window().notice().is_warning);
    const std::string svg = read_file(folder.path() / "lines.svg");
    CHECK(svg.find("<svg") != std::string::npos);
    CHECK(svg.find(">three</text>") != std::string::npos);
    ui.click("notice.close");
    save("lines.pdf");
    CHECK(read_file(folder.path() / "lines.pdf").starts_with("%PDF-"));
    ui.press(Key::E, kControl);
    ui.click("export.of.3");
    ui.click("export.file.2");
    ui.click("export.folder");
    ui.press(Key::A, kControl);
    ui.type(folder.path().string());
    ui.press(Key::Enter);
    ui.click("export.save");
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
    CHECK(ui.window().notice().text.find("Patching needs two texts") != std::string::npos);
    CHECK_FALSE(fs::exists(folder.path() / "patching.svg"));
  }

  TEST_CASE("the name of a screenshot is selected, Enter saves, and figures are on white") {
    const TemporaryDirectory folder;
    State state = with_text("one two three");
    REQUIRE(state.view.theme == Theme::Dark);
    UiDriver ui(state);
    ui.press(Key::S, kControlShift);
    CHECK(ui.sees("screenshot.browse"));
    ui.type((folder.path() / "window.png").string());
    ui.press(Key::Enter);
    CHECK_FALSE(ui.window().notice().is_warning);
    CHECK(fs::exists(folder.path() / "window.png"));
    ui.click("notice.close");
    ui.press(Key::S, kControlShift);
    CHECK_FALSE(ui.sees("export.save"));
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
      State state = with_text("one two three");
      state.view.tab = tab;
      UiDriver ui(state);
      ui.press(Key::S, kControlShift);
      ui.type((folder.path() / (tab + ".svg")).string());
      ui.press(Key::Enter);
      CHECK_MESSAGE(!ui.window().notice().is_warning, ui.window().notice().text);
      const std::string svg = read_file(folder.path() / (tab + ".svg"));
      for (const std::string& part : parts) {
        CAPTURE(part);
        CHECK(svg.find(part) != std::string::npos);
      }
    }
  }

  TEST_CASE("a figure that is opened brings its text back, and is no place to save to") {
    const TemporaryDirectory folder;
    State state = with_text("one two three");
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
