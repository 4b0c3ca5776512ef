// `headlight survey`: what it writes for others, and parts that can't be merged.
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "files/npy.h"
#include "support/decode_npy.h"
#include "support/program.h"

namespace survey_command_test {

using namespace headlight;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Three shards of captions.
fs::path write_corpus(const fs::path& folder) {
  std::string corpus;
  for (int i = 0; i < 900; ++i) corpus += fmt::format("a man with {} dogs and a man with a red ball\n", i % 77);
  write_file_atomically(folder / "corpus.txt", corpus);
  return folder / "corpus.txt";
}

Outcome survey(const fs::path& corpus, const fs::path& out, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {
      "survey", corpus.string(), "--model", "captions-gpt2", "--metrics", "induction,entropy", "--top",
      "3",      "--samples",     "20",      "--out",         out.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_headlight(arguments);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("parts and folders that aren't right are refused in one line") {
    const TemporaryDirectory folder;
    const fs::path corpus = write_corpus(folder.path());
    for (const char* part : {"0/3", "4/3", "3", "/", "1/0", "a/b", "1/2/3", ""}) {
      const Outcome outcome = survey(corpus, folder.path() / "out", {"--shard", part});
      CAPTURE(std::string(part));
      if (*part == 0) continue;  // as without the flag
      CHECK(outcome.status == 2);
      CHECK(outcome.err.find("--shard") != std::string::npos);
    }
    CHECK(run_headlight({"survey", "merge"}).err.find("name the folders") != std::string::npos);
    const Outcome none = run_headlight({"survey", "merge", (folder.path() / "none").string()});
    CHECK(none.status == 1);
    CHECK(none.err.find("survey.json") != std::string::npos);
    for (const char* text :
         {"{}", "[]", R"({"corpus": 1})",
          R"({"corpus": "corpus.txt", "model": "captions-gpt2", "metrics": ["entropy"], "tokens_at_most": -1})",
          R"({"corpus": "corpus.txt", "model": "captions-gpt2", "metrics": ["entropy"], "tokens_at_most": 1e99})",
          R"({"corpus": "corpus.txt", "model": "captions-gpt2", "metrics": ["nothing"], "tokens_at_most": 1})"}) {
      write_file_atomically(folder.path() / "survey.json", text);
      const Outcome outcome = run_headlight({"survey", "merge", folder.path().string()});
      CHECK(outcome.status == 1);
      CHECK(outcome.err.find("write it again with headlight survey") != std::string::npos);
    }
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("the folder for HeadVis has the published names, and the numbers of the survey") {
    const TemporaryDirectory folder;
    const fs::path out = folder.path() / "out", headvis = folder.path() / "headvis";
    const Outcome outcome = survey(write_corpus(folder.path()), out, {"--headvis", headvis.string(), "--limit", "200"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const Tensor mean = files::decode_npy(read_file(out / "mean.npy"));
    const json config = json::parse(read_file(headvis / "config.json"));
    CHECK(config["n_layers"] == 4);
    CHECK(config["n_heads"] == 8);
    CHECK(config["n_sequences"] == 200);
    CHECK(config["metrics"] == json({"induction", "entropy", "self_attention", "first_token", "mean_distance"}));
    const json scatter = json::parse(read_file(headvis / "scatter_data.json"));
    REQUIRE(scatter.size() == 32);
    for (std::uint32_t i = 0; i < 32; ++i) {
      const json head = json::parse(read_file(headvis / "heads" / fmt::format("L{}H{}.json", i / 8, i % 8)));
      CHECK(scatter[i]["id"] == head["id"]);
      CHECK(scatter[i]["layer"] == i / 8);
      CHECK(scatter[i]["metrics"] == head["metrics"]);
      CHECK(std::abs(head["metrics"]["entropy"].get<double>() - static_cast<double>(mean.values[32 + i])) < 1e-6);
      const json& sequences = head["sequences"]["entropy"];
      REQUIRE(sequences.size() == 23);
      for (std::size_t at = 0; at < sequences.size(); ++at) {
        const json& one = sequences[at];
        CHECK(one["tokens"].size() == one["token_ids"].size());
        CHECK(one["query"].get<std::size_t>() < one["tokens"].size());
        CHECK(one["decile"].is_null() == (at < 3));
        if (at > 3) CHECK(one["value"].get<double>() <= sequences[at - 1]["value"].get<double>());
      }
      CHECK(sequences.back()["decile"] == 0);
      CHECK(sequences[3]["decile"] == 9);
    }
  }

  TEST_CASE("parts of another corpus, model or flags can't be merged, nor damaged ones") {
    const TemporaryDirectory folder;
    const fs::path corpus = write_corpus(folder.path()), one = folder.path() / "one", two = folder.path() / "two";
    REQUIRE(survey(corpus, one, {"--shard", "1/2"}).status == 0);
    const auto merge = [&](const fs::path& second) {
      return run_headlight({"survey", "merge", one.string(), second.string(), "--out", (folder.path() / "merged").string()});
    };
    REQUIRE(survey(corpus, two, {"--shard", "2/2", "--tokens", "20"}).status == 0);
    CHECK(merge(two).err.find("is of another survey") != std::string::npos);
    REQUIRE(survey(corpus, two, {"--shard", "2/2", "--restart", "--precision", "f16"}).status == 0);
    CHECK(merge(two).err.find("float16 weights) than") != std::string::npos);
    REQUIRE(survey(corpus, two, {"--shard", "2/2", "--restart"}).status == 0);
    CHECK(merge(two).status == 0);
    std::string state = read_file(two / "survey.state");
    state[state.size() / 2] = static_cast<char>(state[state.size() / 2] ^ 1);
    write_file_atomically(two / "survey.state", state);
    CHECK(merge(two).err.find("its check sum is wrong") != std::string::npos);
    fs::remove(two / "survey.state");
    CHECK(merge(two).err.find("survey.state") != std::string::npos);
    fs::remove(corpus);
    CHECK(merge(one).err.find("corpus.txt") != std::string::npos);
  }
}

}  // namespace survey_command_test
