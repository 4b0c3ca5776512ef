#include "inference/notebook_builders.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <sstream>

#include "core/error.h"
#include "model/torch_random.h"
#include "text/word_vocabulary.h"

// clang-format off
namespace headlight::inference {
namespace {

// Q, K and V as notebook 003 prints them, eight decimals: [token 6, 4].
constexpr double kQuery003[] = {
    -0.17726915, -0.60715105, 0.27040047, 1.32262995, -0.35466501, -1.00190095, 0.49971724, 0.52404003,
    -0.96664612, -0.92880235, 0.31031606, 1.47667384, 2.58801299, 0.91252951, 0.47811754, -1.90542747,
    0.39023975, 1.89121848, -0.77398807, 0.55986816, -0.11781247, 0.66704404, 0.74030888, 0.80908705};
constexpr double kKey003[] = {
    1.31088812, 0.03025595, 0.02526448, -0.61109740, 0.03582415, 0.53263921, -0.34596446, 0.67464531,
    -0.21136000, 1.38581759, -2.44668208, -0.46287517, -0.40300990, -0.90153947, -0.72863338, -1.69069868,
    -0.05841235, 0.88533137, 0.23723818, 1.64457024, 0.90458896, -0.71120042, -0.77826392, 1.28070143};
constexpr double kValue003[] = {
    0.76514641, -1.69868336, -1.59656269, -0.76914076, -0.81664305, -0.10608875, -1.38933315, -2.52314108,
    0.20812633, 0.43433177, -1.68935144, -0.07477778, 1.00473554, 0.71972715, -0.40171648, -0.90225516,
    -1.03943008, -2.32277988, 1.68366562, 0.53501308, 1.49572558, 0.46566221, -0.26506452, 1.31825037};
// clang-format on

/// The upper left part of a printed matrix, as many rows and columns as are asked for; 0 beyond it.
Tensor given(std::uint32_t rows, std::uint32_t columns, std::span<const double> values) {
  Tensor tensor({1, 1, rows, columns});
  for (std::uint32_t row = 0; row < std::min(rows, kPrintedTokens); ++row) {
    for (std::uint32_t column = 0; column < std::min(columns, kPrintedWidth); ++column)
      tensor.at({0, 0, row, column}) = static_cast<float>(values[row * kPrintedWidth + column]);
  }
  return tensor;
}

std::vector<std::string> split_words(const std::string& sentence) {
  std::istringstream text(sentence);
  std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
  if (words.empty()) throw Error("the sentence has no words");
  return words;
}

}  // namespace

std::array<std::span<const double>, 3> printed_qkv() { return {kQuery003, kKey003, kValue003}; }

Notebook single_head(const NotebookRecipe& recipe) {
  std::vector<std::string> words = split_words(*recipe.sentence);
  const auto tokens = static_cast<std::uint32_t>(words.size());
  const std::uint32_t d_k = *recipe.d_k, d_v = *recipe.d_v;
  Notebook notebook{
      .network = encoder_network(
          {{.config = {.d_model = d_k, .heads = 1, .d_k = d_k, .d_v = d_v, .scale = {.kind = model::Scale::Kind::None}}}}),
      .input = {.source = labelled_tokens({std::move(words)}),
                .qkv = model::GivenQkv{given(tokens, d_k, kQuery003), given(tokens, d_k, kKey003),
                                       given(tokens, d_v, kValue003)}}};
  notebook.masks[model::BlockKind::EncoderSelf].rule = {.causal = true, .key_padding = false};
  return notebook;
}

}  // namespace headlight::inference

namespace headlight::inference {

namespace {

constexpr model::BlockKind kEncoder = model::BlockKind::EncoderSelf;

/// Weights of queries, keys and values. Braces keep the order of the draws.
model::AttentionWeights draw_projections(model::TorchRandom& random, std::uint32_t width) {
  return {.query = random.linear(width, width), .key = random.linear(width, width), .value = random.linear(width, width)};
}

/// Attention with its LayerNorm.
model::AttentionLayer draw_attention(model::TorchRandom& random, const model::AttentionConfig& config) {
  model::AttentionLayer layer = attention_layer(config, draw_weights(random, config.d_model));
  layer.norms.after = fresh_norm(config.d_model);
  return layer;
}

void draw_feed_forward(model::TorchRandom& random, model::AttentionLayer& layer, std::uint32_t hidden) {
  const std::uint32_t width = layer.config.d_model;
  layer.feed_forward = {.in = random.linear(width, hidden), .out = random.linear(hidden, width)};
  layer.feed_forward_norms.after = fresh_norm(width);
}

Notebook of_one_layer(model::AttentionLayer layer, model::TokenBatch tokens,
                      std::shared_ptr<const model::Embedding> embedding = nullptr) {
  Notebook notebook{.network = encoder_network({std::move(layer)}, std::move(embedding)),
                    .input = {.source = std::move(tokens)}};
  notebook.masks[kEncoder].rule.key_padding = false;
  return notebook;
}

/// Tokens with vectors [batch, length, d_model] and no words.
model::TokenBatch vectors(Tensor x) {
  model::TokenBatch tokens = numbered_tokens(x.shape[0], x.shape[1]);
  tokens.vectors = std::move(x);
  return tokens;
}

/// The input that notebook 004 begins with, and the state of the generator after the weights of its single head.
struct FromScratch {
  model::TokenBatch tokens;
  std::shared_ptr<model::Embedding> embedding = std::make_shared<model::Embedding>();
  model::TorchRandom random;
  model::AttentionWeights weights;

  /// `head_k`, `head_v`: rows of the single head's weights.
  FromScratch(const NotebookRecipe& recipe, std::uint32_t head_k, std::uint32_t head_v) : random(*recipe.seed) {
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
    tokens = labelled_tokens({std::move(labels)});
    tokens.ids = std::move(ids);
    embedding->table = model::TorchRandom(*recipe.seed).embedding(words.vocabulary, width);
    weights.query.weight = random.rand({head_k, width});
    weights.key.weight = random.rand({head_k, width});
    weights.value.weight = random.rand({head_v, width});
  }

  Notebook notebook(model::AttentionLayer layer) { return of_one_layer(std::move(layer), std::move(tokens), embedding); }
};

/// Heads of d_k and d_v; without these they divide d_model.
model::AttentionConfig heads_of(const NotebookRecipe& recipe) {
  const std::uint32_t heads = recipe.heads.value_or(1), width = *recipe.d_model / heads;
  return {.d_model = *recipe.d_model, .heads = heads, .d_k = recipe.d_k.value_or(width), .d_v = recipe.d_v.value_or(width)};
}

/// torch.randint(-50, 50, (2, 1, 3, 3)) < 0: true keeps the key.
attention::BooleanMask draw_boolean_mask(model::TorchRandom& random) {
  attention::BooleanMask mask{.batch = 2, .heads = 1, .queries = 3, .keys = 3, .keep = {}};
  for (std::uint32_t cell = 0; cell < 18; ++cell) mask.keep.push_back(random.randint(-50, 50) < 0 ? 1 : 0);
  return mask;
}

Notebook fused(std::uint32_t batch, const NotebookRecipe& recipe) {
  const model::AttentionConfig config = heads_of(recipe);
  const std::uint32_t width = config.d_model;
  model::TorchRandom random(*recipe.seed);
  model::AttentionWeights weights = model::split_fused(random.linear(width, 3 * width), model::FusedLayout::PerHead, config);
  weights.output = random.linear(width, width);
  Notebook notebook = of_one_layer(attention_layer(config, std::move(weights)), vectors(random.randn({batch, 6, width})));
  notebook.masks[kEncoder].rule.causal = true;
  return notebook;
}

}  // namespace

model::AttentionWeights draw_weights(model::TorchRandom& random, std::uint32_t width) {
  model::AttentionWeights weights = draw_projections(random, width);
  weights.output = random.linear(width, width);
  return weights;
}

Notebook boolean_mask(const NotebookRecipe& recipe) {
  const std::uint32_t width = *recipe.d_model;
  model::TorchRandom random(*recipe.seed);
  model::TokenBatch tokens = vectors(random.randn({2, 3, width}));
  model::AttentionWeights weights = draw_projections(random, width);
  attention::BooleanMask mask = draw_boolean_mask(random);
  weights.output = random.linear(width, width);
  Notebook notebook = of_one_layer(attention_layer(heads_of(recipe), std::move(weights)), std::move(tokens));
  notebook.masks[kEncoder].fill = attention::MaskFill::MinusOneBillion;
  notebook.masks[kEncoder].matrix = std::move(mask);
  return notebook;
}

Notebook boolean_mask_class(const NotebookRecipe& recipe) {
  const std::uint32_t width = *recipe.d_model;
  model::TorchRandom random(*recipe.seed);
  model::TokenBatch tokens = vectors(random.randn({2, 3, width}));
  draw_projections(random, width);
  draw_boolean_mask(random);
  random.linear(width, width);
  // clone_module() copies one Linear four times, so Q, K, V and the output have the same weights.
  const model::Linear linear = random.linear(width, width);
  return of_one_layer(attention_layer(heads_of(recipe), {.query = linear, .key = linear, .value = linear, .output = linear}),
                      std::move(tokens));
}

Notebook causal_seeded(const NotebookRecipe& recipe) {
  const std::uint32_t width = *recipe.d_model;
  model::TorchRandom random(*recipe.seed);
  model::AttentionLayer layer = attention_layer(heads_of(recipe), draw_projections(random, width));
  Notebook notebook = of_one_layer(std::move(layer), vectors(random.randn({2, 5, width})));
  notebook.masks[kEncoder].rule.causal = true;
  return notebook;
}

Notebook fused_projection(const NotebookRecipe& recipe) { return fused(2, recipe); }

Notebook fused_wide(const NotebookRecipe& recipe) { return fused(1, recipe); }

Notebook from_scratch(const NotebookRecipe& recipe) {
  FromScratch scratch(recipe, *recipe.d_k, *recipe.d_v);
  return scratch.notebook(attention_layer(heads_of(recipe), std::move(scratch.weights)));
}

Notebook from_scratch_heads(const NotebookRecipe& recipe) {
  FromScratch scratch(recipe, *recipe.d_k, *recipe.d_v);
  const model::AttentionConfig config = heads_of(recipe);
  const Tensor query = scratch.random.rand({config.heads, config.d_k, config.d_model});
  const Tensor key = scratch.random.rand({config.heads, config.d_k, config.d_model});
  const Tensor value = scratch.random.rand({config.heads, config.d_v, config.d_model});
  return scratch.notebook(attention_layer(config, model::from_per_head(query, key, value, config)));
}

Notebook from_scratch_encoder(const NotebookRecipe& recipe) {
  FromScratch scratch(recipe, 3, 4);
  model::AttentionLayer layer = draw_attention(scratch.random, heads_of(recipe));
  draw_feed_forward(scratch.random, layer, 4);
  return scratch.notebook(std::move(layer));
}

namespace {

constexpr std::uint32_t kHidden = 32;
constexpr std::uint32_t kLayers = 2;
constexpr std::uint32_t kMaxLength = 100;
constexpr std::uint32_t kPadding = 1;  // the notebook's <pad> is a word like any other: it has an embedding of its own

std::shared_ptr<const model::Embedding> draw_embedding(model::TorchRandom& random, std::uint32_t vocabulary,
                                                       std::uint32_t width) {
  const auto embedding = std::make_shared<model::Embedding>();
  embedding->table = random.embedding(vocabulary, width);
  embedding->scale = std::sqrt(static_cast<float>(width));
  embedding->positions = random.embedding(kMaxLength, width);
  return embedding;
}

/// The words of the notebook's vocabularies whose numbers are 4 and more; before them are <unk>, <pad>, <sos> and <eos>.
constexpr std::array<const char*, 6> kGerman = {".", "ein", "einem", "in", "eine", ","};
constexpr std::array<const char*, 6> kEnglish = {"a", ".", "in", "the", "on", "man"};
constexpr std::array<const char*, 4> kSigns = {"<unk>", "<pad>", "<sos>", "<eos>"};

/// <sos>, a sentence's words, of which the table has few, and <eos>.
std::vector<std::uint32_t> german_ids(const std::string& sentence) {
  std::vector<std::uint32_t> ids = {2};
  for (const std::string& word : split_words(sentence)) {
    const auto found = std::ranges::find(kGerman, word);
    ids.push_back(found == kGerman.end()
                      ? 0U
                      : static_cast<std::uint32_t>(kSigns.size()) + static_cast<std::uint32_t>(found - kGerman.begin()));
  }
  ids.push_back(3);
  if (ids.size() > kMaxLength)
    throw Error("the sentence has {} words; the notebook\u2019s positions end at {}", ids.size() - 2, kMaxLength);
  return ids;
}

model::TokenBatch tokens(std::vector<std::vector<std::uint32_t>> lines, std::span<const char* const> words) {
  const auto longest = std::ranges::max_element(lines, {}, &std::vector<std::uint32_t>::size)->size();
  for (std::vector<std::uint32_t>& line : lines) line.resize(longest, kPadding);
  std::vector<std::vector<std::string>> labels;
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> lengths;
  for (const std::vector<std::uint32_t>& line : lines) {
    std::vector<std::string>& texts = labels.emplace_back();
    std::uint32_t& length = lengths.emplace_back(0);
    for (const std::uint32_t id : line) {
      ids.push_back(id);
      if (id != kPadding) ++length;
      texts.emplace_back(id < kSigns.size() ? kSigns[id] : words[id - kSigns.size()]);
    }
  }
  model::TokenBatch batch = labelled_tokens(std::move(labels));
  batch.ids = std::move(ids);
  batch.lengths = std::move(lengths);
  return batch;
}

}  // namespace

Notebook encoder_decoder(const NotebookRecipe& recipe) {
  const std::uint32_t width = *recipe.d_model;
  const model::AttentionConfig config = heads_of(recipe);
  model::TorchRandom random(*recipe.seed);
  model::Network network;
  const auto layers = std::make_shared<model::Layers>();
  network.source_embedding = draw_embedding(random, 11, width);
  for (std::uint32_t i = 0; i < kLayers; ++i) {
    layers->encoder.push_back(draw_attention(random, config));
    draw_feed_forward(random, layers->encoder.back(), kHidden);
  }
  network.target_embedding = draw_embedding(random, 13, width);
  for (std::uint32_t i = 0; i < kLayers; ++i) {
    model::DecoderLayer& layer = layers->decoder.emplace_back();
    layer.self = draw_attention(random, config);
    layer.cross = draw_attention(random, config);
    draw_feed_forward(random, layer.cross, kHidden);
  }
  layers->unembedding = {.linear = random.linear(width, 13)};
  network.layers = layers;

  Notebook notebook{.network = std::make_shared<model::Network>(std::move(network)),
                    .input = {.source = tokens({german_ids(*recipe.sentence), {2, 9, 4, 3}}, kGerman),
                              .target = tokens({{2, 4, 5, 6, 7}, {2, 8, 9}}, kEnglish)}};
  for (attention::MaskSpec& mask : notebook.masks.by_kind) mask.fill = attention::MaskFill::MinusTenBillion;
  notebook.masks[model::BlockKind::DecoderSelf].rule.causal = true;
  return notebook;
}

}  // namespace headlight::inference
