// Effects of heads on tokens of the vocabulary, against torch (tools/make_vocabulary_golden.py): on the device, without
// one, and by the reference.
#include "app/engine/analyses/vocabulary_tokens.h"

#include <doctest/doctest.h>

#include "app/engine/runner.h"
#include "engine/asked_analysis.h"
#include "support/deviation.h"
#include "support/golden.h"

namespace vocabulary_tokens_test {

using namespace headlight;
using namespace headlight::app;
using attribution::TokenCircuit;
using nlohmann::json;

namespace {

/// Values within rounding of each other may change places: ids are compared where the next value is farther than that.
constexpr double kRounding = 1e-5;

void compare(const std::vector<VocabularyTokens::Entry>& found, const json& expected, double& worst) {
  REQUIRE(found.size() == expected.size());
  const auto value = [&](std::size_t i) { return expected[i][1].get<double>(); };
  for (std::size_t i = 0; i < found.size(); ++i) {
    test::raise_to(worst, std::abs(found[i].value - value(i)));
    const bool is_tied = (i > 0 && std::abs(value(i) - value(i - 1)) < kRounding) ||
                         (i + 1 < found.size() ? std::abs(value(i) - value(i + 1)) < kRounding : true);
    if (!is_tied) CHECK(found[i].id == expected[i][0].get<std::uint32_t>());
  }
}

void compare_with_torch(const RunnerFactory& open) {
  double worst = 0.0;
  for (const json& golden : test::golden("vocabulary.json")) {
    AskedAnalysis asked(golden.at("model").get<std::string>(), "a cat", open);
    VocabularyQuestion question{.head = {.block = {.layer = {golden.at("layer").get<std::uint32_t>()}},
                                         .head = golden.at("head").get<std::uint32_t>()},
                                .token = golden.at("token").get<std::uint32_t>()};
    CAPTURE(golden.at("model").get<std::string>());
    CAPTURE(question.head.head);
    const auto check = [&](const json& expected) {
      const Analysed answer = asked.ask(question);
      const VocabularyTokens& found = found_in<VocabularyTokens>(answer);
      CHECK(found.is_complete());
      CHECK(found.own.has_value());
      compare(found.highest, expected.at("highest"), worst);
      compare(found.lowest, expected.at("lowest"), worst);
    };
    check(golden.at("written"));
    for (const json& scores : golden.at("scores")) {
      const json& at = scores.at("positions");
      question.positions.reset();
      if (!at.is_null()) question.positions = {.query = at[0].get<std::uint32_t>(), .key = at[1].get<std::uint32_t>()};
      question.circuit = TokenCircuit::Keys;
      check(scores.at("keys"));
      question.circuit = TokenCircuit::Queries;
      check(scores.at("queries"));
    }
  }
  CHECK(worst < 1e-5);  // observed 1.3e-6
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("tokens that heads write, seek and are sought by, by the reference and without a device, as torch has them") {
    compare_with_torch(open_reference_runner);
    compare_with_torch([](const std::string&) { return open_runner(std::string(kWithoutDevice)); });
  }

  TEST_CASE("where a head has no such circuit a sentence says why; another text of the model has the answer at once") {
    const auto complaint = [](const std::string& name, const VocabularyQuestion& question) {
      AskedAnalysis asked(name);
      asked.state.masks = {};
      if (name != "marian") asked.state.model().ids = {{5, 9, 30}};
      return asked.ask(question).error;
    };
    CHECK(complaint("bert", {}).find("post-norm") != std::string::npos);
    CHECK(complaint("bert", {.circuit = TokenCircuit::Keys}) == "");
    CHECK(complaint("gemma2", {}).find("Gemma 2") != std::string::npos);
    CHECK(complaint("marian", {.head = {.block = {.kind = model::BlockKind::Cross}}}).find("cross-attention") !=
          std::string::npos);
    CHECK(complaint("marian",
                    {.head = {.block = {.kind = model::BlockKind::DecoderSelf}}, .circuit = TokenCircuit::Queries}) == "");
    CHECK(complaint("gpt2", {.token = 128}) == "the model has no such token");
    CHECK(complaint("gpt2", {.head = {.block = {}, .head = 6}}) == "this run has no such head");
    // A norm over all heads' keys (OLMo 2), one for each head (Qwen 3), a partial rotation (GPT-NeoX).
    for (const std::string name : {"olmo2", "qwen3", "gpt_neox"}) {
      CHECK(complaint(name, {.circuit = TokenCircuit::Keys, .positions = attribution::CircuitPositions{3, 1}}) == "");
    }
    AskedAnalysis asked("gpt2");
    const Analysed first = asked.ask(VocabularyQuestion{});
    asked.state.text() = "a dog";
    asked.worker.begin({.revision = ++asked.revision, .inputs = run_inputs(asked.state), .queries = {VocabularyQuestion{}}});
    CHECK_FALSE(asked.worker.has_more());
    const Analysed again = asked.ask(VocabularyQuestion{});
    CHECK(found_in<VocabularyTokens>(again).highest == found_in<VocabularyTokens>(first).highest);
  }

  TEST_CASE("scores between two tokens are the run's own in a first layer, norms of queries and keys included") {
    for (const std::string name : {"gpt2", "llama", "olmo2", "qwen3", "gpt_neox", "bert"}) {
      CAPTURE(name);
      AskedAnalysis asked(name, "");
      asked.state.model().ids = {{9, 17, 30, 5, 17}};
      const TileQuery tile{
          .quantity = attention::Stage::Scaled, .block = {}, .head = 1, .row = 4, .rows = 1, .column = 1, .columns = 1};
      const VocabularyQuestion question{.head = {.block = {}, .head = 1},
                                        .circuit = TokenCircuit::Keys,
                                        .token = 17,
                                        .positions = attribution::CircuitPositions{.query = 4, .key = 1}};
      asked.worker.begin({.revision = ++asked.revision, .inputs = run_inputs(asked.state), .queries = {tile, question}});
      while (asked.worker.has_more()) asked.worker.evaluate_some();
      const EngineResult result = asked.worker.snapshot();
      REQUIRE(result.tile(tile));
      REQUIRE(result.analysed(question));
      const VocabularyTokens& found = found_in<VocabularyTokens>(*result.analysed(question));
      REQUIRE(found.own);
      CHECK(*found.own == doctest::Approx(double{result.tile(tile)->at(0, 0)}).epsilon(1e-5));
    }
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("tokens that heads write, seek and are sought by on the device, as torch has them") {
    compare_with_torch(open_gpu_runner);
  }
}

}  // namespace vocabulary_tokens_test
