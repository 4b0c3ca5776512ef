// Sessions in the window: saving under a name, saving again, opening, and what stands in their way.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "app/state/session_file.h"
#include "app/ui_driver.h"
#include "engine/fake_runner.h"
#include "support/temporary_directory.h"

namespace viewer_session_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;
namespace fs = std::filesystem;

namespace {

/// Replaces the path in the dialog. UiDriver::fill_in() leaves a field by Escape, which would close the dialog too.
void type_path(UiDriver& ui, const fs::path& path) {
  ui.click("session.path");
  ui.press(Key::A, kControl);
  ui.type(path.string());
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("Ctrl+S asks for a name once, then writes; the title has the name and a star for changes") {
    const TemporaryDirectory folder;
    const fs::path file = folder.path() / "notes.headlight.json";
    UiDriver ui;
    CHECK(ui.window().title() == "Headlight");
    ui.press(Key::K);
    ui.paint_cell(2, 4);
    ui.press(Key::S, kControl);
    REQUIRE(ui.sees("session.save"));
    type_path(ui, folder.path() / "notes");
    ui.click("session.save");
    CHECK_FALSE(ui.window().file_dialog().is_open());
    CHECK(ui.window().notice().text == "Saved " + file.string());
    CHECK(ui.window().title() == "notes \u2013 Headlight");
    CHECK(load_session(file).value() == ui.state());
    ui.press(Key::Right);
    CHECK(ui.window().title() == "notes \u2013 Headlight");
    ui.press(Key::C);
    CHECK(ui.window().title() == "notes* \u2013 Headlight");
    CHECK(load_session(file).value().masks != ui.state().masks);
    ui.press(Key::S, kControl);
    CHECK_FALSE(ui.sees("session.save"));
    CHECK(ui.window().title() == "notes \u2013 Headlight");
    CHECK(load_session(file).value() == ui.state());
    ui.press(Key::Z, kControl);
    CHECK(ui.window().title() == "notes* \u2013 Headlight");
  }

  TEST_CASE("a saved session gets its run's numbers as a record, and opening it tells whether they are the same") {
    const TemporaryDirectory folder;
    const fs::path file = folder.path() / "notes.headlight.json";
    UiDriver ui;
    ui.press(Key::K);
    ui.press(Key::S, kControl);
    type_path(ui, file);
    ui.click("session.save");
    const std::optional<SessionRecord> record = load_record(file);
    REQUIRE(record.has_value());
    CHECK(record->weights.size() > 8);
    CHECK(record->device == ui.result().device);
    CHECK(load_session(file).value() == ui.state());

    ui.window().open_files({file.string()});
    ui.settle();
    CHECK(ui.window().notice().text.find("compared numbers are as saved, bit for bit") != std::string::npos);
    CHECK_FALSE(ui.window().notice().is_warning);

    SessionRecord other = *record;
    other.weights.front() += 0.25F;
    other.weights_crc += 1;
    save_session(file, ui.state(), &other);
    ui.window().open_files({file.string()});
    ui.settle();
    CHECK(ui.window().notice().is_warning);
    CHECK(ui.window().notice().text.find("1 of ") != std::string::npos);
    CHECK(ui.window().notice().text.find("the model's weights are not those it was saved with") != std::string::npos);
  }

  TEST_CASE("Ctrl+Shift+O opens a session: model, masks, gains and precision are as they were, and Undo goes back") {
    const TemporaryDirectory folder;
    const fs::path file = folder.path() / "model.headlight.json";
    const auto log = std::make_shared<FakeLog>();
    State saved;
    {
      UiDriver ui({}, fake_factory(log));
      show_golden_model(ui, "gpt2");
      ui.press(Key::K);
      ui.press(Key::P);
      ui.press(Key::Right);
      saved = ui.state();
      saved.model().precision = inference::Precision::F16;
      save_session(file, saved);
    }
    UiDriver ui({}, fake_factory(log));
    const State before = ui.state();
    ui.press(Key::O, kControlShift);
    REQUIRE(ui.sees("session.open"));
    type_path(ui, file);
    ui.click("session.open");
    CHECK_FALSE(ui.window().file_dialog().is_open());
    CHECK(ui.state() == saved);
    CHECK(ui.window().title() == "model \u2013 Headlight");
    CHECK(ui.window().notice().text == "model.headlight.json: L0H0 knocked out \u00B7 padding off");
    ui.press(Key::Z, kControl);
    CHECK(ui.state() == before);
  }

  TEST_CASE("another file is replaced only after a question, the session's own without one") {
    const TemporaryDirectory folder;
    const fs::path other = folder.path() / "other.headlight.json", own = folder.path() / "own.headlight.json";
    std::ofstream(other) << "precious";
    UiDriver ui;
    ui.press(Key::S, kControl);
    type_path(ui, other);
    ui.click("session.save");
    CHECK(ui.sees("session.trouble"));
    CHECK(ui.window().file_dialog().is_open());
    CHECK(fs::file_size(other) == 8);
    ui.click("session.path");
    ui.type("x");  // another name: the question is gone
    CHECK_FALSE(ui.sees("session.trouble"));
    type_path(ui, other);
    ui.click("session.save");
    CHECK(fs::file_size(other) == 8);
    ui.click("session.save");
    CHECK_FALSE(ui.window().file_dialog().is_open());
    CHECK(load_session(other).value() == ui.state());

    save_session(own, ui.state());
    ui.window().open_files({own.string()});
    ui.settle();
    CHECK(ui.window().title() == "own \u2013 Headlight");
    ui.click("menu.File");
    ui.click("menu.Save session as\u2026");
    REQUIRE(ui.sees("session.save"));
    ui.click("session.save");  // proposes the session's own name
    CHECK_FALSE(ui.window().file_dialog().is_open());
  }

  TEST_CASE("what can't be opened or written is said in the dialog, and nothing changes") {
    const TemporaryDirectory folder;
    std::ofstream(folder.path() / "newer.headlight.json") << R"({"headlight": 1, "version": 99, "state": {}})";
    UiDriver ui;
    const State before = ui.state();
    ui.press(Key::O, kControlShift);
    for (const fs::path& path : {folder.path() / "newer.headlight.json", folder.path() / "missing.json", folder.path()}) {
      type_path(ui, path);
      ui.click("session.open");
      CHECK(ui.sees("session.trouble"));
      CHECK(ui.state() == before);
    }
    ui.click("session.cancel");
    CHECK_FALSE(ui.window().file_dialog().is_open());
    ui.press(Key::S, kControl);
    type_path(ui, folder.path() / "newer.headlight.json" / "below a file");
    ui.click("session.save");
    CHECK(ui.sees("session.trouble"));
    CHECK(ui.window().title() == "Headlight");
    ui.press(Key::Escape);
    CHECK_FALSE(ui.window().file_dialog().is_open());
  }
}

}  // namespace viewer_session_test
