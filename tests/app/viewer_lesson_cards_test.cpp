// The panel of a lesson's card: what a card opens and shows, its file, and what it says about a run that isn't its own.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/lessons/lesson_words.h"
#include "app/lessons/printed_numbers.h"
#include "app/played_lesson.h"
#include "app/state/comparison.h"
#include "app/state/model_changes.h"
#include "app/text_on_screen.h"
#include "core/file.h"
#include "core/json.h"
#include "files/image.h"
#include "project/source_tree.h"

namespace viewer_lesson_cards_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

/// The places of a text for numbers and names: "{:.2f}".
std::vector<std::string> places_of(const std::string& text) {
  static const std::regex kPlace(R"(\{[^}]*\})");
  std::vector<std::string> places;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), kPlace); at != std::sregex_iterator(); ++at)
    places.push_back(at->str());
  return places;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("every text that the panel asks for is there in English and German, with the same places") {
    static const std::regex kUse(R"RE(words\["(\w+)"\])RE");
    std::set<std::string> asked, known;
    for (const test::SourceFile& file : test::source_tree()) {
      if (!file.path.starts_with("app/window/sidebar/lesson_") && !file.path.starts_with("app/lessons/")) continue;
      for (auto at = std::sregex_iterator(file.text.begin(), file.text.end(), kUse); at != std::sregex_iterator(); ++at)
        asked.insert((*at)[1]);
    }
    const nlohmann::json texts = parse_json(kLessonWords).value();
    for (const auto& [name, text] : texts.items()) {
      CAPTURE(name);
      known.insert(name);
      CHECK(text.size() == 2);
      CHECK_FALSE(text.at("en").get<std::string>().empty());
      CHECK(places_of(text.at("en")) == places_of(text.at("de")));
    }
    CHECK(asked == known);
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("a card begins with a second text, which goes with the card") {
    PlayedLesson played(R"({"title": "One", "text": ["a"], "opens": {"preset": "", "text": "the cat sat"}},
      {"title": "Two", "text": ["b"], "second_text": "the dog sat", "opens": {"view": {"tab": "patching"}}},
      {"title": "Three", "text": ["c"]},
      {"title": "Four", "text": ["d"], "second_text": ""})");
    UiDriver& ui = played.ui;
    CHECK_FALSE(has_second_text(ui.state()));
    ui.press(Key::Period, kControl);
    REQUIRE(has_second_text(ui.state()));
    CHECK(second_text(ui.state()) == "the dog sat");
    CHECK(ui.sees("text.second"));
    CHECK(ui.result().baseline_tokens);
    CHECK(ui.result().baseline_error.empty());
    ui.press(Key::Period, kControl);
    CHECK(has_second_text(ui.state()));
    ui.press(Key::Period, kControl);
    CHECK_FALSE(has_second_text(ui.state()));
    ui.press(Key::Comma, kControl);
    CHECK(has_second_text(ui.state()));
    ui.press(Key::Comma, kControl);
    ui.press(Key::Comma, kControl);
    CHECK_FALSE(has_second_text(ui.state()));
  }

  TEST_CASE("why printed numbers differ is named: dropout before all else") {
    PlayedLesson played(R"({"title": "One", "text": ["a"], "opens": {"preset": "notebook-003"},
       "numbers": {"source": "s", "quantity": "weights", "row": 1, "values": [[0.39, 0.61]], "decimals": 2}})");
    UiDriver& ui = played.ui;
    REQUIRE(ui.sees("lesson.numbers.agree"));
    const auto departure = [&] { return ui.window().lessons().departure(ui.state()); };
    const auto verdict = [&] {
      const PrintedNumbers& numbers = *ui.window().lessons().card().numbers;
      return verdict_of(numbers, ui.result().tile(numbers.query)->values, departure());
    };
    CHECK(departure().empty());
    ui.click("mask.dropout");
    ui.click("mask.dropout");
    ui.press(Key::A, kControl);
    ui.type("0.5");
    ui.press(Key::Enter);
    ui.settle();
    REQUIRE(!model_changes(ui.state()).empty());
    CHECK(departure() == "dropout is on");
    CHECK(ui.sees("lesson.numbers.differ"));
    CHECK(verdict().find(": dropout is on. Again opens the card as it was.") != std::string::npos);
    ui.press(Key::C);
    CHECK(departure() == "dropout is on, and the mask isn't the card's any more");
    CHECK(ui.window().lessons().departure(ui.state(), LessonWords{"de"}) ==
          "dropout ist an, und die Maske ist nicht mehr die der Karte");
    ui.click("lesson.again");
    CHECK(departure().empty());
    CHECK(ui.sees("lesson.numbers.agree"));
  }

  TEST_CASE("what a card asks isn't shown before it is answered, and then with the reason") {
    PlayedLesson played(R"({"title": "One", "text": ["a"], "opens": {"preset": "notebook-001"}, "conceals": true,
       "task": "Type", "done": [{"number": "n", "equals": {"cell": {"row": 0, "column": 0}}, "within": 0.005, "hint": "h"}],
       "numbers": {"source": "s", "quantity": "weights", "values": [[1.0]], "decimals": 4}})");
    UiDriver& ui = played.ui;
    REQUIRE(ui.window().lessons().card().conceals);
    CHECK_FALSE(ui.sees("lesson.numbers.agree"));
    CHECK_FALSE(ui.sees("grid.encoder.0.0"));
    ui.feed({shell::MouseMove{ui.rect("head.map").center()}});
    ui.wait(2.0);
    ui.settle();
    CHECK_FALSE(ui.sees("tooltip"));
    CHECK(ui.window().sentence().empty());
    ui.fill_in("lesson.number.0", "0,5");
    ui.click("lesson.check.0");
    CHECK(ui.sees("lesson.hint"));
    ui.fill_in("lesson.number.0", "half");
    ui.click("lesson.check.0");  // no number: the answer stays
    CHECK(ui.sees("lesson.hint"));
    ui.fill_in("lesson.number.0", " 1 ");
    ui.click("lesson.check.0");
    CHECK(ui.sees("lesson.task.done"));
    CHECK(ui.sees("lesson.numbers.agree"));
    CHECK(ui.sees("grid.encoder.0.0"));
  }

  TEST_CASE("a lesson's file: opened by path or dropped, read again when it changes, in its languages, with notes") {
    const TemporaryDirectory folder;
    const std::filesystem::path path = folder.path() / "mine.json";
    const std::string before = R"({"headlight_lesson": 1, "title": "\u6CE8\u610F", "summary": "S", "minutes": 1, "cards": [
      {"title": "\u6CE8\u610F\u529B", "text": ["**Bold** and $QK^T$, \u4E00\u4E8C\u4E09."], "opens": {"preset": "notebook-003"},
       "notes": "Ask the class.", "de": {"title": "Karte"}},
      {"title": "Two", "text": ["b"], "task": "T", "control": "mask.nothing",
       "done": [{"loss": {}, "at_most": 1}]}]})";
    std::ofstream(path) << before;
    UiDriver ui;
    std::string notes;
    ui.window().on_notes([&](const std::string& text) { notes += text; });
    ui.window().open_files({path.string()});
    ui.settle();
    REQUIRE_MESSAGE(ui.window().lessons().lesson(), ui.window().notice().text);
    CHECK(ui.window().notice().text == "");
    CHECK(notes.find("Ask the class.") != std::string::npos);
    CHECK(notes.find("1 of 2") != std::string::npos);
    ui.click("lesson.language.de");
    ui.settle();
    CHECK(ui.window().lessons().card().title == "Karte");
    ui.click("lesson.language.en");
    ui.settle();
    std::string after = before;
    after.replace(after.find("Bold"), 4, "Fett");
    std::ofstream(path) << after;
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(2));
    ui.wait(1.0);
    ui.settle();
    CHECK(ui.window().lessons().card().paragraphs.front().starts_with("**Fett**"));
    ui.press(Key::Period, kControl);
    CHECK(ui.window().notice().text.find("mask.nothing") != std::string::npos);
    std::ofstream(path) << "{";
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(4));
    ui.wait(1.0);
    ui.settle();
    CHECK(ui.window().notice().text.find("mine.json") != std::string::npos);
    CHECK(ui.window().lessons().card().title == "Two");
    std::ofstream(folder.path() / "bad.json") << R"({"headlight_lesson": 1})";
    ui.window().open_files({(folder.path() / "bad.json").string()});
    ui.settle();
    CHECK(ui.window().notice().text.find("bad.json: title: expected a text") != std::string::npos);
  }

  TEST_CASE("a card shows the image beside its lesson's file: its colours, in the sidebar's width, with its proportions") {
    const TemporaryDirectory folder;
    constexpr std::uint32_t kLeft = 0xFF3020E0U, kRight = 0xFF20C040U;
    files::Pixels pixels{.width = 1000, .height = 300, .rgba = {}};
    for (std::uint32_t i = 0; i < pixels.width * pixels.height; ++i) {
      pixels.rgba.push_back(i % pixels.width < pixels.width / 2 ? kLeft : kRight);
    }
    write_file_atomically(folder.path() / "halves.png", files::encode_png(pixels));
    const std::filesystem::path path = folder.path() / "mine.json";
    std::ofstream(path) << R"({"headlight_lesson": 1, "title": "T", "summary": "S", "minutes": 1, "cards": [
      {"title": "One", "text": ["a"], "image": "halves.png"}, {"title": "Two", "text": ["b"]}]})";
    UiDriver ui;
    ui.window().open_files({path.string()});
    ui.settle();
    REQUIRE_MESSAGE(ui.sees("lesson.image"), ui.window().notice().text);
    const chart::Rect image = ui.rect("lesson.image");
    CHECK(image.origin.x + image.size.x <= ui.window().center().origin.x);
    CHECK(image.size.x > 150.0F);
    CHECK(std::abs(image.size.y - 4.0F - image.size.x * 0.3F) <= 1.0F);  // a gap of 4 below it
    const shell::PixelImage screen = ui.ui().read_pixels();
    const auto color_at = [&](float across) {
      return screen.at(static_cast<std::uint32_t>(image.origin.x + image.size.x * across),
                       static_cast<std::uint32_t>(image.origin.y + image.size.y * 0.5F));
    };
    CHECK(color_at(0.25F) == kLeft);
    CHECK(color_at(0.75F) == kRight);
    ui.press(Key::Period, kControl);
    CHECK_FALSE(ui.sees("lesson.image"));
  }

  TEST_CASE("a printed number that is wrong in the file isn't blamed on the model, its mask or its text") {
    PlayedLesson played(R"({"title": "One", "text": ["a"], "opens": {"preset": "notebook-003"},
       "numbers": {"source": "s", "quantity": "weights", "row": 1, "values": [[0.39, 0.71]], "decimals": 2}})");
    UiDriver& ui = played.ui;
    REQUIRE(ui.sees("lesson.numbers.differ"));
    const PrintedNumbers& numbers = *ui.window().lessons().card().numbers;
    CHECK(ui.window().lessons().departure(ui.state()).empty());
    const attention::Tile& tile = *ui.result().tile(numbers.query);
    CHECK(verdict_of(numbers, tile.values, {}) ==
          "Row 1, column 1: printed is 0.71, computed is 0.61. The run is the card's, so the printed number is of something "
          "else.");
    ui.press(Key::C);
    CHECK(ui.window().lessons().departure(ui.state()) == "the mask isn't the card's any more");
  }

  TEST_CASE("a printed number is shown with all of its digits, though float32 has no number that near") {
    PlayedLesson played(R"({"title": "One", "text": ["a"], "opens": {"preset": "notebook-003"}, "numbers":
      {"source": "s", "quantity": "weights", "row": 2, "column": 1, "values": [[0.8818494]], "decimals": 8}})");
    REQUIRE(played.ui.sees("lesson.numbers.agree"));
    std::string seen = text_on_screen();
    std::erase(seen, ' ');  // wide gaps between digits count as spaces
    CHECK(seen.find("0.88184940") != std::string::npos);
  }

  TEST_CASE("whether printed numbers agree is said above their tables, and seen without scrolling") {
    PlayedLesson played(R"({"title": "One", "text": ["A row of weights, as the notebook prints it."],
       "opens": {"preset": "notebook-003"}, "numbers":
       {"source": "s", "quantity": "weights", "row": 1, "values": [[0.39, 0.61, 0, 0, 0, 0]], "decimals": 2}})");
    UiDriver& ui = played.ui;
    ui.resize(1280, 800);
    ui.frames_until([&] { return ui.sees("lesson.numbers.agree"); });
    REQUIRE(ui.sees("lesson.numbers.agree"));
    CHECK(ui.rect("lesson.numbers.agree").end().y < ui.rect("lesson.next").origin.y);
  }

  TEST_CASE("a card with a wide table comes to rest in a sidebar of every width") {
    // A table that fits only without a scroll bar, which only the table needs, must not come and go.
    PlayedLesson played(R"({"title": "One", "text": ["a"], "opens": {"preset": "notebook-001"},
       "numbers": {"source": "s", "quantity": "q", "values": [[1, 2, 3, 4, 5, 6, 7, 8]], "decimals": 4}})");
    UiDriver& ui = played.ui;
    REQUIRE(ui.window().lessons().card().numbers);
    REQUIRE(ui.window().lessons().card().numbers->query.columns == 8);
    for (const std::uint32_t height : {1000U, 800U, 640U}) {
      ui.resize(1600, height);
      for (float width = 300.0F; width < 400.0F; width += 4.0F) {
        CAPTURE(height);
        CAPTURE(width);
        const float from = ui.rect("splitter.sidebar").center().x;
        ui.ui().feed(shell::drag({from, 400.0F}, {width, 400.0F}));
        REQUIRE_NOTHROW(ui.settle());
        CHECK(ui.window().settings().panes.sidebar == width);
      }
    }
  }

  TEST_CASE("a lesson can be skipped through, gone back in, opened again, left and found where it was left") {
    UiDriver ui;
    const State before = ui.state();
    start_lesson(ui, "masks");
    CHECK(ui.sees("lesson.task"));
    const State opened = ui.state();
    ui.press(Key::C);
    CHECK(ui.state() != opened);
    ui.click("lesson.again");
    CHECK(ui.state() == opened);
    ui.press(Key::Period, kControl);
    CHECK(ui.window().lessons().card_index() == 1);
    CHECK_FALSE(ui.sees("lesson.task.done"));
    ui.press(Key::Comma, kControl);
    CHECK(ui.window().lessons().card_index() == 0);
    ui.press(Key::Period, kControl);
    ui.click("lesson.close");
    CHECK_FALSE(ui.sees("lesson.next"));
    ui.press(Key::F4);
    ui.click("lesson.start.masks");
    CHECK(ui.window().lessons().card_index() == 1);
    ui.click("lesson.restart");
    CHECK(ui.window().lessons().card_index() == 0);
    ui.click("lesson.back");
    CHECK(ui.window().lessons().lesson() == nullptr);
    while (ui.window().undo().can_undo()) ui.press(Key::Z, kControl);
    CHECK(ui.state() == before);
  }
}

}  // namespace viewer_lesson_cards_test
