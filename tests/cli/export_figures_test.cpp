// Figures that `export` writes: heads, sheets, and those that views draw.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/exported.h"
#include "support/retrained_model.h"
#include "support/svg_words.h"

namespace export_figures_test {

using namespace headlight;
namespace fs = std::filesystem;
using test::export_complaint;
using test::Exported;

TEST_SUITE("gpu") {
  TEST_CASE("figures carry tokens, title and settings, on one sheet too") {
    const Exported exported({"--preset", "playground", "--text", "alpha beta gamma", "--mask", "causal", "--heads", "2",
                             "--layers", "1", "--format", "png,svg"});
    for (const char* name :
         {"layer-00_batch-0_head-00_weights.png", "layer-00_batch-0_head-01_weights.png", "layer-00_heads.png"}) {
      INFO(name);
      CHECK(exported.text(name).starts_with("\x89PNG"));
    }
    const std::string svg = exported.text("layer-00_batch-0_head-01_weights.svg");
    for (const char* words : {"alpha", "gamma", "layer 0, head 1", "seed 123", "causal", "query", "key"}) {
      INFO(words);
      CHECK(svg.find(words) != std::string::npos);
    }
    CHECK(exported.text("layer-00_heads.svg").find("head 1") != std::string::npos);
    CHECK(exported.json("run.json")["view"]["color_map"] == "viridis");
  }

  TEST_CASE("figures of views are written in every format, and are made again from their files") {
    const Exported exported({"--preset",    "playground", "--text",   "alpha beta gamma",
                             "--mask",      "causal",     "--heads",  "2",
                             "--layers",    "1",          "--views",  "grid,lines,text,steps,metrics",
                             "--threshold", "0.125",      "--theme",  "dark",
                             "--size",      "120mm",      "--format", "png,svg,pdf"});
    for (const char* name :
         {"grid", "layer-00_lines", "layer-00_batch-0_head-01_text", "layer-00_batch-0_head-01_steps", "metrics"}) {
      CAPTURE(name);
      CHECK(exported.text(std::string(name) + ".png").starts_with("\x89PNG"));
      CHECK(exported.text(std::string(name) + ".pdf").starts_with("%PDF-1."));
      const std::string file = std::string(name) + ".svg";
      CHECK(exported.text(file).find("seed 123") != std::string::npos);
      const Exported again({"--session", exported.path(file).string()});
      CHECK(again.text(file) == exported.text(file));
    }
    CHECK(exported.text("layer-00_lines.svg").find("weights from 0.125 on") != std::string::npos);
    CHECK(exported.text("layer-00_batch-0_head-01_text.svg").find(">gamma<") != std::string::npos);
    CHECK_FALSE(exported.has("layer-00_heads.svg"));
    const std::vector<std::string> text = {"--preset", "playground", "--text", "alpha beta", "--views"};
    const auto with = [&](std::vector<std::string> more) {
      more.insert(more.begin(), text.begin(), text.end());
      return more;
    };
    CHECK(export_complaint(with({"nonsense"}), 2).find("choose among head, heads, grid, model, lines") != std::string::npos);
    CHECK(export_complaint(with({"grid", "--format", "csv"}), 2).find("--views are figures") != std::string::npos);
    CHECK(export_complaint(with({"side_by_side"}), 1).find("no other run to compare with") != std::string::npos);
  }

  TEST_CASE("a step of a training that can't be read is named in the table, on standard error and in the exit status") {
    const TemporaryDirectory folder;
    for (const char* name : {"checkpoint-5", "checkpoint-10", "checkpoint-50"})
      test::copy_of_golden("gpt2", folder.path() / name);
    fs::resize_file(folder.path() / "checkpoint-10" / "model.safetensors", 1000);
    const std::string model = (folder.path() / "checkpoint-50").string(), csv = (folder.path() / "steps.csv").string();
    const std::vector<std::string> common = {"--model", model, "--text", "the cat sat, the cat sat", "--out"};
    const auto run = [&](std::vector<std::string> first, const std::string& out) {
      first.insert(first.end(), common.begin(), common.end());
      first.push_back(out);
      return run_headlight(first);
    };
    const Outcome table = run({"screenshot", "--tab", "checkpoints"}, csv);
    CHECK(table.status == 3);
    CHECK(table.err.find("1 of 3 steps couldn\u2019t be measured: checkpoint-10: ") != std::string::npos);
    const std::string rows = read_file(csv);
    CHECK(rows.substr(0, rows.find('\n')).ends_with(",error"));
    const std::size_t at = rows.find("\n10,,,");
    REQUIRE(at != std::string::npos);
    CHECK(rows.substr(at + 1, rows.find('\n', at + 1) - at).find(",\"checkpoint-10/model.safetensors is no usable") !=
          std::string::npos);
    const Outcome figure = run({"export", "--views", "checkpoints", "--format", "svg"}, (folder.path() / "out").string());
    CHECK(figure.status == 3);
    const std::string svg = read_file(folder.path() / "out" / "checkpoints.svg");
    CHECK(test::svg_words(svg.substr(svg.find("</metadata>"))).find("3 steps (1 couldn\u2019t be measured), 12 heads") !=
          std::string::npos);
  }

  TEST_CASE("retrieval, prompts and checkpoints are the views' own figures, and what is wrong is said before") {
    const TemporaryDirectory folder;
    for (const char* name : {"checkpoint-5", "checkpoint-50"}) test::copy_of_golden("gpt2", folder.path() / name);
    const std::string model = (folder.path() / "checkpoint-50").string(), prompts = (folder.path() / "two.jsonl").string();
    write_file_atomically(prompts, std::string(R"({"text": "the cat sat on the", "answer": " mat", "wrong": " cat"})"
                                               "\n"
                                               R"({"text": "the cat", "answer": " sat"})"));
    const std::vector<std::string> computed = {"--model", model, "--text", "the cat sat on the mat, the cat sat"};
    const auto with = [&](std::vector<std::string> more) {
      more.insert(more.begin(), computed.begin(), computed.end());
      return more;
    };
    const Exported exported(with({"--views", "retrieval,prompts,checkpoints", "--prompts", prompts, "--experiment",
                                  "metrics", "--curves", "entropy", "--format", "svg,png,pdf"}));
    const auto drawn = [](const std::string& svg) { return test::svg_words(svg.substr(svg.find("</metadata>"))); };
    struct Case {
      const char* name;
      std::vector<std::string> words;
    };
    const std::vector<Case> cases = {
        {"retrieval", {"Heads that retrieve a needle", "retrieval score"}},
        {"prompts", {"What heads attend to", "two: mean of 2 of 2 prompts"}},
        {"checkpoints", {"entropy over the steps of a training", "2 steps, 12 heads", "bold: L0 H0"}}};
    for (const Case& one : cases) {
      CAPTURE(std::string(one.name));
      CHECK(exported.text(std::string(one.name) + ".png").starts_with("\x89PNG"));
      CHECK(exported.text(std::string(one.name) + ".pdf").starts_with("%PDF-1."));
      const std::string file = std::string(one.name) + ".svg", svg = drawn(exported.text(file));
      for (const std::string& word : one.words) {
        CAPTURE(word);
        CHECK(svg.find(word) != std::string::npos);
      }
      const fs::path again = folder.path() / file;
      CHECK(run_headlight({"screenshot", "--session", exported.path(file).string(), "--out", again.string()}).status == 0);
      CHECK(drawn(read_file(again)) == svg);
    }
    // The names of the files are known before anything is computed.
    const Outcome dry =
        run_headlight({"export", "--model", model, "--text", "a b", "--views", "prompts,checkpoints", "--prompts", prompts,
                       "--out", (folder.path() / "out").string(), "--dry-run", "--json"});
    REQUIRE(dry.status == 0);
    CHECK(nlohmann::json::parse(dry.out).at("files").size() == 3);  // and run.json
    CHECK_FALSE(fs::exists(folder.path() / "out"));
    for (const bool is_dry : {false, true}) {
      const auto complaint = [&](std::vector<std::string> arguments, int status) {
        if (is_dry) arguments.emplace_back("--dry-run");
        return export_complaint(std::move(arguments), status);
      };
      CHECK(complaint(with({"--views", "prompts"}), 2) == "--views prompts: name a set with --prompts");
      CHECK(complaint(with({"--views", "prompts", "--prompts", "none.jsonl"}), 1).find("none.jsonl") != std::string::npos);
      CHECK(complaint(with({"--views", "prompts", "--prompts", prompts, "--layer", "1"}), 1).find("all layers and heads") !=
            std::string::npos);
      CHECK(
          complaint({"--preset", "playground", "--text", "a", "--views", "retrieval"}, 2).find("are of a language model") !=
          std::string::npos);
      CHECK(complaint({"--text", "a", "--views", "checkpoints"}, 1).find("no other steps of this training") !=
            std::string::npos);
    }
    // A file of prompts is one of JSON lines.
    const std::string text = (folder.path() / "x.txt").string();
    write_file_atomically(text, std::string("a"));
    CHECK(export_complaint(with({"--views", "prompts", "--prompts", text}), 2).find("x.txt doesn't end in .jsonl") !=
          std::string::npos);
    CHECK(export_complaint(with({"--views", "prompts", "--prompts", "nonsense"}), 2).find("choose among ioi") !=
          std::string::npos);
    CHECK(complaint_of(run_headlight({"describe", "--steps", text}), 2) ==
          "unknown flag --steps (see headlight describe --help)");
  }
}

}  // namespace export_figures_test
