// The report and the site of a survey in a real browser, where there is one.
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/browser.h"
#include "files/npy.h"
#include "support/decode_npy.h"
#include "support/program.h"
#include "support/skip.h"

namespace survey_browser_test {

using namespace headlight;
namespace fs = std::filesystem;
using test::between, test::document_of, test::has_browser, test::kTell;

// These tests need a browser, which CI doesn't install.
TEST_SUITE("given") {
  TEST_CASE("a survey's report and its site show what its files say, in a browser, without an error") {
    if (!has_browser()) return test::skip("chromium isn't installed");
    const TemporaryDirectory folder;
    std::string corpus = "a </script><script>document.title='out'</script> & <b>dog</b> is a dog\n";
    for (int i = 0; i < 30; ++i) corpus += fmt::format("a man with {} dogs and a man with a ball, said the man\n", i);
    write_file_atomically(folder.path() / "corpus.txt", corpus);
    const fs::path survey = folder.path() / "survey", site = folder.path() / "site";
    const Outcome outcome =
        run_headlight({"survey", (folder.path() / "corpus.txt").string(), "--model", "captions-gpt2", "--metrics",
                       "induction,entropy", "--out", survey.string(), "--publish", site.string()});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const Tensor mean = files::decode_npy(read_file(survey / "mean.npy"));
    // Every head by clicks, the second metric, other axes, arrow keys; what the page shows of each.
    const std::string probe = R"(
      const find = (id) => document.getElementById(id), all = (what) => [...document.querySelectorAll(what)];
      const told = {means: all("table.heads button").map((button) => button.textContent), heads: [], dots: all("circle").length};
      const look = () => [find("title").textContent, all("#bars rect").length, all("#distances rect").length, all("#tokens table").length,
        all("#examples li").length, all("#examples .query").length, find("map").width, find("examples").querySelector("li")?.textContent ?? ""];
      for (let i = 0; i < told.means.length; ++i) {
        if (data.pages !== undefined && !inPages.includes(i)) continue;
        all("table.heads button")[i].click();
        told.heads.push(look());
      }
      told.links = names.map((name) => (data.pages ?? "") + name + ".html");
      all("#metrics button")[1].click();
      told.second = look();
      find("x").value = String(quantities.length - 1);
      find("x").dispatchEvent(new Event("change"));
      told.under = find("scatter").textContent;
      told.hidden = find("detail").hidden;
      told.sorted = [...data.metrics.keys()].every((i) => Object.values(data.details).every((head) => {
        const values = [...head.metrics[i].deciles].reverse().flatMap((decile) => [...decile].reverse().map((one) => one[2]));
        return values.length > 9 && values.every((value, at) => at === 0 || values[at - 1] >= value);
      }));
      if (data.pages === undefined) {
        const before = find("title").textContent.split(" ")[0];
        all("table.heads button")[0].click();
        document.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
        document.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown", bubbles: true}));
        told.moved = find("title").textContent.split(" ")[0];
      }
    )";
    const auto look_at = [&](const fs::path& page) {
      const nlohmann::json all = nlohmann::json::parse(between(document_of(page, probe + kTell), "TOLD", "END"));
      CHECK_MESSAGE(all["problems"].empty(), all["problems"].dump());
      return all["told"];
    };
    const nlohmann::json report = look_at(survey / "report.html");
    INFO(report.dump());
    REQUIRE(report["means"].size() == 32);
    for (std::uint32_t i = 0; i < 32; ++i) {
      const double shown = std::stod(report["means"][i].get<std::string>());
      CHECK(std::abs(shown - static_cast<double>(mean.values[i])) <= 0.00005001);
    }
    CHECK(report["dots"] == 32);
    REQUIRE(report["heads"].size() == 32);
    CHECK(report["heads"][9][0].get<std::string>().starts_with("L1H1 \u00b7 induction: mean "));
    for (const nlohmann::json& head : report["heads"]) {
      CHECK(head[1] == 32);
      CHECK(head[3] == 3);
      CHECK(head[4].get<int>() >= 30);
      CHECK(head[5] == head[4]);
      CHECK(head[6].get<int>() > 10);
    }
    CHECK(report["second"][0].get<std::string>().find("entropy") != std::string::npos);
    CHECK(report["under"].get<std::string>().find("head") != std::string::npos);
    CHECK(report["sorted"] == true);
    CHECK(report["moved"] == "L1H1");
    CHECK(report["hidden"] == false);
    const nlohmann::json index = look_at(site / "index.html");
    CHECK(index["hidden"] == true);
    CHECK(index["means"] == report["means"]);
    CHECK(index["links"].size() == 32);
    for (const nlohmann::json& link : index["links"]) CHECK(fs::exists(site / link.get<std::string>()));
    const nlohmann::json page = look_at(site / "heads" / "L1H1.html");
    REQUIRE(page["heads"].size() == 1);
    CHECK(page["heads"][0] == report["heads"][9]);
    for (const nlohmann::json& link : page["links"]) CHECK(fs::exists(site / "heads" / link.get<std::string>()));
    for (const fs::path& file : {survey / "report.html", site / "index.html", site / "heads" / "L1H1.html"}) {
      for (const char* outside : {"http://", "https://", " src="}) {
        const std::string text = read_file(file);
        for (std::size_t at = text.find(outside); at != std::string::npos; at = text.find(outside, at + 1)) {
          CHECK(text.substr(at, 26) == "http://www.w3.org/2000/svg");  // a name, which is not loaded
        }
      }
    }
  }

  TEST_CASE("the report of a survey on pairs has all kinds of heads, and cross-attention's numbers alone") {
    if (!has_browser()) return test::skip("chromium isn't installed");
    const TemporaryDirectory folder;
    std::string pairs;
    for (int i = 0; i < 12; ++i) {
      pairs += fmt::format(R"({{"text": "ein Mann mit {} Hunden", "target": "a man with {} dogs"}})", i, i) + "\n";
    }
    write_file_atomically(folder.path() / "pairs.jsonl", pairs);
    const fs::path survey = folder.path() / "survey";
    const Outcome outcome = run_headlight({"survey", (folder.path() / "pairs.jsonl").string(), "--model", "multi30k-de-en",
                                           "--metrics", "previous,entropy", "--out", survey.string()});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const std::string probe = R"(
      const find = (id) => document.getElementById(id), all = (what) => [...document.querySelectorAll(what)];
      const told = {heads: all("table.heads button").length, dots: all("circle").length};
      all("#metrics button")[1].click();
      all("table.heads button").at(-1).click();
      told.title = find("title").textContent;
      told.hidden = [find("distances").parentElement.hidden, find("positions").parentElement.hidden];
      told.lists = all("#tokens table").length;
      told.marked = [all("#examples .query").length, all("#examples .key").length, all("#examples li").length];
      told.side = find("map").width;
      told.text = find("examples").querySelector("li").textContent;
    )";
    const nlohmann::json all =
        nlohmann::json::parse(between(document_of(survey / "report.html", probe + kTell), "TOLD", "END"));
    CHECK_MESSAGE(all["problems"].empty(), all["problems"].dump());
    const nlohmann::json& told = all["told"];
    INFO(told.dump());
    CHECK(told["heads"] == 72);
    CHECK(told["dots"] == 72);  // at first by numbers that all kinds have
    CHECK(told["title"].get<std::string>().starts_with("cross L2H7 \u00b7 entropy: mean "));
    CHECK(told["hidden"] == nlohmann::json({true, false}));
    CHECK(told["lists"] == 2);
    CHECK(told["marked"][0] == told["marked"][2]);  // a query in the target and a key in the text of each example
    CHECK(told["marked"][1] == told["marked"][2]);
    CHECK(told["side"] == 32);
    CHECK(told["text"].get<std::string>().find(" \u2192 ") != std::string::npos);
  }
}

}  // namespace survey_browser_test
