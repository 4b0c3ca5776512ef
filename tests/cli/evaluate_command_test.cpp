// headlight evaluate, as people run it, and the line that says how far it is.
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/output.h"
#include "support/golden_model.h"
#include "support/program.h"

namespace evaluate_command_test {

using namespace headlight;
namespace fs = std::filesystem;

namespace {

constexpr const char* kNoData = "HEADLIGHT_MULTI30K=";

std::string golden_path(std::string_view name) { return test::golden_model_path(name).string(); }

/// Small texts in a folder.
struct Texts {
  TemporaryDirectory folder;

  std::string add(const std::string& name, const std::string& content) const {
    write_file_atomically(folder.path() / name, content);
    return (folder.path() / name).string();
  }
};

Outcome evaluate(const std::vector<std::string>& flags, const std::string& prefix = kNoData) {
  std::vector<std::string> arguments = {"evaluate"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return run_headlight(arguments, prefix);
}

/// The one line on standard error of an evaluation that fails with this status.
std::string complaint(const std::vector<std::string>& arguments, int status, const std::string& prefix = kNoData) {
  const Outcome outcome = evaluate(arguments, prefix);
  CHECK(outcome.out == "");
  return complaint_of(outcome, status);
}

/// Returns the JSON that an evaluation that succeeds writes, with nothing on standard error.
nlohmann::json answer(std::vector<std::string> arguments, const std::string& prefix = kNoData) {
  arguments.insert(arguments.end(), {"--format", "json", "--quiet"});
  const Outcome outcome = evaluate(arguments, prefix);
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  CHECK(outcome.err == "");
  return nlohmann::json::parse(outcome.out);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("BLEU of what is translated already needs no model") {
    const Texts texts;
    const std::string reference = texts.add("reference", "The cat sat on the mat.\nA dog barks at the moon.\n");
    const std::string hypothesis = texts.add("hypothesis", "the cat sat on the mat .\nA dog barks at a moon.\n");
    const Outcome outcome = evaluate({"bleu", "--hypothesis", hypothesis, "--reference", reference});
    CHECK(outcome.status == 0);
    CHECK(outcome.out ==
          "BLEU 76.28 (1- to 4-grams 92.9 83.3 70.0 62.5, brevity penalty 1.000, 2 sentences, 14 words for 14)\n");
    CHECK(outcome.err == "");
    const nlohmann::json json = answer({"bleu", "--hypothesis", reference, "--reference", reference});
    CHECK(json["bleu"].get<double>() == doctest::Approx(100.0).epsilon(1e-12));
    CHECK(json["sentences"] == 2);
    CHECK(json["precisions"].size() == 4);
    // The folder's own texts: where no flag names a file, and only there.
    texts.add("test_2016_flickr.en", "One line.\n");
    CHECK(complaint({"bleu", "--data", texts.folder.path().string()}, 1).find("has no test_2016_flickr.de or ") !=
          std::string::npos);
  }

  TEST_CASE("texts that can't be evaluated end in one line") {
    const Texts texts;
    const std::string two = texts.add("two", "a\nb\n"), three = texts.add("three", "a\nb\nc\n");
    const std::string empty = texts.add("empty", ""), broken = texts.add("broken", "a\n\xff\n");
    const std::string missing = (texts.folder.path() / "missing").string();
    const auto bleu = [&](const std::string& hypothesis, const std::string& reference) {
      return complaint({"bleu", "--hypothesis", hypothesis, "--reference", reference}, 1);
    };
    CHECK(bleu(missing, two) == "can't read " + missing + ": No such file or directory");
    CHECK(bleu(two, three) == two + " has 2 lines and " + three + " has 3: line by line they must belong together");
    CHECK(bleu(empty, two) == empty + " is empty: it needs a line of text at least");
    CHECK(bleu(broken, two) == broken + " line 2: byte 0 is not UTF-8: convert the file");
    CHECK(complaint({"bleu", "--source", two, "--reference", three, "--model", golden_path("marian")}, 1)
              .find("has 2 lines and") != std::string::npos);
    CHECK(complaint({"bleu", "--source", two, "--reference", two, "--model", golden_path("gpt2")}, 1) ==
          "GPT-2 translates nothing: BLEU needs an encoder-decoder");
    CHECK(complaint({"perplexity", "--model", golden_path("bert"), "--text-file", two}, 1) ==
          "BERT sees tokens on both sides: perplexity needs a model that predicts the next token");
    CHECK(complaint({"perplexity", "--model", golden_path("gpt2"), "--text-file", broken}, 1)
              .find("line 2: byte 0 is not UTF-8") != std::string::npos);
    CHECK(complaint({"heads", "--model", golden_path("gpt2"), "--text-file", missing}, 1).find("No such file") !=
          std::string::npos);
    CHECK(complaint({"heads", "--model", "/nonexistent"}, 1).find("/nonexistent: there is no such file or folder") == 0);
  }

  TEST_CASE("flags that don't go together, or are too few, are one line") {
    CHECK(complaint({}, 2) == "evaluate what? Choose bleu, perplexity or heads (see headlight evaluate --help)");
    CHECK(complaint({"blue"}, 2) == "there is no 'blue' among bleu, perplexity, heads (see headlight evaluate --help)");
    CHECK(complaint({"bleu", "--sauce", "x"}, 2) ==
          "unknown flag --sauce, did you mean --source? (see headlight evaluate bleu --help)");
    CHECK(complaint({"--quiet", "bleu"}, 2) == "unknown flag --quiet (see headlight evaluate --help)");
    CHECK(complaint({"bleu"}, 2) ==
          "no text is given: name --source and --reference, or Multi30k's folder with --data or HEADLIGHT_MULTI30K (a clone "
          "of github.com/multi30k/dataset)");
    CHECK(complaint({"bleu", "--source", "x"}, 2) == "--reference is missing: name the file to compare with");
    CHECK(complaint({"bleu", "--reference", "x"}, 2).find("--source is missing: ") == 0);
    CHECK(complaint({"bleu", "--hypothesis", "x", "--reference", "x", "--model", "y"}, 2).find("--model and --hypothesis") ==
          0);
    CHECK(complaint({"perplexity", "--model", golden_path("gpt2")}, 2).find("no text is given: name --text-file, or") == 0);
    CHECK(complaint({"perplexity", "--text-file", "x", "--target", "y"}, 2) ==
          "--text-file and --target exclude each other");
    CHECK(complaint({"perplexity", "--source", "x"}, 2) == "--target is missing: name the translations of --source");
    CHECK(complaint({"perplexity", "--target", "x"}, 2) == "--source is missing: name what --target translates");
    CHECK(complaint({"perplexity", "--model", golden_path("marian"), "--text-file", "x"}, 2) ==
          "--text-file: Marian needs a source for each text: give --source and --target");
    CHECK(complaint({"perplexity", "--model", golden_path("gpt2"), "--source", "x", "--target", "y"}, 2) ==
          "--source: GPT-2 translates nothing: give --text-file");
    CHECK(complaint({"heads", "--measure", "abs"}, 2) == "--measure is for texts: name some with --text-file");
    CHECK(complaint({"heads", "--text-file", "x", "--span", "5"}, 2) ==
          "--span is for random tokens: it doesn't go with --text-file");
    CHECK(complaint({"heads", "--text-file", "x", "--exclude", "first"}, 2) ==
          "--exclude leaves out cells of mul and abs: add --measure mul or --measure abs");
    CHECK(complaint({"heads", "--sort", "head"}, 2).find("--sort: there is no 'head'") == 0);
    CHECK(complaint({"bleu", "--format", "xml"}, 2).find("--format: there is no 'xml'") == 0);
    CHECK(evaluate({"bleu", "--help"}).out.find("\nUsage: headlight evaluate bleu [FLAG VALUE]...\n") != std::string::npos);
    CHECK(evaluate({"--help"}).out.find("\nUsage: headlight evaluate [COMMAND] [FLAG VALUE]...\n") != std::string::npos);
  }

  TEST_CASE("how far it is, how fast, and how long it takes") {
    CHECK(app::progress_text(0, 1000, "lines", 3.0) == "0 of 1000 lines");
    CHECK(app::progress_text(412, 1000, "sentences", 10.0) == "412 of 1000 sentences, 41 a second, 14 s left");
    CHECK(app::progress_text(1, 1000, "lines", 2.0) == "1 of 1000 lines, 0.5 a second, 33 min 18 s left");
    CHECK(app::progress_text(2, 7, "kernels compiled", 2.0) == "2 of 7 kernels compiled, 1.0 a second, 5 s left");
    CHECK(app::progress_text(10, 10, "lines", 1.0) == "10 of 10 lines, 10 a second");
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("perplexity of texts, alone and as translations") {
    const Texts texts;
    const std::string file = texts.add("texts", "the cat sat on the mat\nthe mat\n");
    const nlohmann::json alone = answer({"perplexity", "--model", golden_path("gpt2"), "--text-file", file});
    CHECK(alone["words"] == 10);
    CHECK(alone["lines"] == 2);
    CHECK(alone["bytes"] == 22 + 7 + 2);
    CHECK(alone["perplexity_per_word"].get<double>() ==
          doctest::Approx(std::exp(alone["nats"].get<double>() / 10.0)).epsilon(1e-9));
    const Outcome line = evaluate({"perplexity", "--model", golden_path("gpt2"), "--text-file", file});
    CHECK(line.out.starts_with(fmt::format("perplexity {:.3f} per word, ", alone["perplexity_per_word"].get<double>())));
    CHECK(line.out.find('\n') == line.out.size() - 1);
    const nlohmann::json pair = answer({"perplexity", "--model", golden_path("marian"), "--source", file, "--target", file});
    CHECK(pair["words"] == 10);
    CHECK(pair["nats"].get<double>() > 0.0);
    // The texts are found under the dataset's names, too, by the variable and by the flag.
    texts.add("val.de", read_file(file));
    texts.add("val.en", read_file(file));
    const std::string folder = texts.folder.path().string();
    CHECK(answer({"perplexity", "--model", golden_path("marian")}, "HEADLIGHT_MULTI30K='" + folder + "'") == pair);
    CHECK(answer({"perplexity", "--model", golden_path("marian"), "--data", folder}) == pair);
  }

  TEST_CASE("a text that is too long for the model is told by its line") {
    const Texts texts;
    std::string many = "the cat\n";
    for (int i = 0; i < 40; ++i) many += "cat ";
    const std::string file = texts.add("texts", many + "\n");
    CHECK(complaint({"perplexity", "--model", golden_path("gpt2"), "--text-file", file}, 1).find("line 2: ") == 0);
    CHECK(complaint({"heads", "--model", golden_path("gpt2"), "--text-file", file}, 1).find("line 2: ") == 0);
    CHECK(complaint({"heads", "--model", golden_path("marian")}, 1).find("Marian has an encoder and a decoder") == 0);
    CHECK(complaint({"heads", "--model", golden_path("gpt2"), "--span", "20"}, 1).find("choose at most 16") !=
          std::string::npos);
  }

  TEST_CASE("retrieval scores of heads: JSON, a CSV of each text, and what doesn't go together") {
    const Texts texts;
    const std::string file = texts.add("texts", "the cat sat on the mat\non the mat\n");
    const std::string csv = (texts.folder.path() / "needle.csv").string(), model = golden_path("gpt2");
    const nlohmann::json json = answer({"heads", "--model", model, "--needle", "--text-file", file, "--needle-tokens", "4",
                                        "--lengths", "2", "--depths", "3", "--csv", csv});
    CHECK(json["texts"] == 6);
    REQUIRE(json["heads"].size() == 12);
    double before = 1.0;
    for (const nlohmann::json& head : json["heads"]) {
      CHECK(head["retrieval"].get<double>() <= before);
      CHECK(head["retrieval_predicted"].get<double>() <= head["retrieval"].get<double>());
      before = head["retrieval"].get<double>();
    }
    const std::string rows = read_file(csv);
    CHECK(rows.starts_with("length,depth,layer,head,answers,predicted,attended,copied\n16,0,0,0,3,"));
    CHECK(std::ranges::count(rows, '\n') == 1 + 6 * 12);
    CHECK(complaint({"heads", "--depths", "3"}, 2).find("--depths is for retrieval scores: add --needle") == 0);
    CHECK(complaint({"heads", "--needle", "--span", "4"}, 2).find("--span is for metrics") == 0);
    CHECK(complaint({"heads", "--needle", "--model", model, "--needle-tokens", "9"}, 1).find("choose a shorter needle") !=
          std::string::npos);
  }

  TEST_CASE("BLEU of what a model translates is that of its translations") {
    const Texts texts;
    const std::string file = texts.add("texts", "the cat sat on the mat\non the mat\n");
    const nlohmann::json json = answer({"bleu", "--model", golden_path("marian"), "--source", file, "--reference", file});
    CHECK(json["sentences"] == 2);
    CHECK(json["reference_words"] == 9);
    CHECK(json["bleu"].get<double>() < 50.0);  // its weights are random
  }

  TEST_CASE("heads come sorted, the best ones named") {
    const std::vector<std::string> random = {"heads", "--model", golden_path("gpt2"), "--span", "12", "--sequences", "3"};
    const nlohmann::json json = answer(random);
    const nlohmann::json& heads = json["heads"];
    REQUIRE(heads.size() == 12);
    for (std::size_t i = 1; i < heads.size(); ++i) CHECK(heads[i]["induction_stripe"] <= heads[i - 1]["induction_stripe"]);
    CHECK(json["best"]["induction_stripe"]["layer"] == heads[0]["layer"]);
    CHECK(json["best"]["induction_stripe"]["score"] == heads[0]["induction_stripe"]);
    std::vector<std::string> sorted = random;
    sorted.insert(sorted.end(), {"--sort", "sink"});
    const nlohmann::json by_sink = answer(sorted);
    for (std::size_t i = 1; i < 12; ++i) CHECK(by_sink["heads"][i]["sink"] <= by_sink["heads"][i - 1]["sink"]);
    CHECK(by_sink["best"] == json["best"]);
    sorted.insert(sorted.end(), {"--seed", "2"});
    CHECK(answer(sorted)["best"] != json["best"]);

    const Texts texts;
    const std::string file = texts.add("texts", "the cat sat on the mat\nthe cat the cat\n");
    const std::vector<std::string> heads_of = {"heads", "--model", golden_path("gpt2"), "--text-file", file};
    const auto with = [&](const std::vector<std::string>& flags) {
      std::vector<std::string> all = heads_of;
      all.insert(all.end(), flags.begin(), flags.end());
      return all;
    };
    const Outcome table = evaluate(with({"--measure", "mul", "--exclude", "first"}));
    CHECK(table.status == 0);
    CHECK(table.out.starts_with("gpt2 on 2 texts: mul of each pattern, without the first token\nbest: previous_mul L"));
    CHECK(std::count(table.out.begin(), table.out.end(), '\n') == 3 + 1 + 12);
    CHECK(evaluate(heads_of).out.starts_with("gpt2 on 2 texts: mean weight on each pattern\nbest: previous L"));
    const nlohmann::json mean = answer(heads_of), mul = answer(with({"--measure", "mul"})),
                         abs = answer(with({"--measure", "abs"}));
    CHECK(mean["best"].contains("induction"));
    CHECK(mul["best"].contains("induction_mul"));
    CHECK(mul["best"]["induction_mul"]["score"] != abs["best"]["induction_abs"]["score"]);
    CHECK(mean["best"]["induction"]["score"] > mul["best"]["induction_mul"]["score"]);  // of fewer queries
    // No token comes twice: there is no number, and that isn't 0.
    const std::string other = texts.add("other", "the cat\n");
    const nlohmann::json none = answer({"heads", "--model", golden_path("gpt2"), "--text-file", other});
    CHECK(none["best"]["induction"].is_null());
    CHECK(none["heads"][0]["induction"].is_null());
    CHECK(none["heads"][0]["previous"].is_number());
  }
}

}  // namespace evaluate_command_test
