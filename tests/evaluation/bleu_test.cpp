// Words and BLEU against Python's re and sacrebleu.
#include <cmath>

#include <doctest/doctest.h>

#include "evaluation/bleu.h"
#include "evaluation/perplexity.h"
#include "support/error_message.h"
#include "support/golden.h"

namespace bleu_test {

using namespace headlight;
using evaluation::Bleu;
using evaluation::words_of;

namespace {

using Words = std::vector<std::string>;

Bleu bleu_of(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references) {
  std::vector<Words> left, right;
  for (const std::string& text : hypotheses) left.push_back(words_of(text));
  for (const std::string& text : references) right.push_back(words_of(text));
  return evaluation::corpus_bleu(left, right);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("words are what Python's re finds") {
    const nlohmann::json golden = test::golden("bleu.json");
    CHECK(golden["words"].size() >= 20);
    for (const auto& item : golden["words"]) {
      CAPTURE(item["text"].dump());
      CHECK(words_of(item["text"].get<std::string>()) == item["words"].get<Words>());
    }
    CHECK(words_of("a \xff b") == Words{"a", "\uFFFD", "b"});
  }

  TEST_CASE("a corpus has the BLEU that sacrebleu gives it") {
    const nlohmann::json golden = test::golden("bleu.json");
    CHECK(golden["corpora"].size() == 7);
    for (const auto& corpus : golden["corpora"]) {
      CAPTURE(corpus["name"]);
      std::vector<std::string> hypotheses, references;
      for (const auto& pair : corpus["pairs"]) {
        hypotheses.push_back(pair[0]);
        references.push_back(pair[1]);
      }
      const Bleu bleu = bleu_of(hypotheses, references);
      const nlohmann::json& expected = corpus["bleu"];
      CHECK(std::abs(bleu.score - expected["score"].get<double>()) < 1e-9);  // observed 1.5e-14
      CHECK(bleu.hypothesis_words == expected["hypothesis_words"].get<std::uint64_t>());
      CHECK(bleu.reference_words == expected["reference_words"].get<std::uint64_t>());
      CHECK(std::abs(bleu.brevity_penalty - expected["brevity_penalty"].get<double>()) < 1e-12);
      for (std::size_t i = 0; i < evaluation::kBleuOrders; ++i) {
        CHECK(std::abs(100.0 * bleu.precision[i] - expected["precisions"][i].get<double>()) < 1e-9);
      }
    }
  }

  TEST_CASE("BLEU's edge cases") {
    CHECK(bleu_of({"one two three four"}, {"One two three four"}).score == doctest::Approx(100.0).epsilon(1e-12));
    CHECK(bleu_of({"one two three"}, {"one two three"}).score == 0.0);  // there is no 4-gram, and nothing is smoothed
    CHECK(bleu_of({""}, {"one two"}).score == 0.0);
    CHECK(bleu_of({}, {}).score == 0.0);
    const Bleu shorter = bleu_of({"one two three four"}, {"one two three four five six seven eight"});
    CHECK(shorter.score == doctest::Approx(100.0 * std::exp(-1.0)).epsilon(1e-12));
    CHECK(bleu_of({"one two three four five"}, {"one two three four"}).brevity_penalty == 1.0);
    CHECK(bleu_of({"the the the the"}, {"the the"}).precision[0] == 0.5);  // each as often at most as in the reference
    CHECK(test::error_message([] { bleu_of({"a", "b"}, {"a"}); }) == "2 hypotheses for 1 references: give one for each");
  }
}

}  // namespace bleu_test
