// Notes beside a survey, and the room that reads and keeps them.
#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include "app/data/survey/survey_room.h"
#include "core/error.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"
#include "survey/written_survey.h"

namespace head_notes_test {

using namespace headlight;
using namespace headlight::app;

/// Updates the room until the folder is read and earlier notes are written.
void open(SurveyRoom& room, const std::filesystem::path& folder, double now_s = 0.0) {
  constexpr double kBusy_s = 0.1;
  do {
    static_cast<void>(room.update(folder, now_s));
    room.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  } while (room.wait_s() < kBusy_s);
}

TEST_SUITE("cpu") {
  TEST_CASE("notes come back as they were written, and empty ones are forgotten") {
    const TemporaryDirectory folder;
    CHECK(read_notes(folder.path()).empty());
    const HeadNotes notes = {{"L0H1", {.label = "indução", .text = "two\nlines"}}, {"L1H0", {.label = "", .text = "\"x\""}}};
    write_notes(folder.path(), notes);
    CHECK(read_notes(folder.path()) == notes);
    write_notes(folder.path(), {{"L0H1", {}}});
    CHECK(read_notes(folder.path()).empty());
    for (const char* broken : {"[]", "{\"version\": 2, \"heads\": {}}", "{\"version\": 1, \"heads\": []}", "{\"heads\": 1}",
                               "{\"heads\": {\"L0H0\": {\"label\": 3}}}", "{", "{\"heads\": [1]}"}) {
      write_file_atomically(folder.path() / "notes.json", broken);
      const std::string message = test::error_message([&] { read_notes(folder.path()); });
      CHECK_MESSAGE(message.find("notes.json") != std::string::npos, broken);
    }
  }

  TEST_CASE("the room keeps a note once it was quiet for a moment, and all of them when it is closed") {
    const TemporaryDirectory folder;
    test::write_small_survey(folder.path(), "model");
    {
      SurveyRoom room;
      open(room, folder.path());
      REQUIRE(room.survey());
      room.write_note("L0H0", {.label = "one", .text = ""});
      static_cast<void>(room.update(folder.path(), 1.0));
      CHECK(room.wait_s() > 0.0);
      CHECK(read_notes(folder.path()).empty());
      static_cast<void>(room.update(folder.path(), 9.0));
      room.write_note("L1H1", {.label = "", .text = "two"});  // and closed at once
    }
    const HeadNotes kept = read_notes(folder.path());
    CHECK(kept.at("L0H0").label == "one");
    CHECK(kept.at("L1H1").text == "two");
  }

  TEST_CASE("another folder takes its place, and one that is none leaves a line") {
    const TemporaryDirectory first, second;
    test::write_small_survey(first.path(), "model");
    test::write_small_survey(second.path(), "other");
    write_notes(second.path(), {{"L0H0", {.label = "here", .text = ""}}});
    SurveyRoom room;
    open(room, first.path());
    CHECK(room.survey()->model == "model");
    room.write_note("L0H0", {.label = "mine", .text = ""});
    open(room, second.path(), 0.5);
    CHECK(room.survey()->model == "other");
    CHECK(room.notes().at("L0H0").label == "here");
    open(room, first.path() / "nowhere", 1.0);
    CHECK_FALSE(room.survey());
    CHECK(room.error().find("survey.json") != std::string::npos);
    CHECK(room.error().find('\n') == std::string::npos);
    open(room, first.path(), 2.0);
    CHECK(room.notes().at("L0H0").label == "mine");
    CHECK(room.error().empty());
    open(room, "", 3.0);
    CHECK_FALSE(room.survey());
    CHECK(room.error().empty());
  }

  TEST_CASE("a broken file of notes is left as it is") {
    const TemporaryDirectory folder;
    test::write_small_survey(folder.path(), "model");
    write_file_atomically(folder.path() / "notes.json", "mine");
    {
      SurveyRoom room;
      open(room, folder.path());
      REQUIRE(room.survey());
      CHECK_FALSE(room.can_write_notes());
      CHECK(room.notes_error().find("notes.json") != std::string::npos);
      room.write_note("L0H0", {.label = "one", .text = ""});
      static_cast<void>(room.update(folder.path(), 9.0));
      static_cast<void>(room.update(folder.path(), 99.0));
    }
    CHECK(read_file(folder.path() / "notes.json") == "mine");
  }
}

}  // namespace head_notes_test
