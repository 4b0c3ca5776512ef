#include <cmath>
#include <limits>
#include <numeric>

#include <doctest/doctest.h>

#include "app/reference_numbers.h"
#include "app/state/dropout_settings.h"
#include "app/widgets/cells/arithmetic.h"
#include "app/widgets/cells/cell_sources.h"
#include "app/widgets/cells/score_chain.h"
#include "app/widgets/cells/shown_mask.h"
#include "inference/notebooks.h"
#include "support/deviation.h"
#include "support/stages.h"

namespace steps_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

TEST_SUITE_BEGIN("cpu");

namespace {

/// Is every cell of this stage a sum of products? Queries and keys that are normed or rotated behind their projection are
/// not, nor is what was given as numbers.
bool is_sum(const model::AttentionLayer& layer, Stage stage) {
  if (stage == Stage::Scores || stage == Stage::Heads || stage == Stage::Output) return true;
  if (stage == Stage::FfnGate || stage == Stage::FfnHidden || stage == Stage::FfnRouter) return true;
  if (stage == Stage::FfnOutput) return !layer.experts;
  if (!layer.weights) return false;
  if (stage == Stage::V) return true;
  if (stage == Stage::Q) return !layer.config.rotary && !layer.weights->query_norm;
  return stage == Stage::K && !layer.config.rotary && !layer.weights->key_norm;
}

/// Largest difference between what a cell shows and what its written-out terms add up to, over every cell of a stage; ∞ when
/// a cell of a stage that is a sum has no terms. A stage that isn't here has no error.
double largest_error(ReferenceScene& run, model::BlockRef block, std::uint32_t batch, std::uint32_t head, Stage stage) {
  CellQuestion question = run.question(block, head);
  const auto extent = question.geometry.shape.extent(stage);
  if (!extent) return 0.0;
  const bool has_terms = is_sum(*question.layer, stage);
  ReferenceNumbers numbers(*run.run, block, batch, head);
  double largest = 0.0;
  question.stage = stage;
  for (question.row = 0; question.row < extent->rows; ++question.row) {
    for (question.column = 0; question.column < extent->columns; ++question.column) {
      const Arithmetic arithmetic = explain_cell(question, numbers);
      REQUIRE(arithmetic.result);
      if (arithmetic.terms.empty() == has_terms) return std::numeric_limits<double>::infinity();
      if (!has_terms) continue;
      double sum = static_cast<double>(arithmetic.constant);
      for (const Product& term : arithmetic.terms) sum += term.value();
      test::widen(largest, sum, static_cast<double>(*arithmetic.result));
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("a model's sums give its numbers too: heads that share keys, turned and normed queries") {
  for (const char* name : {"llama", "qwen3", "gpt2", "gemma2", "t5", "bert", "gpt_neox", "mpnet", "deberta-v3",
                           "bert-relative-key", "granite", "olmo2", "cohere", "falcon-alibi", "mixtral", "qwen3_moe"}) {
    INFO("model ", name);
    State state;
    change_to_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + name);
    state.model().ids = {{5, 7, 9, 11}};
    ReferenceScene run(state);
    const model::BlockRef block = run.source.network->blocks().front();
    const std::uint32_t last = run.source.network->layer(block).config.heads - 1;
    for (const Stage stage : test::kAllStages) {
      CAPTURE(attention::to_string(stage));
      CHECK(largest_error(run, block, 0, last, stage) < 1e-5);
    }
    CellQuestion question = run.question(block, last);
    ReferenceNumbers numbers(*run.run, block, 0, last);
    question.stage = Stage::Q;
    const bool is_rotated = question.layer->config.rotary.has_value();
    CHECK(explain_cell(question, numbers).terms.empty() == is_rotated);
    question.stage = Stage::Scaled;
    const Arithmetic scaled = explain_cell(question, numbers);
    CHECK((scaled.formula.find("tanh") != std::string::npos) == (question.layer->config.softcap > 0.0F));
    CHECK((scaled.formula.find("bias") != std::string::npos) == question.layer->config.position_bias.has_value());
    const model::AttentionConfig& config = question.layer->config;
    CHECK((scaled.formula.find(" + content_position[") != std::string::npos) == config.has_content_position);
    CHECK((scaled.formula.find(" + position_content[") != std::string::npos) == config.has_position_content);
  }
}

TEST_CASE("a gate says whether the router chooses its expert, and a token's output which experts made it") {
  for (const auto& [model, counted] : {std::pair{"mixtral", "the 2 chosen experts"}, {"olmoe", "all 8 experts"}}) {
    const std::string name = model;
    CAPTURE(name);
    State state;
    change_to_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + name);
    state.model().ids = {{5, 7, 9, 11}};
    ReferenceScene run(state);
    const model::BlockRef block = run.source.network->blocks().front();
    CellQuestion question = run.question(block, 0);
    ReferenceNumbers numbers(*run.run, block, 0, 0);
    question.row = 2;
    std::string chosen;
    std::size_t gates = 0;
    for (question.column = 0; question.column < question.layer->experts->count(); ++question.column) {
      question.stage = Stage::FfnGates;
      const Arithmetic gate = explain_cell(question, numbers);
      CAPTURE(gate.note);
      if (*gate.result == 0.0F) {
        CHECK(gate.note.find("isn't among the token's 2 largest") != std::string::npos);
        continue;
      }
      ++gates;
      CHECK(gate.note.find(counted) != std::string::npos);
      CHECK(gate.numbers.starts_with("exp("));
      chosen += fmt::format("expert {}, ", question.column);
    }
    CHECK(gates == 2);
    question.stage = Stage::FfnOutput;
    question.column = 3;
    const std::string output = explain_cell(question, numbers).numbers;
    for (std::uint32_t expert = 0; expert < question.layer->experts->count(); ++expert) {
      const bool is_named = output.find(fmt::format("expert {}", expert)) != std::string::npos;
      CHECK(is_named == (chosen.find(fmt::format("expert {},", expert)) != std::string::npos));
    }
  }
}

TEST_CASE("a scaled branch, a norm without weights, one over all heads, and cut projections are said where they enter") {
  const auto explained = [](const char* name, Stage stage) {
    State state;
    change_to_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + name);
    state.model().ids = {{5, 7, 9, 11}};
    ReferenceScene run(state);
    const model::BlockRef block = run.source.network->blocks().front();
    CellQuestion question = run.question(block, 0);
    question.stage = stage;
    ReferenceNumbers numbers(*run.run, block, 0, 0);
    return explain_cell(question, numbers);
  };
  for (const Stage stage : {Stage::Attended, Stage::Next}) {
    const Arithmetic sum = explained("granite", stage);
    CHECK(sum.formula.find(" + scale · ") != std::string::npos);
    CHECK(sum.numbers.find(" + 0.4") != std::string::npos);
  }
  CHECK(explained("granite", Stage::Scaled).numbers.starts_with("0.5"));
  CHECK(explained("olmo", Stage::X).formula.find("γ") == std::string::npos);
  CHECK(explained("olmo", Stage::X).numbers.find(" · ") == std::string::npos);
  CHECK(explained("olmo", Stage::V).formula.starts_with("clip(x"));
  CHECK(explained("olmo", Stage::V).formula.ends_with(", ±1.6)"));
  CHECK(explained("olmo", Stage::Q).note.find("cut to ±1.6, then rotated") != std::string::npos);
  CHECK(explained("olmo2", Stage::K).note.find("normed over all heads of the token together, then rotated") !=
        std::string::npos);
}

TEST_CASE("written-out sums give the number on screen, in every stage that is a sum") {
  State state;
  state.text() = "one two three\nfour five";
  state.playground().settings.d_model = 12;
  state.playground().settings.heads = 3;
  state.playground().settings.d_k = 5;
  state.playground().settings.d_v = 2;
  for (const model::MergeOrder merge : {model::MergeOrder::Concatenate, model::MergeOrder::WithoutTranspose}) {
    state.playground().settings.merge = merge;
    ReferenceScene run(state);
    for (const Stage stage : {Stage::Q, Stage::K, Stage::V, Stage::Scores, Stage::Heads, Stage::Output}) {
      CAPTURE(attention::to_string(stage));
      const model::BlockRef block{.kind = model::BlockKind::EncoderSelf, .layer = LayerIndex{1}};
      CHECK(largest_error(run, block, 1, 2, stage) < 2e-6);  // seen: 6.3e-8, float32 of the reference's doubles
    }
  }
}

TEST_CASE("a merged cell is the cell that it says it copies, in both orders") {
  State state;
  state.text() = "one two three four five";
  state.playground().settings.d_model = 12;
  state.playground().settings.heads = 3;
  state.playground().settings.d_v = 2;
  const model::BlockRef block;
  for (const model::MergeOrder merge : {model::MergeOrder::Concatenate, model::MergeOrder::WithoutTranspose}) {
    state.playground().settings.merge = merge;
    ReferenceScene run(state);
    const BlockGeometry geometry = run.question(block, 0).geometry;
    std::uint32_t in_slices = 0;
    for (std::uint32_t row = 0; row < 5; ++row) {
      for (std::uint32_t column = 0; column < 6; ++column) {
        const MergedOrigin origin = origin_of_merged(geometry, row, column);
        ReferenceNumbers numbers(*run.run, block, 0, origin.head);
        CHECK(*numbers.value(Stage::Merged, row, column) == *numbers.value(Stage::Heads, origin.token, origin.dimension));
        BlockGeometry of_head = geometry;
        of_head.head = origin.head;
        for (const MatrixPart& part : head_slices(of_head)) {
          const bool is_inside =
              row >= part.row && row < part.row + part.rows && column >= part.column && column < part.column + part.columns;
          in_slices += is_inside ? 1 : 0;
        }
      }
    }
    CHECK(in_slices == 30);  // each cell in exactly one rectangle of its head's slices
  }
}

TEST_CASE("a head's slice without transpose runs through the rows") {
  BlockGeometry geometry;
  geometry.merge = model::MergeOrder::WithoutTranspose;
  geometry.shape = {.batch = 1, .heads = 3, .queries = 5, .keys = 5, .d_v = 2, .d_merged = 6};
  geometry.head = 1;  // elements 10 … 19 of rows of six
  const std::vector<MatrixPart> expected = {{.stage = Stage::Merged, .row = 1, .rows = 1, .column = 4, .columns = 2},
                                            {.stage = Stage::Merged, .row = 2, .rows = 1, .column = 0, .columns = 6},
                                            {.stage = Stage::Merged, .row = 3, .rows = 1, .column = 0, .columns = 2}};
  CHECK(head_slices(geometry) == expected);
}

TEST_CASE("sums are written with their largest terms first and say what they leave out") {
  const std::vector<Product> terms = {{0.5F, 2.0F}, {-0.25F, 4.0F}, {3.0F, -1.0F}};
  CHECK(write_sum(terms, std::nullopt, 8) == "3.000·(−1.000) + 0.500·2.000 + (−0.250)·4.000");
  CHECK(write_sum(terms, -0.125F, 8) == "3.000·(−1.000) + 0.500·2.000 + (−0.250)·4.000 − 0.125");
  CHECK(write_sum(terms, std::nullopt, 1) == "3.000·(−1.000) + … 2 more terms");
  CHECK(write_sum({}, std::nullopt, 8) == "0");
}

TEST_CASE("weights, scale and masks are written out with their real numbers") {
  State state;
  state.text() = "one two three";
  state.playground().settings.d_model = 4;
  state.playground().settings.heads = 1;
  state.playground().settings.layers = 1;
  state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
  state.masks[model::BlockKind::EncoderSelf].painted[{}].paint({.query = 0, .key = 0}, false);
  ReferenceScene run(state);
  const model::BlockRef block;
  ReferenceNumbers numbers(*run.run, block, 0, 0);
  const auto explain = [&](Stage stage, std::uint32_t row, std::uint32_t column) {
    CellQuestion question = run.question(block, 0);
    question.stage = stage;
    question.row = row;
    question.column = column;
    question.mask_reason = mask_reason(state.masks[block.kind], {.cell = {.query = row, .key = column}, .keys = 3});
    return explain_cell(question, numbers);
  };
  const Arithmetic scaled = explain(Stage::Scaled, 1, 0);
  const float score = *numbers.value(Stage::Scores, 1, 0);
  CHECK(scaled.numbers == write_number(static_cast<double>(score)) + " / √4");
  CHECK(*scaled.result == doctest::Approx(score / 2.0F));
  CHECK(explain(Stage::Masked, 1, 2).note == "Masked by causal rule: the score becomes −∞.");
  CHECK(explain(Stage::Masked, 0, 0).note == "Masked by paint: the score becomes −∞.");
  CHECK(explain(Stage::Weights, 0, 0).note == "Query 0 sees no key, so its row has no weights; they are shown as 0.");
  const Arithmetic weight = explain(Stage::Weights, 1, 2);
  CHECK(weight.numbers.starts_with("exp(−∞ "));
  CHECK(*weight.result == 0.0F);
}

TEST_CASE("every stage of every preset can be explained") {
  for (const std::string_view preset : inference::notebook_names()) {
    CAPTURE(preset);
    State state;
    select_preset(state, std::string(preset));
    ReferenceScene run(state);
    for (const model::BlockRef block : run.run->blocks()) {
      for (const Stage stage : test::kAllStages) {
        CAPTURE(attention::to_string(stage));
        CHECK(largest_error(run, block, 0, 0, stage) < 2e-5);  // seen: 1.6e-6, with 002's inputs scaled by √d_model
      }
    }
  }
}

TEST_CASE("a dropped weight says that it is dropped, a kept one its factor, and both why the row no longer adds up to 1") {
  State state;
  select_preset(state, "notebook-004");
  state.settings.set(kDropout.probability, 0.5F).set(kDropout.seed, 3);
  for (const auto* site : {&kDropout.embeddings, &kDropout.branches, &kDropout.inner}) state.settings.set(*site, false);
  ReferenceScene scene(state);
  const auto plan = weight_dropout(state.settings, {});
  REQUIRE(plan);
  ReferenceNumbers numbers(*scene.run, {}, 0, 0);
  CellQuestion question = scene.question({}, 0);
  question.stage = Stage::Weights;
  std::size_t dropped = 0;
  for (question.row = 0; question.row < 8; ++question.row) {
    for (question.column = 0; question.column < 8; ++question.column) {
      question.dropout_factor = plan->factor_of(0, 0, question.row, question.column);
      const Arithmetic weight = explain_cell(question, numbers);
      const bool is_dropped = question.dropout_factor == 0.0F;
      dropped += is_dropped ? 1U : 0U;
      CHECK((*weight.result == 0.0F) == is_dropped);
      CHECK(weight.numbers.ends_with(is_dropped ? " · 0" : " · 2.000"));
      CHECK(weight.note.find(is_dropped ? "Dropout drops this weight" : "Dropout keeps this weight") != std::string::npos);
      CHECK(weight.note.find("no longer add up to 1") != std::string::npos);
      // The chain of the score ends with the weight on screen.
      const ScoreChain chain = explain_score(question, nullptr, numbers);
      CHECK(chain.lines.back().name == "dropout");
      CHECK(*chain.weight == doctest::Approx(static_cast<double>(*chain.evaluated_weight)).epsilon(1e-5));
    }
  }
  CHECK(dropped > 16);
  CHECK(dropped < 48);
}

TEST_CASE("a mask's reasons are named") {
  attention::MaskSpec mask;
  const auto reason = [&](std::uint32_t query, std::uint32_t key) {
    return mask_reason(mask, {.cell = {.query = query, .key = key}, .keys = 5});
  };
  CHECK(reason(0, 4).empty());
  CHECK(reason(0, 5) == "padding");
  mask.rule.causal = true;
  CHECK(reason(0, 5) == "causal rule and padding");
  mask.rule.window = 2;
  CHECK(reason(4, 1) == "window of 2");
  mask.rule.prefix = 2;
  CHECK(reason(4, 1).empty());
  mask.rule = {.prefix = 1};
  CHECK(reason(1, 3) == "prefix of 1");
  CHECK(mask_summary(mask, false) == "prefix 1");
  mask.painted[{}].paint({.query = 1, .key = 3}, true);
  CHECK(reason(1, 3).empty());
  CHECK(mask_summary(mask, true) == "prefix 1, padding, paint");
  CHECK(mask_summary({}, false).empty());
}

TEST_CASE("the copied calculation has every term, its bias and its result") {
  Arithmetic arithmetic;
  arithmetic.cell = "Q[0,1]";
  arithmetic.formula = "x₀ · W_Q[:,1] + b";
  arithmetic.result = 0.5F;
  arithmetic.note = "a note";
  for (int i = 0; i < 20; ++i) arithmetic.terms.push_back({.left = static_cast<float>(i), .right = 2.0F});
  arithmetic.constant = -0.25F;
  arithmetic.has_constant = true;
  const std::string text = write_all(arithmetic);
  CHECK(text.starts_with("Q[0,1] = x₀ · W_Q[:,1] + b = 19.000·2.000 + 18.000·2.000 + "));
  CHECK(text.ends_with(" + 0·2.000 − 0.250 = 0.500\na note"));
  CHECK(text.find("more term") == std::string::npos);
}

TEST_CASE("keys and values of cross-attention are sums over the memory") {
  State state;
  select_preset(state, "notebook-002");
  ReferenceScene run(state);
  const model::BlockRef block{.kind = model::BlockKind::Cross, .layer = LayerIndex{0}};
  CellQuestion question = run.question(block, 0);
  const std::uint32_t width = question.layer->weights->key.in();
  /// The reference's numbers with a memory that makes the sum easy: its first number is 1, the others are 0.
  struct WithMemory : public NumberSource {
    WithMemory(ReferenceNumbers& all, std::uint32_t columns) : numbers(all), width(columns) {}
    Numbers row(Stage stage, std::uint32_t row) override { return numbers.row(stage, row); }
    Numbers column(Stage stage, std::uint32_t column) override { return numbers.column(stage, column); }
    std::optional<float> value(Stage stage, std::uint32_t row, std::uint32_t column) override {
      return numbers.value(stage, row, column);
    }
    std::optional<Softmax> softmax(std::uint32_t row) override { return numbers.softmax(row); }
    Numbers memory(std::uint32_t) override {
      std::vector<float> row(width, 0.0F);
      row.front() = 1.0F;
      return row;
    }
    ReferenceNumbers& numbers;
    std::uint32_t width;
  };
  ReferenceNumbers reference(*run.run, block, 0, 0);
  WithMemory numbers(reference, width);
  question.stage = Stage::K;
  question.row = 1;
  question.column = 2;
  const Arithmetic key = explain_cell(question, numbers);
  REQUIRE(key.terms.size() == width);
  std::vector<float> weights(width);
  question.layer->weights->key.weight.read(2, 1, weights);
  CHECK(key.terms.front().value() == doctest::Approx(static_cast<double>(weights.front())));
  CHECK(key.formula.starts_with("memory₁ · W_K[:,2]"));
  // The sum is on its way without the memory, not absent.
  struct WithoutMemory final : public WithMemory {
    using WithMemory::WithMemory;
    Numbers memory(std::uint32_t) override { return {}; }
  };
  WithoutMemory waiting(reference, width);
  CHECK(explain_cell(question, waiting).numbers == "…");
}

TEST_SUITE_END();

}  // namespace steps_test
