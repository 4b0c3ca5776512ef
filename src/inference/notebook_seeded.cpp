#include "core/error.h"
#include "inference/notebook_builders.h"
#include "model/torch_random.h"
#include "text/word_level.h"

namespace headlight::inference {
namespace {

constexpr model::BlockKind kEncoder = model::BlockKind::EncoderSelf;

/// What notebook 004 begins with, and the state of the generator after the weights of its single head.
struct FromScratch {
  model::TokenBatch tokens;
  std::shared_ptr<const model::Embedding> embedding;
  Tensor query, key, value;  // [3, 2], [3, 2], [4, 2]
  model::TorchRandom random;
};

FromScratch begin_from_scratch() {
  static constexpr std::string_view kSentence = "My shoes are small, my feet are big.";
  static constexpr std::uint64_t kSeed = 123;
  Result<std::vector<text::WordTokens>> tokenized = text::tokenize_words({kSentence});
  if (!tokenized) throw Error("{}", tokenized.error());
  const text::WordTokens& words = tokenized->front();

  std::vector<std::string> labels;
  std::vector<std::uint32_t> ids;
  for (const text::Token& token : words.lines.front()) {
    labels.push_back(token.text);
    ids.push_back(token.id);
  }
  const auto embedding = std::make_shared<model::Embedding>();
  embedding->table = model::TorchRandom(kSeed).embedding(words.vocabulary, 2);
  FromScratch scratch{.tokens = labelled_tokens({labels}),
                      .embedding = embedding,
                      .query = {},
                      .key = {},
                      .value = {},
                      .random = model::TorchRandom(kSeed)};
  scratch.tokens.ids = std::move(ids);
  scratch.query = scratch.random.rand({3, 2});
  scratch.key = scratch.random.rand({3, 2});
  scratch.value = scratch.random.rand({4, 2});
  return scratch;
}

}  // namespace

Notebook causal_seeded() {
  const model::AttentionConfig config{.d_model = 8, .heads = 4, .d_k = 2, .d_v = 2};
  model::TorchRandom random(24);
  model::AttentionWeights weights;
  weights.query = random.linear(8, 8);
  weights.key = random.linear(8, 8);
  weights.value = random.linear(8, 8);
  Notebook notebook{.name = "notebook-001",
                    .title = "001 · four causal heads",
                    .summary = "Recomputed from seed 24. Four heads, causal, filled with -inf, no output projection.",
                    .network = encoder_network({attention_layer(config, std::move(weights))}),
                    .input = {.source = numbered_tokens(2, 5), .target = {}, .qkv = {}},
                    .masks = {}};
  notebook.input.source.vectors = random.randn({2, 5, 8});
  notebook.masks[kEncoder].rule = {.causal = true, .key_padding = false};
  return notebook;
}

Notebook fused_projection() {
  const model::AttentionConfig config{.d_model = 16, .heads = 4, .d_k = 4, .d_v = 4};
  model::TorchRandom random(3);
  model::AttentionWeights weights = model::split_fused(random.linear(16, 48), model::FusedLayout::PerHead, config);
  weights.output = random.linear(16, 16);
  Notebook notebook{
      .name = "notebook-003-fused",
      .title = "003 · fused Q, K, V projection",
      .summary =
          "Seed 3. One weight [head][q|k|v][d_k] projects everything; causal, filled with -inf. Heads are merged side by "
          "side here; the notebook reshapes without the transpose (merge order \"without transpose\" shows its numbers).",
      .network = encoder_network({attention_layer(config, std::move(weights))}),
      .input = {.source = numbered_tokens(2, 6), .target = {}, .qkv = {}},
      .masks = {}};
  notebook.input.source.vectors = random.randn({2, 6, 16});
  notebook.masks[kEncoder].rule = {.causal = true, .key_padding = false};
  return notebook;
}

Notebook from_scratch() {
  FromScratch scratch = begin_from_scratch();
  const model::AttentionConfig config{.d_model = 2, .heads = 1, .d_k = 3, .d_v = 4};
  model::AttentionWeights weights{.query = {.weight = std::move(scratch.query), .bias = {}},
                                  .key = {.weight = std::move(scratch.key), .bias = {}},
                                  .value = {.weight = std::move(scratch.value), .bias = {}},
                                  .output = std::nullopt};
  Notebook notebook{
      .name = "notebook-004",
      .title = "004 · one head from scratch",
      .summary = "Recomputed from seed 123. One head with d_k 3 and d_v 4, no bias, no mask, no output projection.",
      .network = encoder_network({attention_layer(config, std::move(weights))}, scratch.embedding),
      .input = {.source = std::move(scratch.tokens), .target = {}, .qkv = {}},
      .masks = {}};
  notebook.masks[kEncoder].rule.key_padding = false;
  return notebook;
}

Notebook from_scratch_heads() {
  FromScratch scratch = begin_from_scratch();
  const model::AttentionConfig config{.d_model = 2, .heads = 3, .d_k = 3, .d_v = 4};
  const Tensor query = scratch.random.rand({3, 3, 2});
  const Tensor key = scratch.random.rand({3, 3, 2});
  const Tensor value = scratch.random.rand({3, 4, 2});
  Notebook notebook{
      .name = "notebook-004-heads",
      .title = "004 · three heads, one weight each",
      .summary =
          "Recomputed from seed 123. Three heads with a weight tensor each, d_k 3 and d_v 4, no bias, no mask, no output "
          "projection.",
      .network =
          encoder_network({attention_layer(config, model::from_per_head(query, key, value, config))}, scratch.embedding),
      .input = {.source = std::move(scratch.tokens), .target = {}, .qkv = {}},
      .masks = {}};
  notebook.masks[kEncoder].rule.key_padding = false;
  return notebook;
}

}  // namespace headlight::inference
