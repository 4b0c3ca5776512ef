// Arrays of trained models, exported by the real program, against transformers.
#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/exported.h"
#include "files/npy.h"
#include "support/decode_npy.h"
#include "support/deviation.h"
#include "support/golden_model.h"

namespace export_models_test {

using namespace headlight;

namespace {

test::Exported arrays_of(std::string_view model, std::vector<std::string> more) {
  more.insert(more.begin(), {"--model", test::golden_model_path(model).string(), "--format", "npy"});
  return test::Exported(more);
}

/// --ids (or --target-ids) for every line, padding left away.
void add_ids(std::vector<std::string>& flags, const char* flag, const model::TokenBatch& tokens) {
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    const auto first = tokens.ids.begin() + std::ptrdiff_t{item} * tokens.length + tokens.start(item);
    flags.insert(flags.end(), {flag, fmt::format("{}", fmt::join(first, first + tokens.lengths[item], ","))});
  }
}

struct Worst {
  double attentions = 0.0, hidden = 0.0, logits = 0.0;  ///< the last two divided by the root mean square
};

/// The largest differences of everything that was exported from everything that transformers computed.
Worst deviation(const test::Exported& exported, const test::GoldenCase& golden) {
  Worst worst;
  const model::TokenBatch& source = golden.input.source;
  const model::TokenBatch& target = golden.input.target ? *golden.input.target : source;
  const auto compare = [&](const char* file, const Tensor& expected, const model::TokenBatch& rows, std::size_t axis) {
    const Tensor found = exported.npy(file);
    REQUIRE(found.shape == expected.shape);
    // Layer by layer: the batch comes first then.
    const std::size_t layers = axis == 0 ? 1 : found.axis(0);
    const std::size_t count = found.values.size() / layers;
    double largest = 0.0;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const Shape shape(found.shape.begin() + static_cast<std::ptrdiff_t>(axis), found.shape.end());
      const test::RowDeviation rows_off =
          test::row_deviation(shape, std::span<const float>(found.values).subspan(layer * count, count),
                              std::span<const float>(expected.values).subspan(layer * count, count), rows);
      const bool is_map = std::string_view(file).ends_with("weights");
      test::raise_to(largest, is_map ? rows_off.largest : rows_off.largest / rows_off.root_square);
    }
    return largest;
  };
  using test::raise_to;
  if (golden.input.target) {
    raise_to(worst.attentions, compare("encoder_weights", golden.encoder_attentions, source, 1));
    raise_to(worst.attentions, compare("decoder_weights", golden.decoder_attentions, target, 1));
    raise_to(worst.attentions, compare("cross_weights", golden.cross_attentions, target, 1));
    raise_to(worst.hidden, compare("encoder_hidden", golden.encoder_hidden, source, 1));
    raise_to(worst.hidden, compare("decoder_hidden", golden.decoder_hidden, target, 1));
  } else {
    raise_to(worst.attentions, compare("weights", golden.attentions, source, 1));
    raise_to(worst.hidden, compare("hidden", golden.hidden, source, 1));
  }
  if (!golden.logits.is_empty()) raise_to(worst.logits, compare("logits", golden.logits, target, 0));
  return worst;
}

/// Exports one case by its ids.
Worst exported_deviation(std::string_view model, const test::GoldenCase& golden, std::vector<std::string> flags) {
  const TemporaryDirectory masks;
  flags.insert(flags.end(), {"--stages", "weights,hidden,logits"});
  add_ids(flags, "--ids", golden.input.source);
  if (golden.input.target) add_ids(flags, "--target-ids", *golden.input.target);
  const std::vector<std::uint32_t>& starts = golden.input.source.starts;
  if (std::ranges::any_of(starts, [](std::uint32_t start) { return start > 0; })) {
    flags.insert(flags.end(), {"--padding-side", "left"});
  }
  if (!golden.visible.is_empty()) {
    write_file_atomically(masks.path() / "visible.npy", files::encode_npy(golden.visible));
    flags.insert(flags.end(), {"--mask-file", (masks.path() / "visible.npy").string()});
  }
  return deviation(arrays_of(model, flags), golden);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("export writes what transformers computes: ids, padding on both sides, a mask of one's own") {
    for (const char* model : {"gpt2", "bert", "llama", "marian", "t5", "gemma2"}) {
      for (const test::GoldenCase& golden : test::load_golden_cases(model)) {
        if (!golden.input.source.types.empty()) continue;  // types come from pairs of texts
        CAPTURE(model);
        CAPTURE(golden.name);
        const Worst worst = exported_deviation(model, golden, {});
        CHECK(worst.attentions < 1e-5);  // observed 1.0e-6
        CHECK(worst.hidden < 2e-5);      // observed 3.0e-6
        CHECK(worst.logits < 2e-5);      // observed 2.9e-6
      }
    }
  }

  TEST_CASE("weights in 16 bits stay near") {
    for (const char* model : {"gpt2", "llama", "marian"}) {
      CAPTURE(model);
      const Worst worst = exported_deviation(model, test::load_golden_cases(model).front(), {"--precision", "f16"});
      CHECK(worst.attentions > 1e-5);
      CHECK(worst.attentions < 1e-2);
      CHECK(worst.logits < 1e-1);
    }
  }

  TEST_CASE("keys and values have the KV heads") {
    const test::Exported llama = arrays_of("llama", {"--text", "the cat sat", "--stages", "q,k,v"});
    const std::uint32_t tokens = llama.npy("q").axis(3);
    CHECK(llama.npy("q").shape == Shape{2, 1, 4, tokens, 8});
    CHECK(llama.npy("k").shape == Shape{2, 1, 2, tokens, 8});
    CHECK(llama.npy("v").shape == Shape{2, 1, 2, tokens, 8});
    const test::Exported one = arrays_of("llama", {"--text", "the cat sat", "--stages", "k,weights", "--head", "3"});
    CHECK(one.npy("weights").axis(2) == 1);
    const Tensor all = llama.npy("k"), last = one.npy("k");
    REQUIRE(last.shape == Shape{2, 1, 1, tokens, 8});
    CHECK(last.at({0, 0, 0, 1, 2}) == all.at({0, 0, 1, 1, 2}));
    CHECK(last.at({1, 0, 0, 0, 7}) == all.at({1, 0, 1, 0, 7}));
  }

  TEST_CASE("texts, pairs and targets are in run.json as tokens") {
    const test::Exported bert = arrays_of("bert", {"--text", "the cat", "--pair", "sat", "--stages", "weights,logits"});
    const nlohmann::json run = bert.json("run.json");
    CHECK(run["model"]["family"] == "BERT");
    CHECK(run["model"]["pair_text"] == "sat");
    CHECK(run["tokens"]["ids"][0] == nlohmann::json({2, 38, 39, 3, 40, 3}));
    CHECK(run["tokens"]["texts"][0][0] == "[CLS]");
    CHECK(bert.npy("logits").shape == Shape{1, 6, 104});
    const test::Exported no_pair = arrays_of("bert", {"--text", "the cat", "--stages", "weights"});
    CHECK(no_pair.npy("weights").axis(3) == 4);
    const test::Exported marian =
        arrays_of("marian", {"--text", "the cat", "--text", "sat", "--target", "on the", "--padding-side", "left"});
    CHECK(marian.npy("cross_weights").shape == Shape{2, 2, 4, 3, 3});
    const nlohmann::json both = marian.json("run.json");
    CHECK(both["tokens"]["starts"] == nlohmann::json({0, 1}));
    CHECK(both["tokens"]["ids"][1] == nlohmann::json({nullptr, 5, 0}));
    CHECK(both["target_tokens"]["ids"] == nlohmann::json({{103, 6, 3}, {103, 6, 3}}));
  }

  TEST_CASE("a mask given by flags joins the model's own") {
    const test::Exported gpt2 = arrays_of("gpt2", {"--ids", "5,6,7,8", "--mask", "window:2"});
    const Tensor weights = gpt2.npy("weights");
    for (std::uint32_t query = 0; query < 4; ++query) {
      for (std::uint32_t key = 0; key < 4; ++key) {
        const bool is_visible = key <= query && query - key < 2;
        CHECK((weights.at({1, 0, 5, query, key}) > 0.0f) == is_visible);
      }
    }
    const test::Exported open = arrays_of("gpt2", {"--ids", "5,6,7,8", "--mask", "none"});
    const Tensor seen = open.npy("weights");  // [layer, batch, head, query, key]
    const std::size_t row = seen.shape.back();
    CHECK(seen.values[row - 1] > 0.0F);  // the first token's weight of the last: the model's own mask is gone
    CHECK(open.json("run.json")["masks"]["encoder"]["rule"] == "none");
    const test::Exported bert = arrays_of("bert", {"--ids", "5,6,7", "--mask", "causal", "--fill", "-1e9"});
    CHECK(bert.npy("weights").at({0, 0, 0, 0, 2}) == 0.0f);
    CHECK(bert.npy("weights").at({0, 0, 0, 2, 0}) > 0.0f);
  }

  TEST_CASE("a network without logits says so") {
    const test::Exported base = arrays_of("bert-base-model", {"--ids", "5,6,7", "--stages", "hidden,logits"});
    CHECK(base.has("hidden.npy"));
    CHECK_FALSE(base.has("logits.npy"));
    CHECK(base.outcome.err == "headlight: note: logits is left out: this network has none\n");
  }
}

}  // namespace export_models_test
