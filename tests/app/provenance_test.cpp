// The provenance of a number, in words, with the names that tensors have in their files.
#include "app/widgets/cells/provenance.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "app/engine/analyses/head_metric_text.h"
#include "app/shapes/quantities/quantity.h"
#include "attention/expression.h"
#include "engine/asked_analysis.h"

namespace provenance_test {

using namespace headlight;
using namespace headlight::app;

namespace {

EngineResult run_of(const State& state) {
  EngineWorker worker{{.open = open_reference_runner,
                       .tile_bytes = kDefaultTileBytes,
                       .models = std::make_shared<ModelCache>(),
                       .watch_load = [](std::size_t, std::size_t) { return true; }}};
  worker.open("");
  worker.begin({.revision = 1, .inputs = run_inputs(state)});
  EngineResult result = worker.snapshot();
  REQUIRE(result.error == "");
  return result;
}

State golden_model(const std::string& name) {
  State state;
  state.text() = "the cat sat";
  change_to_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + name);
  return state;
}

NumberRef cell(std::string_view of, std::uint32_t layer, std::uint32_t head, std::uint32_t row, std::uint32_t column) {
  return {.of = std::string(of),
          .block = {.kind = model::BlockKind::EncoderSelf, .layer = {layer}},
          .head = head,
          .row = row,
          .column = column};
}

/// Texts of all lines of a name, one a line.
std::string line(const Provenance& provenance, std::string_view name) {
  std::string text;
  for (const Provenance::Line& each : provenance.lines) {
    if (each.name == name) text += (text.empty() ? "" : "\n") + each.text;
  }
  return text;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a weight of GPT-2 names its head's columns of the fused tensor") {
    const EngineResult result = run_of(golden_model("gpt2"));
    const Provenance weight = provenance_of(result, cell("weights", 1, 2, 2, 1));
    CHECK(weight.title == "attention weights");
    CHECK(line(weight, "of") == "layer 1, head 2, self-attention");
    CHECK(line(weight, "cell").starts_with("query 2 “"));
    CHECK(line(weight, "cell").find(", key 1 “") != std::string::npos);
    CHECK(line(weight, "formula") == "A = softmax(masked)");
    CHECK(line(weight, "weight W_Q") ==
          "transformer.h.1.attn.c_attn.weight [36, 108] F32, columns 12–17, model.safetensors");
    CHECK(line(weight, "weight W_K") ==
          "transformer.h.1.attn.c_attn.weight [36, 108] F32, columns 48–53, model.safetensors");
    CHECK(line(weight, "bias").starts_with("transformer.h.1.attn.c_attn.bias [108] F32, numbers 12–17"));
    CHECK(line(weight, "weight W_V") == "");
    CHECK(line(weight, "precision").starts_with("weights are stored as F32, kept as float32 on the device"));
    CHECK(line(weight, "exact or pooled") == "exact: one cell");
    CHECK(line(weight, "run") == "forward pass 1 on reference");
    const Provenance value = provenance_of(result, cell("v", 0, 5, 1, 3));
    CHECK(line(value, "cell").ends_with(", component 3"));
    CHECK(line(value, "weight W_V") == "transformer.h.0.attn.c_attn.weight [36, 108] F32, column 105, model.safetensors");
    const Provenance norm = provenance_of(result, cell("norms", 0, 0, 1, 0));
    CHECK(line(norm, "weight W_O") == "transformer.h.0.attn.c_proj.weight [36, 36] F32, columns 0–35, model.safetensors");
    CHECK(line(norm, "computed by").find("in double on the host") != std::string::npos);
    const Provenance logit = provenance_of(result, cell(kLogitNumber, 0, 0, 2, 77));
    CHECK(line(logit, "weight") == "transformer.wte.weight [128, 36] F32, row 77, model.safetensors");
    CHECK(line(logit, "final norm").starts_with("transformer.ln_f.weight [36]"));
    const Provenance head = provenance_of(result, cell(kLogitHead, 1, 2, 2, 77));
    CHECK(line(head, "of") == "layer 1, head 2");
    CHECK(line(head, "weight W_O").starts_with("transformer.h.1.attn.c_proj.weight [36, 36] F32"));
    CHECK(line(head, "weight") == "transformer.wte.weight [128, 36] F32, row 77, model.safetensors");
    CHECK(line(provenance_of(result, cell(kLogitOther, 1, 2, 2, 77)), "of") == "the whole model");
    const Provenance metric = provenance_of(result, cell(kHeadMetricNumber, 1, 2, 0, 3));
    CHECK(line(metric, "of") == "layer 1, head 2, self-attention");
    CHECK(line(metric, "metric") == "sink");
    CHECK(line(metric, "weight W_Q").starts_with("transformer.h.1.attn.c_attn.weight [36, 108] F32"));
    const Provenance mlp = provenance_of(result, cell("ffn_output", 1, 0, 2, 7));
    CHECK(line(mlp, "weight W_2") == "transformer.h.1.mlp.c_proj.weight [68, 36] F32, column 7, model.safetensors");
  }

  TEST_CASE("of an encoder\u2013decoder the stack is told") {
    const EngineResult result = run_of(golden_model("marian"));
    CHECK(line(provenance_of(result, cell("weights", 0, 1, 1, 0)), "of") == "layer 0, head 1, encoder self-attention");
  }

  TEST_CASE("a head's gain, shared KV heads, and what a pooled square shows are said") {
    State state = golden_model("llama");
    state.gains[{{.kind = model::BlockKind::EncoderSelf, .layer = {0}}, 3}] = 0.25F;
    const EngineResult result = run_of(state);
    NumberRef number = cell("norms", 0, 3, 1, 0);
    number.pool = 8;
    const Provenance norm = provenance_of(result, number);
    CHECK(line(norm, "of").find("head 3 (KV head 1)") != std::string::npos);
    CHECK(line(norm, "head's gain") == "0.25");
    CHECK(line(norm, "exact or pooled") == "the largest of 8 × 8 cells, each of them evaluated");
    number.of = "masked";
    CHECK(line(provenance_of(result, number), "exact or pooled").starts_with("the mean of the visible ones of 8"));
    number.of = "weights";
    number.pooling = attention::Pooling::Mean;
    CHECK(line(provenance_of(result, number), "exact or pooled").starts_with("the mean of 8"));
    CHECK(line(provenance_of(result, cell("mean-layer", 0, 0, 1, 0)), "of").find("head") == std::string::npos);
    CHECK(line(provenance_of(result, cell("difference-scores", 0, 0, 1, 0)), "computed by").ends_with("is subtracted"));
  }

  TEST_CASE("expressions and a replaced pattern are part of the formula") {
    State state = golden_model("gpt2");
    attention::MaskSpec& mask = state.masks[model::BlockKind::EncoderSelf];
    const auto set = [&](const std::string& text, attention::ExpressionUse use) {
      attention::set_expression(mask, use, std::get<attention::Expression>(attention::parse_expression(text, use)));
    };
    set("q - k < 3", attention::ExpressionUse::Mask);
    set("score - 0.5 * float(q - k)", attention::ExpressionUse::Score);
    state.patterns[{{.kind = model::BlockKind::EncoderSelf, .layer = {0}}, 1}] = attention::FixedPattern::Previous;
    const EngineResult result = run_of(state);
    const Provenance scaled = provenance_of(result, cell("scaled", 0, 2, 2, 1));
    CHECK(line(scaled, "formula") == "scaled = score - 0.5 * float(q - k), score = S / √d_k");
    CHECK(line(scaled, "score expression") == "score - 0.5 * float(q - k)");
    CHECK(line(scaled, "mask expression") == "");
    CHECK(line(provenance_of(result, cell("masked", 0, 2, 2, 1)), "mask expression") == "q - k < 3");
    CHECK(line(provenance_of(result, cell("q", 0, 2, 2, 1)), "score expression") == "");
    const Provenance weight = provenance_of(result, cell("weights", 0, 1, 2, 1));
    CHECK(line(weight, "formula") == "A = softmax(masked), of the previous pattern");
    CHECK(line(weight, "head's pattern") == "replaced by the previous one, within the mask");
    CHECK(line(provenance_of(result, cell("mean-layer", 0, 1, 2, 1)), "head's pattern") == "");
    CHECK(line(scaled, "painted bias") == "");
  }

  TEST_CASE("painted biases and weights are told where they count") {
    State state = golden_model("gpt2");
    attention::MaskSpec& mask = state.masks[model::BlockKind::EncoderSelf];
    mask.biases[{.layer = 0, .batch = std::nullopt, .head = std::nullopt}] =
        attention::NumberRuns{{{2, 1}, -0.75F}, {{3, 1}, 1.0F}};
    const model::BlockRef block{.kind = model::BlockKind::EncoderSelf, .layer = {0}};
    state.patterns[{block, 1}] = attention::FixedPattern::Uniform;
    state.patterns[{block, 2}] = {attention::FixedPattern::Painted, attention::NumberRuns{{{3, 0}, 0.25F}}};
    const EngineResult result = run_of(state);
    const auto told = [&](const char* quantity, std::uint32_t head, std::uint32_t row, std::uint32_t column,
                          const char* name) {
      return line(provenance_of(result, cell(quantity, 0, head, row, column)), name);
    };
    CHECK(told("weights", 0, 2, 1, "painted bias") == "-0.75, added to the score");
    CHECK(told("scaled", 0, 2, 0, "painted bias") == "");
    CHECK(told("scores", 0, 2, 1, "painted bias") == "");
    CHECK(told("heads", 0, 2, 1, "painted bias") == "");
    CHECK(told("weights", 1, 2, 1, "painted bias") == "");  // all its scores are 0
    CHECK(told("weights", 2, 2, 1, "painted bias") == "-0.75, added to the score");
    CHECK(told("weights", 2, 3, 1, "painted bias") == "");
    CHECK(told("weights", 2, 3, 0, "painted weight") == "0.25, divided by the sum of those that the row's mask shows");
    CHECK(told("weights", 2, 3, 1, "painted weight") == "0, divided by the sum of those that the row's mask shows");
    NumberRef pooled = cell("weights", 0, 0, 2, 1);
    pooled.pool = 4;
    CHECK(line(provenance_of(result, pooled), "painted bias") == "");
  }

  TEST_CASE("weights without a file say how they were made, and what isn't there says nothing") {
    State state;
    state.text() = "one two three";
    const EngineResult result = run_of(state);
    const Provenance weight = provenance_of(result, cell(kQueryWeight, 0, 0, 1, 0));
    CHECK(line(weight, "weight").starts_with("drawn with seed"));
    CHECK(provenance_of(result, cell("weights", 99, 0, 0, 0)).lines.empty());
    CHECK(provenance_of(result, cell("nothing", 0, 0, 0, 0)).lines.empty());
    CHECK(provenance_of(EngineResult(), cell("weights", 0, 0, 0, 0)).lines.empty());
    for (const Quantity& each : quantities()) {
      const Provenance told = provenance_of(result, cell(each.id, 0, 0, 0, 0));
      CAPTURE(each.id);
      CHECK(told.lines.size() >= 6);
      CHECK(std::ranges::none_of(told.lines, [](const Provenance::Line& one) { return one.text.empty(); }));
    }
    CHECK(write_provenance({.title = "scores", .lines = {{"cell", "query 0, key 1"}, {"run", "forward pass 1"}}}, "0.5") ==
          "scores = 0.5\ncell: query 0, key 1\nrun: forward pass 1\n");
  }
}

}  // namespace provenance_test
