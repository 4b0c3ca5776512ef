// Weights against double precision: every head of every family on a device, and a device that is wrong.
#include "app/engine/analyses/head_verification.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <variant>

#include "app/engine/gpu_runner.h"
#include "app/state/dropout_settings.h"
#include "attention/expression.h"
#include "engine/asked_analysis.h"
#include "inference/notebooks.h"

namespace head_verification_test {

using namespace headlight;
using namespace headlight::app;
using model::BlockKind;

namespace {

HeadVerification verified(AskedAnalysis& asked, model::BlockRef block, std::uint32_t head, std::uint32_t batch = 0) {
  return found_in<HeadVerification>(asked.ask(VerificationQuestion{.block = block, .batch = batch, .head = head}));
}

/// Gives a text as token ids, which models without a tokenizer take too.
void use_ids(AskedAnalysis& asked) {
  asked.state.model().ids = {{3, 7, 11, 5, 9, 4, 7}};
  asked.state.model().target_ids = {{2, 6, 8, 6}};
}

/// The largest deviation over all heads of all blocks; NaN where there is one.
double largest_of_all(AskedAnalysis& asked) {
  asked.ask(VerificationQuestion());  // the shapes of the run
  double largest = 0.0;
  const BlockShapes shapes = asked.result.shapes;
  for (const auto& [block, shape] : shapes) {
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      const HeadVerification found = verified(asked, block, head);
      CHECK(found.checked == found.rows);
      CHECK(found.rows > 0);
      CHECK(found.cells == std::uint64_t{found.rows} * shape.keys);
      if (!(found.largest <= largest)) largest = found.largest;
    }
  }
  return largest;
}

attention::Expression expression(const std::string& text, attention::ExpressionUse use) {
  return std::get<attention::Expression>(attention::parse_expression(text, use));
}

constexpr std::uint32_t kWrongRow = 4, kWrongKey = 2;

/// The reference's numbers, of which one weight in each head is off.
class WrongRun final : public ReferenceRun {
 public:
  WrongRun(inference::PassInputs pass, float error) : ReferenceRun(std::move(pass)), error_(error) {}

  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) const override {
    std::vector<attention::Tile> tiles = ReferenceRun::evaluate(requests);
    for (attention::Tile& tile : tiles) {
      if (tile.request.stage == attention::Stage::Weights && tile.request.row == kWrongRow) tile.values[kWrongKey] += error_;
    }
    return tiles;
  }

 private:
  float error_;
};

class WrongRunner final : public ReferenceRunner {
 public:
  explicit WrongRunner(float error) : error_(error) {}
  std::shared_ptr<const inference::Run> run(inference::PassInputs pass,
                                            std::shared_ptr<const inference::Run>&& base) override {
    base.reset();
    return std::make_shared<WrongRun>(std::move(pass), error_);
  }

 private:
  float error_;
};

RunnerFactory wrong_by(float error) {
  return [error](const std::string& /*device*/) { return std::make_unique<WrongRunner>(error); };
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the reference agrees with itself to the rounding of float32") {
    for (const char* name : {"gpt2", "bert", "llama", "marian", "t5", "gemma2", "qwen3", "deberta-v2-own-keys", "deberta-v3",
                             "bert-relative-key"}) {
      CAPTURE(name);
      AskedAnalysis asked(name);
      use_ids(asked);
      CHECK(largest_of_all(asked) < 2e-7);
    }
  }

  TEST_CASE("a wrong weight is found, with its place and both numbers") {
    AskedAnalysis asked("gpt2", "the cat sat on the mat", wrong_by(1e-3F));
    const HeadVerification found = verified(asked, {.kind = BlockKind::EncoderSelf, .layer = {}}, 1);
    CHECK(found.largest == doctest::Approx(1e-3).epsilon(1e-3));
    CHECK(found.where == attention::Cell{kWrongRow, kWrongKey});
    CHECK(found.weight - found.reference_weight == doctest::Approx(1e-3).epsilon(1e-3));
  }

  TEST_CASE("a weight that isn't a number is the largest deviation") {
    AskedAnalysis asked("gpt2", "the cat sat on the mat", wrong_by(std::numeric_limits<float>::quiet_NaN()));
    const HeadVerification found = verified(asked, {.kind = BlockKind::EncoderSelf, .layer = {}}, 0);
    CHECK(std::isnan(found.largest));
    CHECK(found.where == attention::Cell{kWrongRow, kWrongKey});
    CHECK(found.checked == found.rows);
  }

  TEST_CASE("of a long text 64 queries are compared, the first and the last among them") {
    std::string text;
    for (int i = 0; i < 100; ++i) text += i % 2 == 0 ? "the cat " : "sat ";
    AskedAnalysis asked("bert");
    change_to_playground(asked.state);
    asked.state.text() = text;
    const HeadVerification found = verified(asked, {.kind = BlockKind::EncoderSelf, .layer = {}}, 0);
    CHECK(found.rows == 64);
    CHECK(found.checked == 64);
    CHECK(found.cells == std::uint64_t{64} * asked.result.shapes.begin()->second.keys);
    CHECK(asked.result.shapes.begin()->second.keys > 100);
  }

  TEST_CASE("a head that the run doesn't have is refused") {
    AskedAnalysis asked("gpt2");
    const Analysed answer = asked.ask(VerificationQuestion{.head = 99});
    CHECK(answer.error == "this run has no such head");
  }
}

TEST_SUITE("gpu") {
  // llvmpipe of Mesa 22: 4.8e-7 at most over all of them; the bound is the one up to which the window calls a head verified.
  TEST_CASE("every head of every family is exact on the device") {
    double worst = 0.0;
    for (const char* name : {"gpt2",
                             "bert",
                             "llama",
                             "marian",
                             "t5",
                             "gemma2",
                             "gemma3_text",
                             "qwen3",
                             "bloom",
                             "gpt_neox",
                             "mpnet",
                             "modernbert",
                             "deberta-v2-own-keys",
                             "deberta-v3",
                             "bert-relative-key-query",
                             "mistral",
                             "phi3-longrope",
                             "llama-yarn",
                             "bart",
                             "opt",
                             "albert"}) {
      CAPTURE(name);
      AskedAnalysis asked(name, "", open_gpu_runner);
      use_ids(asked);
      const double largest = largest_of_all(asked);
      CHECK(largest < kExactWeight);
      worst = std::max(worst, largest);
    }
    MESSAGE("largest deviation of a weight: " << worst);
  }

  TEST_CASE("masks, expressions, painted cells, half precision and padding are part of it") {
    AskedAnalysis asked("llama", "the cat sat on the mat\na dog", open_gpu_runner);
    attention::MaskSpec& mask = asked.state.masks[BlockKind::EncoderSelf];
    mask.rule.window = 4;
    attention::set_expression(mask, attention::ExpressionUse::Mask, expression("k != 1u", attention::ExpressionUse::Mask));
    attention::set_expression(mask, attention::ExpressionUse::Score,
                              expression("score - 0.3 * float(q - k)", attention::ExpressionUse::Score));
    CHECK(largest_of_all(asked) < kExactWeight);
    mask.biases[{}].paint({3, 2}, 2.5F);
    mask.biases[{.layer = 0, .batch = std::nullopt, .head = 1}].paint({3, 2}, -1.5F);
    attention::set_documents(mask, 0, {2});
    CHECK(largest_of_all(asked) < kExactWeight);
    const HeadVerification padded = verified(asked, asked.result.shapes.begin()->first, 0, 1);
    CHECK(padded.rows < asked.result.shapes.begin()->second.queries);  // padding has no row
    CHECK(padded.largest < kExactWeight);
    asked.state.model().precision = inference::Precision::F16;
    CHECK(largest_of_all(asked) < kExactWeight);
  }

  TEST_CASE("replaced patterns are checked within the mask") {
    for (const char* name : {"llama", "marian"}) {
      CAPTURE(name);
      AskedAnalysis asked(name, "", open_gpu_runner);
      use_ids(asked);
      const model::BlockRef block{.kind = BlockKind::EncoderSelf, .layer = {}};
      for (const attention::FixedPattern pattern : {attention::FixedPattern::Uniform, attention::FixedPattern::Diagonal,
                                                    attention::FixedPattern::Previous, attention::FixedPattern::First}) {
        asked.state.patterns[{block, 1}] = pattern;
        CHECK(largest_of_all(asked) < kExactWeight);
      }
      asked.state.patterns[{block, 1}] = {attention::FixedPattern::Painted,
                                          attention::NumberRuns{{{2, 0}, 0.25F}, {{2, 1}, 1.0F}, {{3, 0}, 0.0F}}};
      CHECK(largest_of_all(asked) < kExactWeight);
    }
  }

  TEST_CASE("dropped weights are checked, on the device") {
    for (const char* name : {"gpt2", "marian"}) {
      CAPTURE(name);
      AskedAnalysis asked(name, "", open_gpu_runner);
      use_ids(asked);
      asked.state.settings.set(kDropout.probability, 0.3F).set(kDropout.seed, 5).set(kDropout.branches, false);
      CHECK(largest_of_all(asked) < kExactWeight);
    }
  }

  TEST_CASE("playgrounds and notebooks, with and without weights and cross-attention") {
    AskedAnalysis asked("gpt2", "the cat sat on the mat", open_gpu_runner);
    change_to_playground(asked.state);
    asked.state.text() = "one two three four";
    CHECK(largest_of_all(asked) < kExactWeight);
    asked.state.playground().cross = true;
    asked.state.playground().key_text = "five six seven";
    CHECK(largest_of_all(asked) < kExactWeight);
    for (const std::string_view notebook : inference::notebook_names()) {
      CAPTURE(notebook);
      select_preset(asked.state, std::string(notebook));
      CHECK(largest_of_all(asked) < kExactWeight);
    }
  }
}

}  // namespace head_verification_test
