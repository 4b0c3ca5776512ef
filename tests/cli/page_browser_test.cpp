// The page that `export --format html` writes, in a real browser: Debian's chromium without a window. Passed over with a
// message where there is none.
#include <array>
#include <cmath>
#include <cstdlib>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/browser.h"
#include "files/npy.h"
#include "support/decode_npy.h"
#include "support/program.h"
#include "support/skip.h"

namespace page_browser_test {

using namespace headlight;
namespace fs = std::filesystem;
using test::between, test::document_of, test::has_browser, test::kTell;

// These tests need a browser, which CI doesn't install.
TEST_SUITE("given") {
  TEST_CASE("a page has no error in a browser, and hovering shows the number that the device computed") {
    if (!has_browser()) return test::skip("chromium isn't installed");
    const TemporaryDirectory folder;
    const std::string out = folder.path().string();
    const std::string text = "a </script><script>document.title='out'</script> \"quoted\" & <b>dog</b>";
    const Outcome outcome = run_headlight({"export", "--model", "captions-gpt2", "--text", text, "--layer", "0-1", "--head",
                                           "0-2", "--format", "html,npy", "--out", out});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const Tensor weights = files::decode_npy(read_file(folder.path() / "weights.npy"));
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

  TEST_CASE("a page's scales, sizes, thumbnails and stops of the Tab key") {
    if (!has_browser()) return test::skip("chromium isn't installed");
    const TemporaryDirectory folder;
    const Outcome outcome =
        run_headlight({"export", "--model", "captions-gpt2", "--text", "a man in a red shirt rides a horse", "--layer",
                       "1-3", "--format", "html,npy", "--out", folder.path().string()});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const Tensor weights = files::decode_npy(read_file(folder.path() / "weights.npy"));
    // The probe lists for each cell of the first head its colour, as its step among the 256 of the page.
    const std::string probe = R"(
      const told = {steps: {}, cells: [], focus: []}, find = (id) => document.getElementById(id), map = find("map");
      const data = JSON.parse(find("data").textContent), n = data.sets[0].rows.length, colors = atob(data.colors);
      const press = (key, target = document) => target.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
      const choose = (id, value) => {
        if (find(id).type === "checkbox") find(id).checked = value; else find(id).value = value;
        find(id).dispatchEvent(new Event("input"));
      };
      choose("cell-numbers", false);
      const copyOf = (canvas) => {
        const copy = document.createElement("canvas");
        [copy.width, copy.height] = [canvas.width, canvas.height];
        const context = copy.getContext("2d", {willReadFrequently: true});
        context.drawImage(canvas, 0, 0);
        return context;
      };
      const step = (context, row, column) => {
        const cell = +map.dataset.cell, ratio = map.width / parseFloat(map.style.width);
        const [x, y] = [+map.dataset.left + (column + 0.5) * cell, +map.dataset.top + (row + 0.5) * cell];
        const pixel = context.getImageData(Math.floor(x * ratio), Math.floor(y * ratio), 1, 1).data;
        for (let i = 0; i < 256; ++i) if ([0, 1, 2].every((c) => colors.charCodeAt(3 * i + c) === pixel[c])) return i;
        return -1;
      };
      const steps = () => {
        const context = copyOf(map);
        return Array.from({length: n}, (_, row) => Array.from({length: row + 1}, (_, column) => step(context, row, column)));
      };
      for (const spread of ["linear", "root", "log"]) { choose("spread", spread); told.steps[spread] = steps(); }
      choose("spread", "linear"); choose("per-row", true); told.steps.row = steps(); choose("per-row", false);
      for (const key of ["0", "+", "+", "-", "0"]) { press(key); told.cells.push(+map.dataset.cell); }
      for (let i = 0; i < 40; ++i) press("+");
      told.largest = +map.dataset.cell;
      const area = map.parentElement;
      told.sees = area.scrollWidth > area.clientWidth;
      for (let i = 0; i < 80; ++i) press("-");
      told.smallest = +map.dataset.cell; press("0");
      const stops = () => [...document.querySelectorAll("a,button,input,select,[tabindex]")].filter(
        (one) => one.tabIndex >= 0 && one.offsetParent && !one.disabled);
      told.stops = stops().length;
      told.heads = [document.querySelectorAll("#grid button").length, stops().filter((one) => one.closest("#grid")).length];
      told.count = find("count").textContent;
      document.querySelector("#grid [tabindex='0']").focus();
      for (const key of ["ArrowRight", "ArrowDown", "End", "ArrowRight", "ArrowUp", "Home"]) {
        press(key, document.activeElement);
        told.focus.push(document.activeElement.title + (document.activeElement.getAttribute("aria-pressed") === "true" ? "" : "?"));
      }
      find("tab-map").focus();
      press("ArrowLeft", document.activeElement);
      told.tab = document.activeElement.id;
      told.tokens = stops().filter((one) => one.closest("#text")).length;
      document.querySelector("#text [tabindex='0']").focus();
      for (let i = 0; i < 3; ++i) press("ArrowRight", document.activeElement);
      told.token = [...document.querySelectorAll("#text .token")].indexOf(document.activeElement);
      press("1");
      const hex = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
      const thumbnail = document.querySelector("#grid canvas"), context = copyOf(thumbnail);
      const edge = thumbnail.width / n, colorsOf = (column) => new Set(Array.from({length: edge * edge}, (_, i) => "#" +
        [...context.getImageData(column * edge + i % edge, Math.floor(i / edge), 1, 1).data].slice(0, 3)
          .map((byte) => byte.toString(16).padStart(2, "0")).join("")));
      told.hatched = [...colorsOf(n - 1)].sort().join() === [hex("--blank"), hex("--stripe")].sort().join();
      told.seen = colorsOf(0).size;
    )";
    const std::string document = document_of(folder.path() / "attention.html", probe + kTell);
    const nlohmann::json all = nlohmann::json::parse(between(document, "TOLD", "END")), &told = all["told"];
    INFO(all.dump());
    CHECK(all["problems"].empty());
    const auto steps_of = [&](const char* name, auto&& position) {
      CAPTURE(name);
      for (std::uint32_t row = 0; row < weights.axis(3); ++row) {
        double largest = 0.0;
        for (std::uint32_t column = 0; column <= row; ++column) {
          largest = std::max(largest, static_cast<double>(weights.at({0, 0, 0, row, column})));
        }
        for (std::uint32_t column = 0; column <= row; ++column) {
          const double exact = 255.0 * position(static_cast<double>(weights.at({0, 0, 0, row, column})), largest);
          const int shown = told["steps"][name][row][column];
          CAPTURE(row);
          CAPTURE(column);
          CHECK(std::abs(shown - exact) < 0.51);  // rounded; the largest weight of the head is 1
        }
      }
    };
    steps_of("linear", [](double weight, double) { return weight; });
    steps_of("root", [](double weight, double) { return std::sqrt(weight); });
    steps_of("log", [](double weight, double) { return std::max(0.0, 1.0 + std::log10(weight) / 4.0); });
    steps_of("row", [](double weight, double largest) { return weight / largest; });
    const std::vector<int> cells = told["cells"];
    CHECK(cells[1] > cells[0]);
    CHECK(cells[2] > cells[1]);
    CHECK(cells[3] < cells[2]);
    CHECK(cells[4] == cells[0]);
    CHECK(told["largest"] == 96);
    CHECK(told["sees"] == true);
    CHECK(told["smallest"] == 1);
    CHECK(told["stops"] <= 10);
    CHECK(told["heads"] == nlohmann::json({24, 1}));
    CHECK(told["count"] == "24 heads in 3 layers");
    CHECK(told["focus"] == nlohmann::json({"layer 1, head 1", "layer 2, head 1", "layer 2, head 7", "layer 3, head 0",
                                           "layer 2, head 0", "layer 2, head 0"}));
    CHECK(told["tab"] == "tab-text");
    CHECK(told["tokens"] == 1);
    CHECK(told["token"] == 3);
    CHECK(told["hatched"] == true);
    CHECK(told["seen"] == 1);
  }

  TEST_CASE("of an image's patches a page shows the image, and thumbnails on the axes and beside the number") {
    if (!has_browser()) return test::skip("chromium isn't installed");
    const TemporaryDirectory folder;
    const std::string out = folder.path().string();
    const fs::path capture = fs::path(HEADLIGHT_GOLDEN_DIR) / "captures" / "vision.safetensors";
    const Outcome outcome =
        run_headlight({"export", "--capture", capture.string(), "--layer", "1", "--format", "html,npy", "--out", out});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const Tensor weights = files::decode_npy(read_file(folder.path() / "weights.npy"));
    // The probe waits until the image is decoded: the map's axes, the readout, and the image in Text, where the pointer
    // chooses a patch.
    const std::string probe = R"(
      const told = {}, find = (id) => document.getElementById(id);
      const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
      const colors = (canvas, x, y, edge) => {
        const ratio = canvas.width / parseFloat(canvas.style.width || canvas.width);
        const copy = document.createElement("canvas"), size = edge * ratio;
        copy.width = copy.height = size;
        const context = copy.getContext("2d", {willReadFrequently: true});
        context.drawImage(canvas, x * ratio, y * ratio, size, size, 0, 0, copy.width, copy.height);
        const bytes = context.getImageData(0, 0, copy.width, copy.height).data, sum = [0, 0, 0];
        for (let i = 0; i < bytes.length; ++i) if (i % 4 < 3) sum[i % 4] += bytes[i] * 4 / bytes.length;
        return sum.map(Math.round);
      };
      const tellAll = () => {
        for (let i = 0; i < 30; ++i) { press("ArrowUp"); press("ArrowLeft"); }
        told.classToken = find("readout").textContent;
        told.classImages = document.querySelectorAll("#readout canvas").length;
        press("ArrowDown");
        for (let i = 0; i < 10; ++i) press("ArrowRight");
        told.readout = find("readout").textContent;
        const thumbnails = [...document.querySelectorAll("#readout canvas")];
        told.thumbnails = thumbnails.map((canvas) => colors(canvas, 0, 0, 64));
        const map = find("map"), cell = parseFloat(map.dataset.cell), edge = parseFloat(map.dataset.rowPatch);
        told.edge = [edge, cell];
        told.row = colors(map, parseFloat(map.dataset.left) - edge - 4, parseFloat(map.dataset.top) + 1.5 * cell - edge / 2, edge);
        told.column = colors(map, parseFloat(map.dataset.left) + 10.5 * cell - edge / 2, parseFloat(map.dataset.top) - edge - 4, edge);
        press("3");
        const patches = () => [...document.querySelectorAll("#text .patch")];
        told.pictures = [...document.querySelectorAll("#text .picture")].map((picture) => picture.querySelectorAll("img").length);
        told.words = [...document.querySelectorAll("#text .words .token")].map((token) => token.textContent);
        told.patches = patches().length;
        const image = document.querySelector("#text .picture img").getBoundingClientRect(), box = patches()[9].getBoundingClientRect();
        told.place = [(box.left - image.left) / image.width * 6, (box.top - image.top) / image.height * 4, box.width / image.width * 6];
        patches()[9].dispatchEvent(new MouseEvent("mouseenter"));
        told.hovered = find("readout").textContent;
        told.titles = patches().map((patch) => patch.title);
        told.chosen = patches().findIndex((patch) => patch.classList.contains("chosen"));
        press("1");
      };
    )";
    const std::string wait = R"(
      addEventListener("load", () => {
        tellAll();
        )";
    const std::string document = document_of(folder.path() / "attention.html", probe + wait + kTell + "});");
    const nlohmann::json all = nlohmann::json::parse(between(document, "TOLD", "END")), &told = all["told"];
    INFO(all.dump());
    CHECK(all["problems"].empty());
    CHECK(told["classToken"].get<std::string>().starts_with("query 0 “[class]” → key 0 “[class]”: "));
    CHECK(told["classImages"] == 0);
    CHECK(told["readout"].get<std::string>().starts_with("query 1 patch row 0, column 0 → key 10 patch row 1, column 3: "));
    CHECK(told["thumbnails"].size() == 2);
    // Means of the patches' pixels in the file, 8 x 8 each; scaled they differ by rounding.
    const auto is_color = [](const nlohmann::json& shown, std::array<int, 3> expected) {
      for (std::size_t i = 0; i < 3; ++i) {
        if (std::abs(shown[i].get<int>() - expected[i]) > 3) return false;
      }
      return true;
    };
    const std::array<int, 3> first = {0, 18, 238}, other = {220, 30, 20};
    CHECK(is_color(told["thumbnails"][0], first));
    CHECK(is_color(told["thumbnails"][1], other));
    CHECK(is_color(told["row"], first));
    CHECK(is_color(told["column"], other));
    CHECK(told["pictures"] == nlohmann::json({1, 1}));
    CHECK(told["words"] == nlohmann::json({"[class]"}));
    CHECK(told["patches"] == 24);
    CHECK(std::abs(told["place"][0].get<double>() - 3.0) < 0.05);
    CHECK(std::abs(told["place"][1].get<double>() - 1.0) < 0.05);
    CHECK(std::abs(told["place"][2].get<double>() - 1.0) < 0.05);
    CHECK(told["chosen"] == 9);
    CHECK(told["hovered"].get<std::string>().starts_with("query 10 patch row 1, column 3"));
    for (std::uint32_t patch = 0; patch < 24; ++patch) {
      const std::string title = told["titles"][patch];
      CHECK(title.starts_with(fmt::format("patch row {}, column {}: ", patch / 6, patch % 6)));
      const double shown = std::stod(title.substr(title.find(": ") + 2));
      CHECK(std::abs(shown - static_cast<double>(weights.at({0, 0, 0, 10, patch + 1}))) < 1e-6);
    }
  }
}

}  // namespace page_browser_test
