// The pages of `lesson-page`, `worksheet` and `results` in a real browser: Debian's chromium without a window. Passed
// over with a message where there is none; tests/engine/lesson_pages_test.cpp reads their data.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/browser.h"
#include "export/lesson_page.h"
#include "support/program.h"
#include "support/skip.h"

namespace lesson_browser_test {

using namespace headlight;
using exporting::Json;
using test::between, test::document_of, test::has_browser, test::kTell;

namespace {

constexpr const char* kHostile = "<b>x</b></script><img src=x onerror=\"document.title='out'\">";

Json map(bool conceals) {
  return {{"conceals", conceals},
          {"title", "attention weights"},
          {"kind", "encoder"},
          {"layer", 0},
          {"head", 0},
          {"rowTitle", "query"},
          {"columnTitle", "key"},
          {"rows", {"the", "cat", kHostile}},
          {"columns", {"the", "cat", kHostile}},
          {"firstRow", 0},
          {"firstColumn", 0},
          {"isSigned", false},
          {"values", {1.0, 0.0, 0.0, 0.4392, 0.5608, 0.0, 0.3362, 0.3662, 0.2976}},
          {"masked", {0, 1, 1, 0, 0, 1, 0, 0, 0}}};
}

Json card(const char* title, Json question, bool conceals = false) {
  Json asked = {{"label", kHostile}, {"options", Json::array()}, {"answer", Json::array()}, {"test", "equals"},
                {"right", nullptr},  {"within", 0.005},          {"atLeast", nullptr},      {"hint", "Look at $q_{2}k^T$."}};
  asked.update(question);
  return {{"title", title},
          {"text", {std::string("The **first** $QK^T$ ") + kHostile}},
          {"task", std::string("Task ") + title},
          {"reveal", {std::string("Because ") + title}},
          {"conceals", conceals},
          {"view", "head"},
          {"isLive", false},
          {"questions", {asked}},
          {"maps", Json::array({map(conceals)})}};
}

Json lesson() {
  Json cards = {
      card("choice", {{"kind", "choice"}, {"options", {"right one", "wrong", "also wrong"}}, {"right", 0}}),
      card("number", {{"kind", "number"}, {"right", 0.5608}}, true),
      card("order", {{"kind", "order"}, {"options", {"first", "second", "third"}}}),
      card("explain", {{"kind", "explain"}, {"answer", {"An answer."}}}),
      card("row", {{"kind", "row_by_hand"},
                   {"right", {0.4392, 0.5608, 0.0}},
                   {"row", 1},
                   {"of", "weights"},
                   {"fields", {"the", "cat", "sat"}}}),
      card("click", {{"kind", "click"}, {"right", {2, 1}}}),
      card("draw", {{"kind", "draw"}, {"atLeast", 0.6}, {"right", {{1, 0, 0}, {0.44, 0.56, 0}, {0.34, 0.37, 0.29}}}}, true),
      card("live", {{"kind", "click"}})};
  cards[7]["isLive"] = true;
  cards[7]["questions"] = Json::array();
  // Gives the first card's and the second one's answers away.
  cards[2]["text"] = {"It was the right one.", "It is 0.56 there.", "Nothing."};
  return {{"file", "x.json"}, {"title", kHostile}, {"summary", "One line"}, {"minutes", 3}, {"cards", cards}};
}

nlohmann::json told_by(const exporting::LessonPage& page, const std::string& probe) {
  const TemporaryDirectory folder;
  write_file_atomically(folder.path() / "page.html", exporting::encode_page(page));
  std::string json = between(document_of(folder.path() / "page.html", probe + kTell), "TOLD", "END");
  for (const auto& [entity, letter] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}}) {
    for (std::size_t at = json.find(entity); at != std::string::npos; at = json.find(entity))
      json.replace(at, std::string_view(entity).size(), letter);
  }
  const nlohmann::json all = nlohmann::json::parse(json);
  CHECK_MESSAGE(all["problems"].empty(), all["problems"].dump());
  return all["told"];
}

/// Functions of the probes: the card on screen, its parts, keys and clicks.
constexpr const char* kHelpers = R"JS(
  const told = {}, root = () => document.querySelector("section.card:not([hidden])"), all = (what) => [...root().querySelectorAll(what)];
  const one = (what) => root().querySelector(what), says = () => one("p[role=status]").textContent;
  const press = (target, key, more = {}) => target.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, ...more}));
  const check = () => all("button").find((button) => button.textContent === "Check").click();
  const next = () => document.querySelector("button.next"), isDone = () => root().classList.contains("done");
)JS";

}  // namespace

// These tests need a browser, which CI doesn't install.
TEST_SUITE("given") {
  TEST_CASE("a lesson's page asks every kind of question, takes wrong and right answers, and works by keys") {
    if (!has_browser()) return test::skip("chromium isn't installed");
    const std::string probe = std::string(kHelpers) + R"(
      const seen = [];
      const step = (wrong, right) => {
        const skip = next().textContent;
        wrong();
        const hint = says(), early = isDone();
        right();
        seen.push([skip, hint, early, says(), isDone(), next().textContent]);
        next().click();
      };
      const choose = (value) => { one(`input[value="${value}"]`).checked = true; check(); };
      told.bold = all("strong").length + all("sup").length;
      told.options = all("fieldset label").map((label) => label.textContent.trim()).sort();
      step(() => choose(1), () => choose(0));
      told.blank = all(".map td").map((cell) => cell.textContent).join("");
      const type = (value) => { one("input.number").value = value; press(one("input.number"), "Enter"); };
      type("x");
      told.none = says();
      step(() => type("0.3"), () => type("0,56"));
      const items = () => all("li"), sort = () => {
        for (const option of [0, 1, 2]) for (let i = 0; i < 3; ++i) {
          const item = items().find((one) => Number(one.dataset.option) === option);
          while (items().indexOf(item) > option) press(item, "ArrowUp", {altKey: true});
        }
      };
      step(() => check(), () => { sort(); check(); });
      const write = (text) => { one("textarea").value = text; all("button").find((button) => button.textContent === "Compare").click(); };
      step(() => write("too short"), () => { write("as long as twenty letters are"); all("button").find((button) => button.textContent === "Partly").click(); });
      const fill = (values) => { all(".fields input").forEach((field, i) => { field.value = values[i]; }); check(); };
      step(() => { fill(["0.44", "0.5", "0"]); told.kept = all(".fields input").map((field) => field.readOnly); }, () => fill(["0.44", "0.56", "0"]));
      step(() => all(".map td")[0].click(), () => {
        const table = one(".map");
        for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowRight", "ArrowDown", "Enter"]) press(table, key);
      });
      step(() => check(), () => {
        const table = one(".map"), cells = all(".map td");
        press(table, "ArrowDown"); press(table, "3");
        for (const [key, digit] of [["ArrowDown", "2"], ["ArrowRight", "2"], ["ArrowDown", "1"], ["ArrowLeft", "1"]]) { press(table, key); press(table, digit); }
        told.painted = cells.map((cell) => cell.getAttribute("aria-label") || "0");
        check();
      });
      told.live = root().textContent.includes("headlight view --lesson x.json --card 8");
      const show = all("button").find((button) => button.textContent.startsWith("Show"));
      show.click();
      told.shown = root().textContent.includes("Because live");
      next().click();
      told.end = root().textContent;
      told.seen = seen;
      told.images = document.images.length;
      told.title = document.getElementById("title").textContent;
      document.getElementById("theme").click();
      told.theme = document.documentElement.dataset.theme;
    )";
    const nlohmann::json told = told_by({.kind = "lesson", .title = kHostile, .language = "en", .data = lesson()}, probe);
    const std::string hint = "Look at q2kT.";
    // Of the painted map, by hand: (1 + (0.44 + 0.5) + (0.34 + 0.37)) / 3.
    CHECK(told["seen"] ==
          nlohmann::json({{"Skip", hint, false, "\u2713 Right", true, "Next"},
                          {"Skip", hint, false, "\u2713 Right", true, "Next"},
                          {"Skip", hint, false, "\u2713 Right", true, "Next"},
                          {"Skip", "Write at least 20 letters.", false, "\u2713 Right", true, "Next"},
                          {"Skip", hint, false, "\u2713 Right", true, "Next"},
                          {"Skip", hint, false, "\u2713 Right", true, "Next"},
                          {"Skip", "overlap: 0.00. " + hint, false, "\u2713 overlap: 0.88.", true, "Next"}}));
    CHECK(told["bold"] == 2);
    CHECK(told["options"] == nlohmann::json({"also wrong", "right one", "wrong"}));
    CHECK(told["blank"] == "");
    CHECK(told["none"] == "That is no number. " + hint);
    CHECK(told["kept"] == nlohmann::json({true, false, true}));
    CHECK(told["painted"] == nlohmann::json({"1", "0", "0", "0.5", "0.5", "0", "0.25", "0.25", "0"}));
    CHECK(told["live"] == true);
    CHECK(told["shown"] == true);
    CHECK(told["end"].get<std::string>().starts_with("0 of 7 right at the first try"));
    CHECK(told["images"] == 0);
    CHECK(told["title"] == kHostile);
    CHECK(told["theme"] == "dark");
  }

  TEST_CASE("a worksheet has tasks for paper, gives no earlier answer away, and its answers begin a page") {
    if (!has_browser()) return test::skip("chromium isn't installed");
    const std::string probe = R"(
      const told = {}, texts = (what) => [...document.querySelectorAll(what)].map((one) => one.textContent);
      told.tasks = texts("main > .sheet .task");
      told.order = texts("main > .sheet:nth-of-type(3) p");
      told.blank = [...document.querySelectorAll("main > .sheet .map")].map((map) => map.classList.contains("blank"));
      told.answers = texts(".answers .good");
      told.marked = [...document.querySelectorAll(".answers td.marked")].map((cell) => [cell.dataset.row, cell.dataset.column]);
      told.page = getComputedStyle(document.querySelector(".answers")).breakBefore;
      told.leaks = texts("main > .sheet").join(" ").includes("Because");
      told.inputs = document.querySelectorAll("main input, main textarea, main button").length;
    )";
    const nlohmann::json told = told_by({.kind = "worksheet", .title = "T", .language = "en", .data = lesson()}, probe);
    CHECK(told["tasks"] == nlohmann::json({"Task choice", "Task number", "Task order", "Task explain", "Task row",
                                           "Task click", "Task draw"}));
    const std::string order = told["order"].dump();
    CHECK(order.find("Nothing.") != std::string::npos);
    CHECK(order.find("right one") == std::string::npos);
    CHECK(order.find("0.56") == std::string::npos);
    CHECK(told["blank"] == nlohmann::json({false, true, false, false, false, false, true}));
    CHECK(told["answers"][0] == "right one");
    CHECK(told["answers"][1] == std::string(kHostile) + ": 0.5608");
    CHECK(told["answers"][2] == "first \u2192 second \u2192 third");
    CHECK(told["marked"] == nlohmann::json::array({{"2", "1"}}));
    CHECK(told["page"] == "page");
    CHECK(told["leaks"] == false);
    CHECK(told["inputs"] == 0);
  }

  TEST_CASE("a class's results: first tries by card and by file") {
    if (!has_browser()) return test::skip("chromium isn't installed");
    const auto answer = [](const char* lesson, int card, int condition, bool is_right) -> Json {
      return {{"lesson", lesson}, {"card", card}, {"condition", condition}, {"right", is_right}};
    };
    const Json data = {
        {"titles", {{"a", "Arrows"}}},
        {"files",
         {{{"name", "Anna"}, {"answers", {answer("b", 2, 0, false), answer("b", 2, 0, true), answer("b", 10, 0, true)}}},
          {{"name", kHostile}, {"answers", {answer("b", 2, 0, true), answer("a", 1, 0, true), answer("a", 1, 1, false)}}}}}};
    const nlohmann::json told = told_by({.kind = "results", .title = "R", .language = "en", .data = data},
                                        "const told = [...document.querySelectorAll('tr')].map((row) => "
                                        "[...row.children].map((cell) => cell.textContent));");
    CHECK(told == nlohmann::json({{"", "Arrows", "b", ""},
                                  {"file", "1", "2", "10", "first try"},
                                  {"Anna", "\u2013", "(\u2713)", "\u2713", "50 %"},
                                  {kHostile, "\u2717", "\u2713", "\u2013", "50 %"},
                                  {"first try", "0 %", "50 %", "100 %", "50 %"}}));
  }

  TEST_CASE("every lesson that comes along is a page without errors, in German too") {
    if (!has_browser()) return test::skip("chromium isn't installed");
    const TemporaryDirectory folder;
    const std::string out = (folder.path() / "page.html").string();
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(HEADLIGHT_EXAMPLES_DIR).parent_path() / "lessons")) {
      const bool is_lesson =
          entry.is_regular_file() && read_file(entry.path()).find("\"headlight_lesson\"") != std::string::npos;
      if (!is_lesson) continue;
      for (const char* command : {"lesson-page", "worksheet"}) {
        const Outcome outcome = run_headlight({command, entry.path().string(), "--language", "de", "--out", out});
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
        const std::string probe = std::string(kHelpers) + R"(
          told.cards = document.querySelectorAll("section.card, section.sheet").length;
          if (next()) while (!next().hidden) next().click();
        )";
        const std::string json = between(document_of(out, probe + kTell), "TOLD", "END");
        CHECK_MESSAGE(nlohmann::json::parse(json)["problems"].empty(), json);
      }
    }
  }
}

}  // namespace lesson_browser_test
