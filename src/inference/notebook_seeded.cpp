#include <fmt/format.h>

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

/// Notebook 000 never seeds: torch seeded itself in each of the two sessions whose cells are printed. These are the
/// only seeds of the generator's 2^32 whose first draw is the input as that session printed it.
constexpr std::uint64_t kSeed000 = 3133213777, kSeedOfClass000 = 3130316345;
constexpr model::AttentionConfig kAttention000{.d_model = 8, .heads = 2, .d_k = 4, .d_v = 4};

/// torch.randint(-50, 50, (2, 1, 3, 3)) < 0: true keeps the key.
attention::BooleanMask draw_boolean_mask(model::TorchRandom& random) {
  attention::BooleanMask mask{.batch = 2, .heads = 1, .queries = 3, .keys = 3, .keep = {}};
  for (std::uint32_t cell = 0; cell < 18; ++cell) mask.keep.push_back(random.randint(-50, 50) < 0 ? 1 : 0);
  return mask;
}

Notebook fused(std::string name, std::string title, std::string_view shapes, std::uint32_t batch,
               const model::AttentionConfig& config) {
  const std::uint32_t width = config.d_model, length = 6;
  model::TorchRandom random(3);
  model::AttentionWeights weights = model::split_fused(random.linear(width, 3 * width), model::FusedLayout::PerHead, config);
  weights.output = random.linear(width, width);
  Notebook notebook{
      .name = std::move(name),
      .title = std::move(title),
      .summary = fmt::format(
          "{}Seed 3. One weight [head][q|k|v][d_k] projects everything; causal, filled with -inf. Heads are merged side by "
          "side here; the notebook reshapes without the transpose (merge order \"without transpose\" shows its numbers).",
          shapes),
      .network = encoder_network({attention_layer(config, std::move(weights))}),
      .input = {.source = numbered_tokens(batch, length), .target = {}, .qkv = {}},
      .masks = {}};
  notebook.input.source.vectors = random.randn({batch, length, width});
  notebook.masks[kEncoder].rule = {.causal = true, .key_padding = false};
  return notebook;
}

}  // namespace

Notebook boolean_mask() {
  model::TorchRandom random(kSeed000);
  Tensor x = random.randn({2, 3, 8});
  model::AttentionWeights weights;
  weights.query = random.linear(8, 8);
  weights.key = random.linear(8, 8);
  weights.value = random.linear(8, 8);
  attention::BooleanMask mask = draw_boolean_mask(random);
  weights.output = random.linear(8, 8);
  Notebook notebook{
      .name = "notebook-000",
      .title = "000 · random boolean mask",
      .summary =
          "Recomputed from seed 3133213777, which torch had chosen itself. One random boolean mask for both heads of each "
          "sequence, filled with -1e9: a query whose keys are all masked attends to every key alike.",
      .network = encoder_network({attention_layer(kAttention000, std::move(weights))}),
      .input = {.source = numbered_tokens(2, 3), .target = {}, .qkv = {}},
      .masks = {}};
  notebook.input.source.vectors = std::move(x);
  notebook.masks[kEncoder] = {.rule = {.key_padding = false},
                              .fill = attention::MaskFill::MinusOneBillion,
                              .matrix = std::move(mask),
                              .painted = {}};
  return notebook;
}

Notebook boolean_mask_class() {
  model::TorchRandom random(kSeedOfClass000);
  Tensor x = random.randn({2, 3, 8});
  for (int projection = 0; projection < 3; ++projection) random.linear(8, 8);
  draw_boolean_mask(random);
  random.linear(8, 8);
  // clone_module() copies one Linear four times, so Q, K, V and the output have the same weights.
  const model::Linear linear = random.linear(8, 8);
  Notebook notebook{.name = "notebook-000-class",
                    .title = "000 · the class, four copies of one Linear",
                    .summary =
                        "Recomputed from seed 3130316345, which torch had chosen itself. clone_module copies one Linear, so "
                        "W_Q, W_K, W_V and W_O are equal; no mask. The class drops weights out and forgets the result.",
                    .network = encoder_network({attention_layer(
                        kAttention000, {.query = linear, .key = linear, .value = linear, .output = linear})}),
                    .input = {.source = numbered_tokens(2, 3), .target = {}, .qkv = {}},
                    .masks = {}};
  notebook.input.source.vectors = std::move(x);
  notebook.masks[kEncoder].rule.key_padding = false;
  return notebook;
}

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
  return fused("notebook-003-fused", "003 · fused Q, K, V projection", "", 2,
               {.d_model = 16, .heads = 4, .d_k = 4, .d_v = 4});
}

Notebook fused_wide() {
  return fused("notebook-003-fused-512", "003 · fused, 512 wide, 8 heads", "The sizes of the notebook. ", 1,
               {.d_model = 512, .heads = 8, .d_k = 64, .d_v = 64});
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

Notebook from_scratch_encoder() {
  FromScratch scratch = begin_from_scratch();
  model::TorchRandom& random = scratch.random;
  model::AttentionWeights weights;
  weights.query = random.linear(2, 2);
  weights.key = random.linear(2, 2);
  weights.value = random.linear(2, 2);
  weights.output = random.linear(2, 2);
  model::AttentionLayer layer = attention_layer({.d_model = 2, .heads = 2, .d_k = 1, .d_v = 1}, std::move(weights));
  layer.norms.after = fresh_norm(2);
  layer.feed_forward = {.in = random.linear(2, 4), .out = random.linear(4, 2)};  // braces keep the order of the draws
  layer.feed_forward_norms.after = fresh_norm(2);
  Notebook notebook{
      .name = "notebook-004-encoder",
      .title = "004 · encoder layer, two heads",
      .summary =
          "Recomputed from seed 123. A whole encoder layer: two heads of width 1 with biases, residual and LayerNorm, a "
          "feed-forward 2 → 4 → 2 with ReLU, residual and LayerNorm. No mask.",
      .network = encoder_network({std::move(layer)}, scratch.embedding),
      .input = {.source = std::move(scratch.tokens), .target = {}, .qkv = {}},
      .masks = {}};
  notebook.masks[kEncoder].rule.key_padding = false;
  return notebook;
}

}  // namespace headlight::inference
