#include "inference/notebook_builders.h"
#include "model/torch_random.h"

#include <cmath>

#include <fmt/format.h>

namespace headlight::inference {
namespace {

constexpr std::uint32_t kHidden = 32;
constexpr std::uint32_t kLayers = 2;
constexpr std::uint32_t kPadding = 1;  // the notebook's <pad> is a word like any other: it has an embedding of its own

std::shared_ptr<const model::Embedding> draw_embedding(model::TorchRandom& random, std::uint32_t vocabulary,
                                                       std::uint32_t width) {
  static constexpr std::uint32_t kMaxLength = 100;
  const auto embedding = std::make_shared<model::Embedding>();
  embedding->table = random.embedding(vocabulary, width);
  embedding->scale = std::sqrt(static_cast<float>(width));
  embedding->positions = random.embedding(kMaxLength, width);
  return embedding;
}

/// Attention with its LayerNorm. Braces keep the order of the draws.
model::AttentionLayer draw_attention(model::TorchRandom& random, const model::AttentionConfig& config) {
  const std::uint32_t width = config.d_model;
  model::AttentionWeights weights{.query = random.linear(width, width),
                                  .key = random.linear(width, width),
                                  .value = random.linear(width, width),
                                  .output = random.linear(width, width)};
  model::AttentionLayer layer = attention_layer(config, std::move(weights));
  layer.norms.after = fresh_norm(width);
  return layer;
}

void draw_feed_forward(model::TorchRandom& random, model::AttentionLayer& layer) {
  const std::uint32_t width = layer.config.d_model;
  layer.feed_forward = {.in = random.linear(width, kHidden), .out = random.linear(kHidden, width)};
  layer.feed_forward_norms.after = fresh_norm(width);
}

model::TokenBatch tokens(const std::vector<std::vector<std::uint32_t>>& lines) {
  std::vector<std::vector<std::string>> labels;
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> lengths;
  for (const std::vector<std::uint32_t>& line : lines) {
    std::vector<std::string>& texts = labels.emplace_back();
    std::uint32_t& length = lengths.emplace_back(0);
    for (const std::uint32_t id : line) {
      ids.push_back(id);
      if (id != kPadding) ++length;
      texts.push_back(id == kPadding ? "<pad>" : id == 2 ? "<sos>" : id == 3 ? "<eos>" : fmt::format("w{}", id));
    }
  }
  model::TokenBatch batch = labelled_tokens(std::move(labels));
  batch.ids = std::move(ids);
  batch.lengths = std::move(lengths);
  return batch;
}

}  // namespace

Notebook encoder_decoder(const NotebookRecipe& recipe) {
  const std::uint32_t width = *recipe.d_model, head_width = width / *recipe.heads;
  const model::AttentionConfig config{.d_model = width, .heads = *recipe.heads, .d_k = head_width, .d_v = head_width};
  model::TorchRandom random(*recipe.seed);
  model::Network network;
  const auto layers = std::make_shared<model::Layers>();
  network.source_embedding = draw_embedding(random, 11, width);
  for (std::uint32_t i = 0; i < kLayers; ++i) {
    layers->encoder.push_back(draw_attention(random, config));
    draw_feed_forward(random, layers->encoder.back());
  }
  network.target_embedding = draw_embedding(random, 13, width);
  for (std::uint32_t i = 0; i < kLayers; ++i) {
    model::DecoderLayer& layer = layers->decoder.emplace_back();
    layer.self = draw_attention(random, config);
    layer.cross = draw_attention(random, config);
    draw_feed_forward(random, layer.cross);
  }
  layers->unembedding = {.linear = random.linear(width, 13)};
  network.layers = layers;

  Notebook notebook{.network = std::make_shared<model::Network>(std::move(network)),
                    .input = {.source = tokens({{2, 5, 6, 7, 8, 3}, {2, 9, 4, 3, kPadding, kPadding}}),
                              .target = tokens({{2, 4, 5, 6, 7}, {2, 8, 9, kPadding, kPadding}})}};
  for (attention::MaskSpec& mask : notebook.masks.by_kind) mask.fill = attention::MaskFill::MinusTenBillion;
  notebook.masks[model::BlockKind::DecoderSelf].rule.causal = true;
  return notebook;
}

}  // namespace headlight::inference
