// The places of results: one file, standard output, the list of a dry run, JSON, quiet; and the files that a second
// export leaves.
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/golden_model.h"
#include "support/program.h"

namespace outputs_test {

using namespace headlight;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string golden_path(std::string_view name) { return test::golden_model_path(name).string(); }

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

Outcome run_export(std::vector<std::string> arguments, const std::string& input = "") {
  arguments.insert(arguments.begin(), {"export", "-m", golden_path("gpt2")});
  Outcome outcome = run_headlight(arguments, "", input);
  INFO(outcome.err);
  return outcome;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("--out names one file by the ending of its format, and a word is the text") {
    const TemporaryDirectory directory;
    const auto file = [&](const std::string& name) { return (directory.path() / name).string(); };
    // Nothing is chosen: all heads on one page. One layer: its heads. One head: its map.
    CHECK(run_export({"the cat sat", "-o", file("all.svg")}).out == file("all.svg") + "\n");
    CHECK(run_export({"the cat sat", "--layer", "1", "-o", file("layer.svg")}).status == 0);
    CHECK(run_export({"the cat sat", "--layer", "1", "--head", "0", "-o", file("head.svg")}).status == 0);
    CHECK(run_export({"the cat sat", "--layer", "1", "--head", "0", "-o", file("head.csv")}).status == 0);
    CHECK(read_file(file("all.svg")).find(">L1 H3</text>") != std::string::npos);
    CHECK(read_file(file("layer.svg")).find(">head 3</text>") != std::string::npos);
    CHECK(read_file(file("head.svg")).find("layer 1, head 0</text>") != std::string::npos);
    CHECK(read_file(file("head.csv")).starts_with("query/key,"));
    CHECK(names_in(directory.path()) == std::vector<std::string>{"all.svg", "head.csv", "head.svg", "layer.svg"});
    const std::string refusal = complaint_of(run_export({"the cat sat", "-o", file("maps.csv")}), 2);
    CHECK(refusal.find("--out maps.csv: it would be 12 files (layer-00_batch-0_head-00_weights.csv, ") == 0);
    CHECK(complaint_of(run_export({"the cat", "-o", file("a.png"), "--format", "png,svg"}), 2)
              .find("one file holds one format") != std::string::npos);
  }

  TEST_CASE("-o - is standard output, and --text - reads standard input") {
    const TemporaryDirectory directory;
    const std::string file = (directory.path() / "head.csv").string();
    const std::vector<std::string> of_head = {"--layer", "1", "--head", "0"};
    const auto with = [&](std::vector<std::string> arguments) {
      arguments.insert(arguments.end(), of_head.begin(), of_head.end());
      return arguments;
    };
    REQUIRE(run_export(with({"the cat sat", "-o", file})).status == 0);
    const Outcome piped = run_export(with({"--text", "-", "-o", "-", "--format", "csv"}), "the cat sat\n");
    CHECK(piped.out == read_file(file));
    CHECK(piped.err.empty());
    const Outcome word = run_export(with({"-", "-o", "-", "--format", "csv"}), "the cat sat\n");
    CHECK(word.out == piped.out);
    CHECK(complaint_of(run_export({"the cat", "-o", "-"}), 2).find("say with --format") != std::string::npos);
    CHECK(complaint_of(run_export({"the cat", "-o", "-", "--format", "tiles"}), 2).find("tiles are a folder") !=
          std::string::npos);
    const Outcome shot = run_headlight({"screenshot", "-m", golden_path("gpt2"), "the cat", "-o", "-", "--size", "400x300"});
    CHECK(shot.out.starts_with("\x89PNG"));
    CHECK(run_headlight({"tokenize", "-m", golden_path("gpt2"), "--text", "-"}, "", "the cat\n").out ==
          run_headlight({"tokenize", "-m", golden_path("gpt2"), "the cat"}).out);
  }

  TEST_CASE("--dry-run names the files of the run, the sizes of arrays exactly, and writes nothing") {
    const TemporaryDirectory directory;
    const std::string folder = (directory.path() / "out").string();
    const std::vector<std::string> arguments = {"the cat sat", "--format", "npy,svg", "--stages",
                                                "q,weights",   "-o",       folder,    "--json"};
    std::vector<std::string> dry = arguments;
    dry.emplace_back("--dry-run");
    const json planned = json::parse(run_export(dry).out);
    CHECK(!fs::exists(folder));
    const json written = json::parse(run_export(arguments).out);
    std::vector<std::string> expected, found;
    for (const json& file : planned.at("files")) expected.push_back(file.at("name"));
    for (std::size_t i = 0; i < written.at("files").size(); ++i) {
      const json& file = written["files"][i];
      const fs::path path = file.at("name").get<std::string>();
      found.push_back(path.string());
      CHECK(fs::file_size(path) == file.at("bytes"));
      if (path.extension() != ".npy") continue;
      CHECK(planned["files"][i].at("bytes") == file.at("bytes"));
    }
    CHECK(found == expected);
    CHECK(found.size() == names_in(folder).size());
    // The size of images and texts is estimated: the plan's is 0.6 to 1.5 of the real one (observed).
    const double ratio = planned.at("bytes").get<double>() / written.at("bytes").get<double>();
    CHECK(ratio > 0.4);
    CHECK(ratio < 2.5);
    // Each text of a file, and no index.
    const std::string texts = (directory.path() / "texts").string(), many = (directory.path() / "many").string();
    write_file_atomically(texts, "the cat\n\nsat\n");
    const Outcome of_texts = run_export({"--texts", texts, "--format", "npz", "-o", many, "--dry-run"});
    CHECK(of_texts.out.find("000002/numbers.npz") != std::string::npos);
    CHECK(!fs::exists(many));
  }

  TEST_CASE("a second export into a folder names what the first one left there") {
    const TemporaryDirectory directory;
    const std::string folder = (directory.path() / "out").string();
    REQUIRE(run_export({"the cat sat", "--layer", "0", "--format", "csv", "-o", folder}).status == 0);
    CHECK(!json::parse(read_file(fs::path(folder) / "run.json")).contains("earlier"));
    const Outcome second = run_export({"the cat", "--layer", "0", "--head", "0-1", "--format", "csv,npy", "-o", folder});
    CHECK(second.err == "headlight: note: files of earlier exports that are in the folder too, named in run.json: 4\n");
    const json record = json::parse(read_file(fs::path(folder) / "run.json"));
    CHECK(record.at("files").size() == 4);
    CHECK(record.at("earlier") == json{"layer-00_batch-0_head-02_weights.csv", "layer-00_batch-0_head-03_weights.csv",
                                       "layer-00_batch-0_head-04_weights.csv", "layer-00_batch-0_head-05_weights.csv"});
    // A removed file is no longer named; a name that leaves the folder never is.
    fs::remove(fs::path(folder) / "layer-00_batch-0_head-02_weights.csv");
    json edited = record;
    edited["earlier"].push_back("../out/weights.npy");
    write_file_atomically(fs::path(folder) / "run.json", edited.dump());
    const Outcome third =
        run_export({"the cat", "--layer", "0", "--head", "0-1", "--format", "csv,npy", "-o", folder, "-q"});
    CHECK(third.err.empty());
    CHECK(third.out.empty());
    CHECK(json::parse(read_file(fs::path(folder) / "run.json")).at("earlier") ==
          json{"layer-00_batch-0_head-03_weights.csv", "layer-00_batch-0_head-04_weights.csv",
               "layer-00_batch-0_head-05_weights.csv"});
    write_file_atomically(fs::path(folder) / "run.json", "no JSON");
    CHECK(run_export({"the cat", "--layer", "0", "--format", "npy", "-o", folder}).status == 0);
  }

  TEST_CASE("--json and --quiet of commands that say what they found") {
    const json devices = json::parse(run_headlight({"devices", "--json"}).out.substr(0, std::string::npos), nullptr, false);
    if (!devices.is_discarded()) CHECK(devices.contains("name"));  // of several devices a line each
    const Outcome written = run_headlight(
        {"generate", "-m", golden_path("gpt2"), "the cat", "--temperature", "0", "--max-tokens", "3", "--json"});
    const json line = json::parse(written.out);
    CHECK(line.at("text") == "the cat");
    CHECK(line.at("ids").size() == 3);
    const Outcome plain =
        run_headlight({"generate", "-m", golden_path("gpt2"), "the cat", "--temperature", "0", "--max-tokens", "3"});
    CHECK(plain.out == line.at("written").get<std::string>() + "\n");
  }

  TEST_CASE("texts without a flag: once, in quotes, and no file") {
    const auto refusal = [](std::vector<std::string> arguments) {
      arguments.insert(arguments.end(), {"-o", "out"});
      return complaint_of(run_export(std::move(arguments)), 2);
    };
    CHECK(refusal({"the", "cat"}).find("'cat' is one word too many: put the text in quotes") == 0);
    CHECK(refusal({"the cat", "--text", "sat"}) == "the text is given twice: once behind --text");
    CHECK(refusal({golden_path("gpt2") + "/config.json"}).find("config.json is a file: name it behind the flag") !=
          std::string::npos);
    CHECK(!fs::exists("out"));
  }
}

}  // namespace outputs_test
