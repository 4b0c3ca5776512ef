// The reader of cards, and every number of the bundled models' cards measured again.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <regex>

#include <doctest/doctest.h>

#include "cards/card.h"
#include "core/file.h"
#include "core/line_reader.h"
#include "evaluation/bleu.h"
#include "evaluation/head_survey.h"
#include "evaluation/multi30k.h"
#include "evaluation/perplexity.h"
#include "inference/decoding.h"
#include "support/error_message.h"
#include "support/gpu.h"

namespace card_test {

using namespace headlight;
using test::CardFigure;
namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

namespace {

/// The bundled models; an environment variable can name another folder of the same layout, to test new cards.
fs::path models_folder() {
  const char* named = std::getenv("HEADLIGHT_MODELS_DIR");
  return named != nullptr ? named : HEADLIGHT_MODELS_DIR;
}

Lines multi30k_lines(const std::string& text) {
  const char* folder = std::getenv(evaluation::kMulti30kVariable);
  REQUIRE_MESSAGE(folder != nullptr, evaluation::kMulti30kVariable, " names no folder");
  return read_texts(evaluation::find_multi30k(folder, text), kLargestFile);
}

/// A bundled model on the device, and its card.
struct Bundled {
  std::shared_ptr<const inference::LanguageModel> model;
  std::vector<CardFigure> figures;
  inference::Session session;

  Bundled(gpu::Context& context, const char* name)
      : model(inference::open_model(models_folder() / name)),
        figures(test::card_figures(read_file(models_folder() / name / "README.md"))),
        session(context) {
    session.load(model->network->layers, inference::Precision::F32);
  }
  std::vector<CardFigure> of_type(const std::string& type) const {
    std::vector<CardFigure> some;
    std::ranges::copy_if(figures, std::back_inserter(some), [&](const CardFigure& figure) { return figure.type == type; });
    return some;
  }
};

std::vector<Lines> in_words(const Lines& lines) {
  std::vector<Lines> words;
  for (const std::string& line : lines) words.push_back(evaluation::words_of(line));
  return words;
}

double measured_bleu(Bundled& bundled, const std::string& split) {
  inference::PromptText text;
  text.lines = multi30k_lines(split + ".de");
  Lines translations;
  for (const inference::Decoded& line : inference::decode(bundled.session, *bundled.model, text)) {
    translations.push_back(bundled.model->predicted_tokenizer()->decode(line.ids));
  }
  return evaluation::corpus_bleu(in_words(translations), in_words(multi30k_lines(split + ".en"))).score;
}

double measured_perplexity(Bundled& bundled, const std::string& split) {
  const bool translates = bundled.model->description.is_encoder_decoder;
  return evaluation::likelihood(bundled.session, *bundled.model, translates ? multi30k_lines(split + ".de") : Lines(),
                                multi30k_lines(split + ".en"))
      .perplexity_per_word();
}

double score_of(const evaluation::HeadScore& head, const std::string& type) {
  using evaluation::HeadMetric;
  const HeadMetric metric = type == "previous_stripe"    ? HeadMetric::PreviousToken
                            : type == "duplicate_stripe" ? HeadMetric::DuplicateToken
                                                         : HeadMetric::Induction;
  return head.mean(metric).value();
}

/// Returns the number of the head in the figure's name ("L2H5"), else of the best head.
double measured_head(const std::vector<evaluation::HeadScore>& heads, const CardFigure& figure) {
  static const std::regex kHead(R"(\bL(\d+)H(\d+)\b)");
  std::smatch named;
  const bool names_head = std::regex_search(figure.name, named, kHead);
  double best = 0.0;
  for (const evaluation::HeadScore& head : heads) {
    if (names_head && (std::stoul(named[1]) != head.layer || std::stoul(named[2]) != head.head)) continue;
    best = std::max(best, score_of(head, figure.type));
  }
  return best;
}

constexpr const char* kCard = R"yaml(---
license: mit
model-index:
- name: multi30k-de-en
  results:
  - task: {type: translation}
    dataset: {name: Multi30k, type: multi30k, split: test_2016_flickr}
    metrics:
    - {type: bleu, value: 37.1, name: "BLEU (greedy, lower-cased)"}
  - task:
      type: text-generation
    dataset:
      name: Multi30k
      type: multi30k
      split: val
    metrics:
    - type: perplexity
      value: 5.4
      name: perplexity per word
    - {type: induction_stripe, value: 1, name: head L2H5}
---

A text with type: bleu in it.
)yaml";

std::string complaint(const std::string& card) {
  return test::error_message([&] { test::card_figures(card); });
}

std::string with(const std::string& from, const std::string& to) {
  std::string card = kCard;
  return card.replace(card.find(from), from.size(), to);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("numbers of a card, in both of YAML's styles") {
    const std::vector<CardFigure> figures = test::card_figures(kCard);
    REQUIRE(figures.size() == 3);
    CHECK(figures[0].type == "bleu");
    CHECK(figures[0].split == "test_2016_flickr");
    CHECK(figures[0].value == 37.1);
    CHECK(figures[0].name == "BLEU (greedy, lower-cased)");
    CHECK(figures[1].type == "perplexity");
    CHECK(figures[1].split == "val");
    CHECK(figures[1].value == 5.4);
    CHECK(figures[1].name == "perplexity per word");
    CHECK(figures[2].type == "induction_stripe");
    CHECK(figures[2].value == 1.0);
    CHECK(figures[2].name == "head L2H5");
  }

  TEST_CASE("a card without a valid model-index is refused") {
    CHECK(complaint("# A card") == "the card has no front matter");
    CHECK(complaint("---\nlicense: mit\n---\n\nmodel-index:\n") == "the front matter has no model-index");
    CHECK(complaint(with("type: bleu,", "type: rouge,")) == "'rouge' is no metric of ours");
    CHECK(complaint(with("value: 37.1,", "value: about 37,")) == "'about 37' is no number");
    CHECK(complaint(with("value: 37.1, ", "")) == "the metric bleu has no value");
    CHECK(complaint(with("      value: 5.4\n", "")) == "the metric perplexity has no value");
  }
}

TEST_SUITE("heads") {
  TEST_CASE_FIXTURE(test::OnGpu, "captions-gpt2's heads do what its card says, on random tokens repeated once") {
    Bundled writer(context, "captions-gpt2");
    const auto heads = evaluation::survey_random(writer.session, *writer.model, {});
    for (const char* type : {"previous_stripe", "induction_stripe"}) {
      CAPTURE(type);
      CHECK_FALSE(writer.of_type(type).empty());
    }
    for (const char* type : {"previous_stripe", "duplicate_stripe", "induction_stripe"}) {
      for (const CardFigure& figure : writer.of_type(type)) {
        CAPTURE(figure.name);
        CHECK(std::abs(measured_head(heads, figure) - figure.value) <= 0.002);
      }
    }
  }
}

TEST_SUITE("multi30k") {
  TEST_CASE_FIXTURE(test::OnGpu, "multi30k-de-en translates and predicts as well as its card says") {
    Bundled translator(context, "multi30k-de-en");
    CHECK_FALSE(translator.of_type("bleu").empty());
    CHECK_FALSE(translator.of_type("perplexity").empty());
    for (const CardFigure& figure : translator.of_type("bleu")) {
      CAPTURE(figure.split);
      const double found = measured_bleu(translator, figure.split);
      CAPTURE(found);
      CHECK(std::abs(found - figure.value) <= 0.05);
    }
    for (const CardFigure& figure : translator.of_type("perplexity")) {
      CAPTURE(figure.split);
      const double found = measured_perplexity(translator, figure.split);
      CAPTURE(found);
      CHECK(std::abs(found / figure.value - 1.0) <= 0.001);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "captions-gpt2 predicts as well as its card says") {
    Bundled writer(context, "captions-gpt2");
    CHECK_FALSE(writer.of_type("perplexity").empty());
    for (const CardFigure& figure : writer.of_type("perplexity")) {
      CAPTURE(figure.split);
      const double found = measured_perplexity(writer, figure.split);
      CAPTURE(found);
      CHECK(std::abs(found / figure.value - 1.0) <= 0.001);
    }
  }
}

}  // namespace card_test
