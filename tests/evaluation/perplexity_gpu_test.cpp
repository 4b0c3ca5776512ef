// Likelihoods against transformers' logits of the golden models, and against those in other batches.
#include <cmath>

#include <doctest/doctest.h>

#include "evaluation/perplexity.h"
#include "support/deviation.h"
#include "support/error_message.h"
#include "support/golden_language_model.h"
#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace perplexity_gpu_test {

using namespace headlight;
using evaluation::ScoredLine;
using Ids = std::vector<std::uint32_t>;

namespace {

Ids real_ids(const model::TokenBatch& tokens, std::uint32_t item) {
  const auto begin =
      tokens.ids.begin() + static_cast<std::ptrdiff_t>(std::size_t{item} * tokens.length + tokens.start(item));
  return {begin, begin + tokens.lengths[item]};
}

/// −Σ ln softmax(logits)[next token], of golden logits.
double expected_nats(const test::GoldenCase& of, std::uint32_t item, const Ids& tokens) {
  const model::TokenBatch& read = of.input.target ? *of.input.target : of.input.source;
  double sum = 0.0;
  for (std::uint32_t t = 0; t + 1 < tokens.size(); ++t) {
    double total = 0.0;
    const auto logit = [&](std::uint32_t id) { return static_cast<double>(of.logits.at({item, read.start(item) + t, id})); };
    for (std::uint32_t id = 0; id < of.logits.axis(2); ++id) total += std::exp(logit(id));
    sum += std::log(total) - logit(tokens[t + 1]);
  }
  return sum;
}

/// Largest relative difference over the lines of a model's golden cases.
double worst_difference(gpu::Context& context, std::string_view name) {
  const auto model = test::open_golden_model(name);
  test::RunningSession session(context);
  double worst = 0.0;
  std::size_t count = 0;
  for (const test::GoldenCase& of : test::load_golden_cases(name)) {
    if (!of.visible.is_empty()) continue;  // a mask of its own
    const model::TokenBatch& read = of.input.target ? *of.input.target : of.input.source;
    std::vector<ScoredLine> lines;
    std::vector<double> expected;
    for (std::uint32_t item = 0; item < read.batch; ++item) {
      ScoredLine line;
      if (of.input.target) line.source = real_ids(of.input.source, item);
      line.tokens = real_ids(read, item);
      line.tokens.push_back(7 + item);  // any next token
      expected.push_back(expected_nats(of, item, line.tokens));
      lines.push_back(std::move(line));
    }
    const std::vector<double> found = evaluation::negative_log_likelihoods(session, *model, lines);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i, ++count) {
      test::raise_to(worst, std::abs(found[i] - expected[i]) / expected[i]);
    }
  }
  CHECK(count >= 2);
  return worst;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "the likelihood of golden lines is that of transformers' logits") {
    for (const char* name : {"gpt2", "llama", "marian", "bart"}) {
      CAPTURE(name);
      const double worst = worst_difference(context, name);
      CHECK(worst < 1e-6);  // observed 8.8e-8
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a line's likelihood doesn't depend on the lines beside it") {
    const std::vector<std::string> texts = {"the cat", "the cat sat on the mat", "", "a", "on the mat the cat sat"};
    const std::vector<std::string> sources = {"sat", "the mat", "on the cat on the mat", "a", "cat"};
    for (const char* name : {"gpt2", "marian"}) {
      CAPTURE(name);
      const auto model = test::open_golden_model(name);
      test::RunningSession session(context);
      std::vector<std::size_t> steps;
      const auto together =
          evaluation::likelihood(session, *model, sources, texts, [&](std::size_t done, std::size_t total) {
            steps.insert(steps.end(), {done, total});
          });
      CHECK(steps == std::vector<std::size_t>{4, 4});
      evaluation::Likelihood sum;
      CHECK(together.lines == 4);  // the empty one is no text
      for (std::size_t i = 0; i < texts.size(); ++i) {
        if (texts[i].empty()) continue;
        const auto one =
            evaluation::likelihood(session, *model, std::span(sources).subspan(i, 1), std::span(texts).subspan(i, 1));
        sum.nats += one.nats;
        sum.tokens += one.tokens;
        sum.words += one.words;
        sum.bytes += one.bytes;
      }
      CHECK(std::abs(together.nats - sum.nats) / sum.nats < 1e-6);
      CHECK(together.tokens == sum.tokens);
      CHECK(together.words == 2 + 6 + 1 + 6 + 4);  // and the end of each line
      CHECK(together.words == sum.words);
      CHECK(together.bytes == 7 + 22 + 1 + 22 + 4);
      CHECK(together.perplexity_per_word() == doctest::Approx(std::exp(together.nats / 19.0)).epsilon(1e-12));
      CHECK(together.perplexity_per_token() ==
            doctest::Approx(std::exp(together.nats / static_cast<double>(together.tokens))).epsilon(1e-12));
      CHECK(together.bits_per_byte() == doctest::Approx(together.nats / std::log(2.0) / 56.0).epsilon(1e-12));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "models that predict no text, and texts that don't fit, are one line") {
    test::RunningSession session(context);
    const std::vector<std::string> texts = {"the cat", "the cat"};
    const auto complaint = [&](std::string_view name, const std::vector<std::string>& lines,
                               const std::vector<std::string>& sources = {}) {
      return test::error_message([&] { evaluation::likelihood(session, *test::open_golden_model(name), sources, lines); });
    };
    CHECK(complaint("bert", texts) ==
          "BERT sees tokens on both sides: perplexity needs a model that predicts the next token");
    CHECK(complaint("marian", texts, {"a"}) == "1 sources for 2 targets: give one for each");
    CHECK(complaint("t5", texts, texts).find("texts can't be scored without it") != std::string::npos);
    std::string many;
    for (int i = 0; i < 40; ++i) many += " cat";
    const std::string too_long = complaint("gpt2", {"the cat", many});
    CHECK(too_long.starts_with("line 2: "));
    CHECK(too_long.ends_with("tokens, but the model has positions for 32: cut it into shorter lines"));
  }
}

TEST_SUITE("cpu") {
  TEST_CASE("texts are between the begin and end tokens of the training") {
    const auto gpt2 = test::open_golden_model("gpt2");
    REQUIRE(gpt2->description.ids.eos.size() == 1);
    const ScoredLine line = evaluation::scored_line(*gpt2, "the cat");
    CHECK(line.source.empty());
    CHECK(line.ends);
    CHECK(line.tokens.front() == gpt2->description.ids.bos.value());
    CHECK(line.tokens.back() == gpt2->description.ids.eos.front());
    CHECK(line.tokens.size() == gpt2->tokenizer->encode("the cat").size() + 2);
    CHECK(evaluation::scored_line(*gpt2, "").tokens.empty());  // no text, where the tokenizer adds a token or not
    CHECK(evaluation::scored_line(*test::open_golden_model("llama"), "").tokens.empty());
    const auto marian = test::open_golden_model("marian");
    const ScoredLine pair = evaluation::scored_pair(*marian, "the cat", "sat");
    CHECK(pair.tokens.front() == marian->description.ids.decoder_start.value());
    CHECK(pair.tokens.back() == marian->description.ids.eos.front());
    CHECK(pair.tokens.size() == marian->target_tokenizer->encode("sat").size() + 1);  // its end token is there already
    CHECK(pair.source.size() == marian->tokenizer->encode("the cat").size());
    // A tokenizer that adds these tokens itself doesn't make them come twice.
    const auto llama = test::open_golden_model("llama");
    const ScoredLine framed = evaluation::scored_line(*llama, "the cat");
    CHECK(std::count(framed.tokens.begin(), framed.tokens.end(), llama->description.ids.bos.value()) == 1);
  }
}

}  // namespace perplexity_gpu_test
