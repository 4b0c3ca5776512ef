// The page that `export --format html` writes, in a real browser: Debian's chromium without a window. Passed over with a
// message where there is none.
#include <cmath>
#include <cstdlib>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "export/npy.h"
#include "support/program.h"

namespace page_browser_test {

using namespace headlight;
namespace fs = std::filesystem;

namespace {

bool has_browser() { return std::system("command -v chromium >/dev/null 2>&1") == 0; }

/// What the page's document is after its scripts, and those of `probe`, have run.
std::string document_of(const fs::path& page, const std::string& probe) {
  std::string text = read_file(page);
  const std::string errors =
      "<script>window.problems=[];addEventListener('error',(e)=>problems.push(e.message));"
      "console.error=(...all)=>problems.push(all.join(' '));</script>";
  text.insert(text.find("<title>"), errors);
  text.insert(text.rfind("</body>"), "<script>" + probe + "</script>");
  const TemporaryDirectory folder;
  const fs::path probed = folder.path() / "probed.html", out = folder.path() / "out", log = folder.path() / "log";
  write_file_atomically(probed, text);
  const std::string command = fmt::format(
      "HOME='{0}' timeout 120 chromium --headless --no-sandbox --disable-gpu --window-size=1200,900 "
      "--user-data-dir='{0}/profile' "
      "--enable-logging=stderr --dump-dom 'file://{1}' >'{2}' 2>'{3}'",
      folder.path().string(), probed.string(), out.string(), log.string());
  REQUIRE(std::system(command.c_str()) == 0);
  const std::string messages = read_file(log);
  CHECK_MESSAGE(messages.find("CONSOLE") == std::string::npos, messages);
  return read_file(out);
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  REQUIRE(from != std::string::npos);
  return text.substr(from + begin.size(), text.find(end, from + begin.size()) - from - begin.size());
}

/// Puts what happened into the document's title, which is read back as text.
constexpr const char* kTell = "document.title='TOLD'+JSON.stringify({problems,told})+'END';";

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a page has no error in a browser, and hovering shows the number that the device computed") {
    if (!has_browser()) {
      MESSAGE("chromium isn't installed: the page isn't opened");
      return;
    }
    const TemporaryDirectory folder;
    const std::string out = folder.path().string();
    const std::string text = "a </script><script>document.title='out'</script> \"quoted\" & <b>dog</b>";
    const Outcome outcome = run_headlight({"export", "--model", "captions-gpt2", "--text", text, "--layer", "0-1", "--head",
                                           "0-2", "--format", "html,npy", "--out", out});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const Tensor weights = exporting::decode_npy(read_file(folder.path() / "weights.npy"));
    const std::uint32_t tokens = weights.axis(3);
    // The middle of every third cell of the last row, in each head; then the keys, views and theme.
    const std::string probe = R"(
      const told = {hovered: [], views: [], theme: [], keys: []};
      const canvas = document.getElementById("map"), box = () => canvas.getBoundingClientRect();
      const number = () => document.getElementById("number").textContent;
      const data = JSON.parse(document.getElementById("data").textContent), n = data.sets[0].rows.length;
      const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
      document.querySelectorAll("#grid button").forEach((button, head) => {
        button.click();
        for (let column = 0; column < n; column += 3) {
          press("1");
          while (!document.getElementById("readout").textContent.startsWith("query 0 ")) press("ArrowUp");
          const b = box(), left = parseFloat(canvas.dataset.left), top = parseFloat(canvas.dataset.top),
                edge = parseFloat(canvas.dataset.cell);
          canvas.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: b.left + left + (column + 0.5) * edge,
            clientY: b.top + top + (n - 0.5) * edge}));
          told.hovered.push([head, column, number(), document.getElementById("readout").textContent]);
        }
      });
      document.querySelector("#grid button").click();
      const place = () => [document.getElementById("head").textContent.split(":")[0],
        ...[...document.getElementById("readout").textContent.matchAll(/(?:query|key) (\d+) /g)].map((found) => found[1])];
      for (const axis of ["ArrowUp", "ArrowLeft"]) for (let i = 0; i < n; ++i) press(axis);
      told.keys.push(["start", place()]);
      for (const key of ["ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft", "]", "]", "]", "[",
          "PageDown", "PageUp", "PageUp", "x"]) {
        press(key);
        told.keys.push([key, place()]);
      }
      document.dispatchEvent(new KeyboardEvent("keydown", {key: "]", ctrlKey: true, bubbles: true}));
      told.keys.push(["Ctrl+]", place()]);
      document.getElementById("least").dispatchEvent(new KeyboardEvent("keydown", {key: "]", bubbles: true}));
      told.keys.push(["] in a field", place()]);
      for (const key of ["2", "3", "1"]) { press(key); told.views.push(document.querySelector(".view.shown").id); }
      told.lines = (press("2"), document.querySelectorAll("#lines line").length);
      told.tokens = (press("3"), [...document.querySelectorAll(".token")].map((token) => token.textContent).join(""));
      told.theme.push(document.documentElement.dataset.theme); press("d");
      told.theme.push(document.documentElement.dataset.theme);
    )";
    const std::string document = document_of(folder.path() / "attention.html", probe + kTell);
    std::string json = between(document, "TOLD", "END");
    for (const auto& [entity, letter] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}}) {
      for (std::size_t at = json.find(entity); at != std::string::npos; at = json.find(entity)) {
        json.replace(at, std::string_view(entity).size(), letter);
      }
    }
    const nlohmann::json all = nlohmann::json::parse(json), &told = all["told"];
    CHECK_MESSAGE(all["problems"].empty(), all["problems"].dump());
    REQUIRE(told["hovered"].size() == 6 * ((tokens + 2) / 3));
    double largest = 0.0;
    for (const nlohmann::json& hovered : told["hovered"]) {
      const auto map = hovered[0].get<std::uint32_t>();
      const float computed = weights.at({map / 3, 0, map % 3, tokens - 1, hovered[1].get<std::uint32_t>()});
      const double shown = std::stod(hovered[2].get<std::string>());
      CAPTURE(hovered.dump());
      CHECK(hovered[3].get<std::string>().starts_with(fmt::format("query {} ", tokens - 1)));
      const double error = std::abs(shown - static_cast<double>(computed)) / std::max(1e-30, static_cast<double>(computed));
      largest = std::isnan(error) ? error : std::max(largest, error);
    }
    CAPTURE(largest);
    CHECK(largest <= 5e-6);  // six digits are shown; observed 3.9e-6
    // Heads go on from one layer to the next and from the last to the first; cells end at the map's edges.
    const std::vector<std::pair<const char*, std::vector<const char*>>> keys = {
        {"start", {"layer 0, head 0", "0", "0"}},      {"ArrowUp", {"layer 0, head 0", "0", "0"}},
        {"ArrowLeft", {"layer 0, head 0", "0", "0"}},  {"ArrowDown", {"layer 0, head 0", "1", "0"}},
        {"ArrowRight", {"layer 0, head 0", "1", "1"}}, {"ArrowDown", {"layer 0, head 0", "2", "1"}},
        {"ArrowUp", {"layer 0, head 0", "1", "1"}},    {"ArrowLeft", {"layer 0, head 0", "1", "0"}},
        {"]", {"layer 0, head 1", "1", "0"}},          {"]", {"layer 0, head 2", "1", "0"}},
        {"]", {"layer 1, head 0", "1", "0"}},          {"[", {"layer 0, head 2", "1", "0"}},
        {"PageDown", {"layer 1, head 2", "1", "0"}},   {"PageUp", {"layer 0, head 2", "1", "0"}},
        {"PageUp", {"layer 1, head 2", "1", "0"}},     {"x", {"layer 1, head 2", "1", "0"}},
        {"Ctrl+]", {"layer 1, head 2", "1", "0"}},     {"] in a field", {"layer 1, head 2", "1", "0"}}};
    REQUIRE(told["keys"].size() == keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      CAPTURE(told["keys"][i].dump());
      CHECK(told["keys"][i][0] == keys[i].first);
      CHECK(told["keys"][i][1] == nlohmann::json(keys[i].second));
    }
    CHECK(told["views"] == nlohmann::json({"view-lines", "view-text", "view-map"}));
    CHECK(told["lines"] > 0);
    CHECK(told["tokens"].get<std::string>().find("</script>") != std::string::npos);
    CHECK(told["theme"][0] != told["theme"][1]);
  }
}

}  // namespace page_browser_test
