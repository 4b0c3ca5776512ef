// Sessions in the window: saving under a name, saving again, opening, and what stands in their way.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
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

  TEST_CASE("leaving a session with unsaved changes asks: stay, discard, save, and again after a save that failed") {
    const TemporaryDirectory folder;
    const fs::path file = folder.path() / "notes.headlight.json", other = folder.path() / "other.headlight.json";
    UiDriver ui;
    save_session(file, ui.state());
    save_session(other, ui.state());
    ui.window().open_files({file.string()});
    ui.settle();
    ui.press(Key::Right);  // what is selected is no change
    ui.press(Key::C);
    REQUIRE(ui.window().title() == "notes* \u2013 Headlight");
    const State changed = ui.state();

    // Another session is dropped: Stay, by the button and by Escape, leaves all as it is.
    for (const bool by_key : {false, true}) {
      ui.window().open_files({other.string()});
      ui.settle();
      REQUIRE(ui.sees("leave.save"));
      check_tips(ui);
      by_key ? ui.press(Key::Escape) : ui.click("leave.stay");
      CHECK_FALSE(ui.sees("leave.save"));
      CHECK(ui.state() == changed);
      CHECK(ui.window().title() == "notes* \u2013 Headlight");
    }
    ui.press(Key::O, kControlShift);  // asks before the file
    REQUIRE(ui.sees("leave.discard"));
    ui.click("leave.stay");
    CHECK_FALSE(ui.window().file_dialog().is_open());

    // Quit while the file can't be written: what went wrong is said, and nothing is left.
    fs::remove(file);
    fs::create_directory(file);
    ui.press(Key::Q, kControl);
    REQUIRE(ui.sees("leave.save"));
    ui.click("leave.save");
    CHECK(ui.sees("leave.trouble"));
    CHECK_FALSE(ui.window().wants_to_quit());
    ui.click("leave.stay");
    ui.press(Key::S, kControl);  // fails too, in a notice
    CHECK(ui.window().notice().is_warning);
    ui.window().ask_to_quit();  // the window's close button
    ui.settle();
    REQUIRE(ui.sees("leave.save"));
    CHECK_FALSE(ui.sees("leave.trouble"));
    CHECK_FALSE(ui.window().wants_to_quit());
    fs::remove(file);
    ui.press(Key::Enter);  // saves
    CHECK(ui.window().wants_to_quit());
    CHECK(load_session(file).value().masks == changed.masks);
  }

  TEST_CASE("discarding goes on without a save; nothing is asked where nothing is lost") {
    const TemporaryDirectory folder;
    const fs::path file = folder.path() / "notes.headlight.json", other = folder.path() / "other.headlight.json";
    UiDriver ui;
    save_session(file, ui.state());
    const State saved = load_session(file).value();
    save_session(other, with_text("another text"));
    ui.window().open_files({file.string()});
    ui.settle();
    ui.press(Key::C);
    ui.window().open_files({other.string()});
    ui.settle();
    REQUIRE(ui.sees("leave.discard"));
    ui.click("leave.discard");
    CHECK(ui.window().title() == "other \u2013 Headlight");
    CHECK(ui.state().text() == "another text");
    CHECK(load_session(file).value() == saved);
    ui.press(Key::Q, kControl);
    CHECK(ui.window().wants_to_quit());
  }

  TEST_CASE("a dialog that is open waits while the user is asked") {
    const TemporaryDirectory folder;
    const fs::path file = folder.path() / "notes.headlight.json";
    UiDriver ui;
    save_session(file, ui.state());
    ui.window().open_files({file.string()});
    ui.settle();
    ui.press(Key::C);
    ui.press(Key::E, kControl);
    REQUIRE(ui.window().export_dialog().is_open());
    ui.window().ask_to_quit();
    ui.settle();
    REQUIRE(ui.sees("leave.stay"));
    ui.click("leave.stay");
    CHECK_FALSE(ui.sees("leave.stay"));
    CHECK(ui.window().export_dialog().is_open());
    ui.window().ask_to_quit();
    ui.settle();
    ui.click("leave.discard");
    CHECK(ui.window().wants_to_quit());
  }

  TEST_CASE("File, Lost windows lists, opens and deletes what ended without being closed") {
    const TemporaryDirectory folder;
    for (const char* text : {"the first lost one", "the second", "the third"}) {
      Kept kept;
      kept.window.state = with_text(text);
      kept.window.state.masks[model::BlockKind::EncoderSelf].rule.key_padding = false;
      KeptWindow lost(folder.path(), {});
      lost.begin(kept);
      static_cast<void>(lost.keep(kept, 0.0));
      if (std::string(text) != "the third") lost.prove();
    }
    KeptWindow kept(folder.path(), {});
    kept.begin({});
    UiDriver ui({}, open_reference_runner, {}, false, false, &kept);
    const State before = ui.state();
    ui.click("menu.File");
    ui.click("menu.Lost windows\u2026");
    REQUIRE(ui.sees("lost.Open.2"));
    CHECK_FALSE(ui.sees("lost.Open.3"));  // its own is no lost one
    check_tips(ui);
    ui.click("lost.Delete.1");
    CHECK(ui.sees("lost.Open.1"));
    CHECK_FALSE(ui.sees("lost.Open.2"));
    ui.click("lost.Open.1");
    CHECK_FALSE(ui.sees("lost.Open.0"));
    CHECK(ui.state().text() == "the first lost one");
    CHECK_FALSE(ui.state().masks[model::BlockKind::EncoderSelf].rule.key_padding);
    CHECK(kept.lost().size() == 1);  // this window has it
    ui.press(Key::Z, kControl);
    CHECK(ui.state() == before);
    ui.click("menu.File");
    ui.click("menu.Lost windows\u2026");
    ui.click("lost.all");
    CHECK_FALSE(ui.sees("lost.Open.0"));
    CHECK(kept.lost().empty());
    ui.press(Key::Escape);
  }

  TEST_CASE("an exception in a frame costs that frame alone") {
    const TemporaryDirectory folder;
    std::ofstream(folder.path() / "lesson.json")
        << R"({"headlight_lesson": 1, "title": "T", "summary": "S", "minutes": 1, "cards": [
      {"title": "One", "text": ["A."]}, {"title": "Two", "text": ["B."], "notes": "N."}]})";
    UiDriver ui;
    ui.window().show_lesson(folder.path() / "lesson.json");
    ui.settle();
    ui.window().on_notes([](const std::string&) { throw std::runtime_error("a call that throws"); });
    for (int i = 0; i < 3; ++i) {
      CHECK_THROWS_WITH(ui.press(Key::Period, kControl), "a call that throws");
      ui.settle();
      CHECK(ui.window().shows_selected_map());
      ui.press(Key::Comma, kControl);
    }
  }
}

}  // namespace viewer_session_test
