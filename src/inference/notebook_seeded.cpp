#include "core/error.h"
#include "inference/notebook_builders.h"
#include "model/torch_random.h"
#include "text/word_level.h"

namespace headlight::inference {
namespace {

constexpr model::BlockKind kEncoder = model::BlockKind::EncoderSelf;

/// The input that notebook 004 begins with, and the state of the generator after the weights of its single head.
struct FromScratch {
  model::TokenBatch tokens;
  std::shared_ptr<const model::Embedding> embedding;
  Tensor query, key, value;  // [d_k, d_model], [d_k, d_model], [d_v, d_model]
  model::TorchRandom random;
};

/// `head_k`, `head_v`: rows of the single head's weights.
FromScratch begin_from_scratch(const NotebookRecipe& recipe, std::uint32_t head_k, std::uint32_t head_v) {
  const std::uint32_t width = *recipe.d_model;
  Result<std::vector<text::WordTokens>> tokenized = text::tokenize_words({*recipe.sentence});
  if (!tokenized) throw Error("{}", tokenized.error());
  const text::WordTokens& words = tokenized->front();

  std::vector<std::string> labels;
  std::vector<std::uint32_t> ids;
  for (const text::Token& token : words.lines.front()) {
    labels.push_back(token.text);
    ids.push_back(token.id);
  }
  const auto embedding = std::make_shared<model::Embedding>();
  embedding->table = model::TorchRandom(*recipe.seed).embedding(words.vocabulary, width);
  FromScratch scratch{.tokens = labelled_tokens({labels}),
                      .embedding = embedding,
                      .query = {},
                      .key = {},
                      .value = {},
                      .random = model::TorchRandom(*recipe.seed)};
  scratch.tokens.ids = std::move(ids);
  scratch.query = scratch.random.rand({head_k, width});
  scratch.key = scratch.random.rand({head_k, width});
  scratch.value = scratch.random.rand({head_v, width});
  return scratch;
}

/// Heads that divide d_model.
model::AttentionConfig even_heads(const NotebookRecipe& recipe) {
  const std::uint32_t width = *recipe.d_model / *recipe.heads;
  return {.d_model = *recipe.d_model, .heads = *recipe.heads, .d_k = width, .d_v = width};
}

/// torch.randint(-50, 50, (2, 1, 3, 3)) < 0: true keeps the key.
attention::BooleanMask draw_boolean_mask(model::TorchRandom& random) {
  attention::BooleanMask mask{.batch = 2, .heads = 1, .queries = 3, .keys = 3, .keep = {}};
  for (std::uint32_t cell = 0; cell < 18; ++cell) mask.keep.push_back(random.randint(-50, 50) < 0 ? 1 : 0);
  return mask;
}

Notebook fused(std::uint32_t batch, const NotebookRecipe& recipe) {
  const model::AttentionConfig config = even_heads(recipe);
  const std::uint32_t width = config.d_model, length = 6;
  model::TorchRandom random(*recipe.seed);
  model::AttentionWeights weights = model::split_fused(random.linear(width, 3 * width), model::FusedLayout::PerHead, config);
  weights.output = random.linear(width, width);
  Notebook notebook{.network = encoder_network({attention_layer(config, std::move(weights))}),
                    .input = {.source = numbered_tokens(batch, length)}};
  notebook.input.source.vectors = random.randn({batch, length, width});
  notebook.masks[kEncoder].rule = {.causal = true, .key_padding = false};
  return notebook;
}

}  // namespace

Notebook boolean_mask(const NotebookRecipe& recipe) {
  const std::uint32_t width = *recipe.d_model;
  model::TorchRandom random(*recipe.seed);
  Tensor x = random.randn({2, 3, width});
  model::AttentionWeights weights;
  weights.query = random.linear(width, width);
  weights.key = random.linear(width, width);
  weights.value = random.linear(width, width);
  attention::BooleanMask mask = draw_boolean_mask(random);
  weights.output = random.linear(width, width);
  Notebook notebook{.network = encoder_network({attention_layer(even_heads(recipe), std::move(weights))}),
                    .input = {.source = numbered_tokens(2, 3)}};
  notebook.input.source.vectors = std::move(x);
  notebook.masks[kEncoder] = {.rule = {.key_padding = false},
                              .fill = attention::MaskFill::MinusOneBillion,
                              .matrix = std::move(mask),
                              .painted = {}};
  return notebook;
}

Notebook boolean_mask_class(const NotebookRecipe& recipe) {
  const std::uint32_t width = *recipe.d_model;
  model::TorchRandom random(*recipe.seed);
  Tensor x = random.randn({2, 3, width});
  for (int projection = 0; projection < 3; ++projection) random.linear(width, width);
  draw_boolean_mask(random);
  random.linear(width, width);
  // clone_module() copies one Linear four times, so Q, K, V and the output have the same weights.
  const model::Linear linear = random.linear(width, width);
  Notebook notebook{.network = encoder_network({attention_layer(
                        even_heads(recipe), {.query = linear, .key = linear, .value = linear, .output = linear})}),
                    .input = {.source = numbered_tokens(2, 3)}};
  notebook.input.source.vectors = std::move(x);
  notebook.masks[kEncoder].rule.key_padding = false;
  return notebook;
}

Notebook causal_seeded(const NotebookRecipe& recipe) {
  const model::AttentionConfig config = even_heads(recipe);
  const std::uint32_t width = config.d_model;
  model::TorchRandom random(*recipe.seed);
  model::AttentionWeights weights;
  weights.query = random.linear(width, width);
  weights.key = random.linear(width, width);
  weights.value = random.linear(width, width);
  Notebook notebook{.network = encoder_network({attention_layer(config, std::move(weights))}),
                    .input = {.source = numbered_tokens(2, 5)}};
  notebook.input.source.vectors = random.randn({2, 5, width});
  notebook.masks[kEncoder].rule = {.causal = true, .key_padding = false};
  return notebook;
}

Notebook fused_projection(const NotebookRecipe& recipe) { return fused(2, recipe); }

Notebook fused_wide(const NotebookRecipe& recipe) { return fused(1, recipe); }

Notebook from_scratch(const NotebookRecipe& recipe) {
  FromScratch scratch = begin_from_scratch(recipe, *recipe.d_k, *recipe.d_v);
  const model::AttentionConfig config{.d_model = *recipe.d_model, .heads = 1, .d_k = *recipe.d_k, .d_v = *recipe.d_v};
  model::AttentionWeights weights{.query = {.weight = std::move(scratch.query), .bias = {}},
                                  .key = {.weight = std::move(scratch.key), .bias = {}},
                                  .value = {.weight = std::move(scratch.value), .bias = {}},
                                  .output = std::nullopt};
  Notebook notebook{.network = encoder_network({attention_layer(config, std::move(weights))}, scratch.embedding),
                    .input = {.source = std::move(scratch.tokens)}};
  notebook.masks[kEncoder].rule.key_padding = false;
  return notebook;
}

Notebook from_scratch_heads(const NotebookRecipe& recipe) {
  FromScratch scratch = begin_from_scratch(recipe, *recipe.d_k, *recipe.d_v);
  const model::AttentionConfig config{
      .d_model = *recipe.d_model, .heads = *recipe.heads, .d_k = *recipe.d_k, .d_v = *recipe.d_v};
  const Tensor query = scratch.random.rand({config.heads, config.d_k, config.d_model});
  const Tensor key = scratch.random.rand({config.heads, config.d_k, config.d_model});
  const Tensor value = scratch.random.rand({config.heads, config.d_v, config.d_model});
  Notebook notebook{.network = encoder_network({attention_layer(config, model::from_per_head(query, key, value, config))},
                                               scratch.embedding),
                    .input = {.source = std::move(scratch.tokens)}};
  notebook.masks[kEncoder].rule.key_padding = false;
  return notebook;
}

Notebook from_scratch_encoder(const NotebookRecipe& recipe) {
  const std::uint32_t width = *recipe.d_model;
  FromScratch scratch = begin_from_scratch(recipe, 3, 4);
  model::TorchRandom& random = scratch.random;
  model::AttentionWeights weights;
  weights.query = random.linear(width, width);
  weights.key = random.linear(width, width);
  weights.value = random.linear(width, width);
  weights.output = random.linear(width, width);
  model::AttentionLayer layer = attention_layer(even_heads(recipe), std::move(weights));
  layer.norms.after = fresh_norm(width);
  layer.feed_forward = {.in = random.linear(width, 4),
                        .out = random.linear(4, width)};  // braces keep the order of the draws
  layer.feed_forward_norms.after = fresh_norm(width);
  Notebook notebook{.network = encoder_network({std::move(layer)}, scratch.embedding),
                    .input = {.source = std::move(scratch.tokens)}};
  notebook.masks[kEncoder].rule.key_padding = false;
  return notebook;
}

}  // namespace headlight::inference
