// `headlight survey`: what it writes for others, and parts that can't be merged.
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/data/survey/survey_folder.h"
#include "core/error.h"
#include "core/file.h"
#include "files/npy.h"
#include "support/decode_npy.h"
#include "support/error_message.h"
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
    for (const char* part : {"0/3", "4/3", "3", "/", "1/0", "a/b", "1/2/3"}) {
      const Outcome outcome = survey(corpus, folder.path() / "out", {"--shard", part});
      CAPTURE(std::string(part));
      CHECK(outcome.status == 2);
      CHECK(outcome.err.find("--shard") != std::string::npos);
    }
    for (const char* metric : {"two-back", "=previous", "entropy=previous", "a=", "a=k == p"}) {
      const Outcome outcome = survey(corpus, folder.path() / "out", {"--metric", metric});
      CAPTURE(std::string(metric));
      CHECK(outcome.status == 2);
      CHECK(outcome.err.find("--metric") != std::string::npos);
    }
    CHECK(survey(corpus, folder.path() / "out", {"--metric", "a=first", "--metric", "a=next"}).err.find("has 'a' twice") !=
          std::string::npos);
    // A corpus that can't be measured is refused before the survey, as far as the lines that are read beforehand show
    // it.
    const fs::path latin = folder.path() / "latin.txt";
    write_file_atomically(latin, std::string("caf\xe9\nna\xefve\n"));
    const std::vector<std::string> dry = {"--activations", "next", "--dry-run"};
    const Outcome broken = survey(latin, folder.path() / "out", dry);
    CHECK(broken.status == 1);
    CHECK(broken.err.find("latin.txt has no text that can be measured: 2 lines") != std::string::npos);
    CHECK(survey(corpus, folder.path() / "out", dry).status == 0);
    CHECK(
        complaint_of(run_headlight({"survey", corpus.string(), "b.txt"}), 2) ==
        "headlight survey takes one text file, and 'b.txt' is one more: join them, as in cat FILE FILE | headlight survey - "
        "(see headlight survey --help)");
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
  TEST_CASE("parts without a text are merged, and a corpus that was moved is the same") {
    const TemporaryDirectory folder;
    const fs::path corpus = folder.path() / "corpus.txt", moved = folder.path() / "elsewhere" / "corpus.txt";
    write_file_atomically(corpus, std::string("a man with a ball and a man with a dog\na dog and a dog\n"));  // one shard
    std::vector<std::string> merge = {"survey", "merge", "--corpus", moved.string()};
    for (const char* part : {"1/3", "2/3", "3/3"}) {
      const fs::path out = folder.path() / ("part-" + std::string(1, *part));
      const Outcome outcome = survey(corpus, out, {"--shard", part});
      INFO(outcome.err);
      REQUIRE(outcome.status == 0);
      merge.push_back(out.string());
    }
    const fs::path whole = folder.path() / "whole", merged = folder.path() / "merged";
    REQUIRE(survey(corpus, whole, {}).status == 0);
    CHECK(survey(corpus, whole, {"--restart", "--shard", "9/8"}).status == 2);
    CHECK(fs::exists(whole / "survey.state"));  // a refused command removes nothing
    fs::create_directories(moved.parent_path());
    fs::rename(corpus, moved);
    merge.insert(merge.end(), {"--out", merged.string()});
    const Outcome outcome = run_headlight(merge);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    for (const char* file : {"heads.jsonl", "examples.jsonl", "samples.jsonl", "tokens.jsonl", "map.npy"}) {
      CHECK_MESSAGE(read_file(merged / file) == read_file(whole / file), file);
    }
    write_file_atomically(moved, std::string("another text\n"));
    const Outcome other = run_headlight(merge);
    CHECK(other.status == 1);
    CHECK(other.err.find("is of another survey (") != std::string::npos);
    CHECK(other.err.find("--restart") == std::string::npos);  // which a merge doesn't have
  }

  TEST_CASE("pairs measure every kind of head of an encoder–decoder, in parts and on two devices too; texts the encoder") {
    const TemporaryDirectory folder;
    const fs::path pairs = folder.path() / "pairs.jsonl", out = folder.path() / "out", headvis = folder.path() / "headvis";
    std::string lines;
    for (int i = 0; i < 420; ++i) {
      lines +=
          fmt::format(R"({{"text": "ein Mann mit {} Hunden", "target": "a man with {} dogs and a ball"}})", i % 7, i % 5);
      lines += i % 100 == 0 ? "\n{\"text\": \"allein\"}\n" : "\n";
    }
    write_file_atomically(pairs, lines);  // two shards
    const auto measure = [&](const fs::path& to, const std::vector<std::string>& more) {
      std::vector<std::string> arguments = {"survey",    pairs.string(),
                                            "--model",   "multi30k-de-en",
                                            "--metrics", "previous,entropy",
                                            "--metric",  "two-back=k == q - 2",
                                            "--top",     "3",
                                            "--samples", "20",
                                            "--out",     to.string()};
      arguments.insert(arguments.end(), more.begin(), more.end());
      return run_headlight(arguments);
    };
    const Outcome outcome = measure(out, {"--headvis", headvis.string(), "--publish", (folder.path() / "site").string()});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(outcome.out.find("420 pairs of texts, ") == 0);
    CHECK(outcome.out.find("5 lines skipped; heads of encoder, decoder and cross-attention; ") != std::string::npos);
    const json description = json::parse(read_file(out / "survey.json"));
    CHECK(description["version"] == 3);
    CHECK(description["attention"] == "all");
    const app::Survey ours = app::read_survey(out), theirs = app::read_survey(headvis);
    const evaluation::HeadLayout& layout = ours.layout;
    CHECK(layout.decoder_layers == description["decoder_layers"]);
    CHECK(theirs.layout == layout);
    REQUIRE(ours.count() > std::size_t{layout.layers} * layout.heads);
    CHECK(files::decode_npy(read_file(out / "mean.npy")).shape == Shape{3, static_cast<std::uint32_t>(ours.count())});
    for (std::size_t head = 0; head < ours.count(); ++head) {
      CAPTURE(ours.name(head));
      const bool is_cross = layout.at(head).block.kind == model::BlockKind::Cross;
      CHECK(ours.find(ours.name(head)) == head);
      for (const std::size_t metric : {0U, 2U}) CHECK(ours.head(metric, head).texts == (is_cross ? 0 : 420));
      CHECK(std::isnan(ours.attention[head].self) == is_cross);
      CHECK(ours.attention[head].distances.empty() == is_cross);
      CHECK(ours.attention[head].relative.empty() == is_cross);
      CHECK(std::isnan(ours.column("previous", 0).values[head]) == is_cross);
      CHECK(std::isnan(ours.column("cross maps, axis 1", 0).values[head]) == !is_cross);
      CHECK(std::isnan(ours.column("mean maps, axis 1", 0).values[head]) == is_cross);
      double mass = 0.0;
      for (const float weight : ours.attention[head].map) mass += std::isnan(weight) ? 0.0 : double{weight};
      if (is_cross) CHECK(std::abs(mass - 32.0) < 1e-4);
      REQUIRE(ours.head(1, head).examples.size() == 3);
      const app::SurveyExample &one = ours.head(1, head).examples[0], &again = theirs.head(1, head).examples[0];
      CHECK(one.target.starts_with("a man with"));
      CHECK(again.target_ids == one.target_ids);
      CHECK(again.query_token == one.query_token);
      CHECK(again.key_token == one.key_token);
      CHECK(theirs.head(1, head).mean == ours.head(1, head).mean);
      CHECK(theirs.attention[head].pairs[0].mass == ours.attention[head].pairs[0].mass);
    }
    CHECK(ours.find("CROSS l0h1") == layout.find({model::BlockKind::Cross, LayerIndex{0}}, 1));
    CHECK(ours.find("l0h1") == 1);
    CHECK(fs::exists(folder.path() / "site" / "heads" / "cross_L0H0.html"));
    std::vector<std::string> merge = {"survey", "merge", "--out", (folder.path() / "merged").string()};
    for (const char* part : {"1/2", "2/2"}) {
      merge.push_back((folder.path() / std::string(1, *part)).string());
      REQUIRE(measure(merge.back(), {"--shard", part}).status == 0);
    }
    REQUIRE(run_headlight(merge).status == 0);
    REQUIRE(measure(folder.path() / "two", {"--devices", "0,0"}).status == 0);
    for (const char* file : {"heads.jsonl", "examples.jsonl", "samples.jsonl", "tokens.jsonl", "map.npy", "report.html"}) {
      for (const char* other : {"merged", "two"}) {
        CHECK_MESSAGE(read_file(folder.path() / other / file) == read_file(out / file), other, "/", file);
      }
    }
    CHECK(measure(out, {"--pack", "--restart"}).err.find("can't be packed into rows: leave --pack out") !=
          std::string::npos);
    // A survey's heads are those of its description, each of a known kind.
    const auto complaint = [&](const std::string& from, const std::string& to) {
      const std::string right = read_file(out / "heads.jsonl");
      std::string wrong = right;
      REQUIRE(wrong.find(from) != std::string::npos);
      write_file_atomically(out / "heads.jsonl", wrong.replace(wrong.find(from), from.size(), to));
      std::string message = test::error_message([&] { app::read_survey(out); });
      write_file_atomically(out / "heads.jsonl", right);
      return message;
    };
    CHECK(complaint(R"("kind":"cross")", R"("kind":"both")").find("'both' is no kind of attention") != std::string::npos);
    CHECK(complaint(R"("kind":"cross","layer":0)", R"("kind":"cross","layer":99)").find("'layer' is 99, beyond") !=
          std::string::npos);
    write_file_atomically(pairs, std::string("{\"text\": \"ein Hund\"}\n"));
    const Outcome single = measure(out, {"--restart"});
    CHECK(single.out.find("1 texts, ") == 0);
    CHECK(single.out.find("heads of the encoder alone, since lines have no \"target\" for the decoder") !=
          std::string::npos);
    CHECK(json::parse(read_file(out / "survey.json"))["version"] == 2);
    CHECK(read_file(out / "heads.jsonl").find("kind") == std::string::npos);
  }

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
    CHECK(config["metrics"] == json({"induction", "entropy", "mean weight on itself", "mean weight on the first token",
                                     "mean distance of all attention"}));
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
    const app::Survey ours = app::read_survey(out), theirs = app::read_survey(headvis);
    CHECK(theirs.texts == ours.texts);
    CHECK(theirs.model == "captions-gpt2");
    for (std::size_t head = 0; head < ours.count(); ++head) {
      const app::SurveyedHead &found = ours.head(1, head), &again = theirs.head(1, head);
      CHECK(again.mean == found.mean);
      CHECK(again.place == found.place);
      CHECK(found.mean_text().starts_with(again.mean_text() + " \u00B1 "));
      REQUIRE(again.examples.size() == found.examples.size());
      CHECK(again.examples[0].text == found.examples[0].text);
      CHECK(again.examples[0].query_token == found.examples[0].query_token);
      REQUIRE(again.samples.size() == found.samples.size());
      CHECK(again.samples[0].decile == 1);
      CHECK(again.samples.back().ids == found.samples.back().ids);
      REQUIRE(theirs.attention[head].pairs.size() == ours.attention[head].pairs.size());
      CHECK(theirs.attention[head].pairs[0].mass == ours.attention[head].pairs[0].mass);
      CHECK(theirs.attention[head].self == ours.attention[head].self);
    }
    const auto complaint = [&](const fs::path& file, const std::string& from, const std::string& to) {
      const std::string right = read_file(headvis / file);
      std::string wrong = right;
      REQUIRE(wrong.find(from) != std::string::npos);
      write_file_atomically(headvis / file, wrong.replace(wrong.find(from), from.size(), to));
      std::string message = test::error_message([&] { app::read_survey(headvis); });
      write_file_atomically(headvis / file, right);
      return message;
    };
    CHECK(complaint("config.json", "\"n_heads\": 8", "\"n_heads\": 9").find("scatter_data.json: it has 32 heads, not 36") !=
          std::string::npos);
    CHECK(complaint("config.json", "\"n_layers\": 4", "\"n_layers\": -4").find("config.json: 'n_layers' is no count") !=
          std::string::npos);
    CHECK(complaint("config.json", "\"n_layers\": 4", "\"n_layers\": 4000").find("shorter than the numbers of all heads") !=
          std::string::npos);
    CHECK(complaint("scatter_data.json", "\"head\":1", "\"head\":0").find("some heads are missing") != std::string::npos);
    CHECK(complaint("scatter_data.json", "\"entropy\":", "\"entropi\":").find("scatter_data.json: ") != std::string::npos);
    CHECK(complaint("heads/L1H2.json", "\"tokens\":[", "\"tokens\":[\"\",").find("L1H2.json: a text has ") !=
          std::string::npos);
    CHECK(complaint("heads/L1H2.json", "\"decile\":9", "\"decile\":10").find("'decile' is 10") != std::string::npos);
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
    REQUIRE(survey(corpus, two, {"--shard", "2/2", "--restart", "--metric", "two-back=k == q - 2"}).status == 0);
    CHECK(merge(two).err.find("metrics induction,entropy,two-back = k == q - 2; ") != std::string::npos);
    CHECK(survey(corpus, two, {"--shard", "2/2", "--metric", "two-back=k == q - 3"}).err.find("--restart") !=
          std::string::npos);
    REQUIRE(survey(corpus, one, {"--shard", "1/2", "--restart", "--metric", "two-back=k == q - 2"}).status == 0);
    REQUIRE(merge(two).status == 0);
    const app::Survey merged = app::read_survey(folder.path() / "merged");
    CHECK(merged.metrics == std::vector<std::string>{"induction", "entropy", "two-back"});
    CHECK(merged.patterns.at("two-back") == "k == q - 2");
    CHECK(merged.head(2, 0).texts > 0);
    REQUIRE(survey(corpus, one, {"--shard", "1/2", "--restart"}).status == 0);
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
