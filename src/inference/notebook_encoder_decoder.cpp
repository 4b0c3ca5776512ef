#include "inference/notebook_builders.h"
#include "model/torch_random.h"

#include <fmt/format.h>

namespace headlight::inference {
namespace {

constexpr std::uint32_t kWidth = 16;
constexpr std::uint32_t kHidden = 32;
constexpr std::uint32_t kLayers = 2;
constexpr std::uint32_t kPadding = 1;  // the notebook's <pad> is a word like any other: it has an embedding of its own
constexpr model::AttentionConfig kAttention{.d_model = kWidth, .heads = 4, .d_k = 4, .d_v = 4};

std::shared_ptr<const model::Embedding> draw_embedding(model::TorchRandom& random, std::uint32_t vocabulary) {
  static constexpr std::uint32_t kMaxLength = 100;
  const auto embedding = std::make_shared<model::Embedding>();
  embedding->table = random.embedding(vocabulary, kWidth);
  embedding->scale = 4.0f;  // √16
  embedding->positions = random.embedding(kMaxLength, kWidth);
  return embedding;
}

/// Attention with its LayerNorm. Braces keep the order of the draws.
model::AttentionLayer draw_attention(model::TorchRandom& random) {
  model::AttentionWeights weights{.query = random.linear(kWidth, kWidth),
                                  .key = random.linear(kWidth, kWidth),
                                  .value = random.linear(kWidth, kWidth),
                                  .output = random.linear(kWidth, kWidth)};
  model::AttentionLayer layer = attention_layer(kAttention, std::move(weights));
  layer.norms.after = fresh_norm(kWidth);
  return layer;
}

void draw_feed_forward(model::TorchRandom& random, model::AttentionLayer& layer) {
  layer.feed_forward = {.in = random.linear(kWidth, kHidden), .out = random.linear(kHidden, kWidth)};
  layer.feed_forward_norms.after = fresh_norm(kWidth);
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

Notebook encoder_decoder() {
  model::TorchRandom random(1234);
  model::Network network;
  const auto layers = std::make_shared<model::Layers>();
  network.source_embedding = draw_embedding(random, 11);
  for (std::uint32_t i = 0; i < kLayers; ++i) {
    layers->encoder.push_back(draw_attention(random));
    draw_feed_forward(random, layers->encoder.back());
  }
  network.target_embedding = draw_embedding(random, 13);
  for (std::uint32_t i = 0; i < kLayers; ++i) {
    model::DecoderLayer& layer = layers->decoder.emplace_back();
    layer.self = draw_attention(random);
    layer.cross = draw_attention(random);
    draw_feed_forward(random, layer.cross);
  }
  layers->unembedding = {.linear = random.linear(kWidth, 13)};
  network.layers = layers;

  Notebook notebook{
      .name = "notebook-002",
      .title = "002 · encoder–decoder",
      .summary =
          "Recomputed from seed 1234 at a small size: two encoder and two decoder layers with residuals, LayerNorm and "
          "feed-forward; padding masked everywhere, the decoder's own attention causal; filled with -1e10.",
      .network = std::make_shared<model::Network>(std::move(network)),
      .input = {.source = tokens({{2, 5, 6, 7, 8, 3}, {2, 9, 4, 3, kPadding, kPadding}}),
                .target = tokens({{2, 4, 5, 6, 7}, {2, 8, 9, kPadding, kPadding}}),
                .qkv = {}},
      .masks = {}};
  for (attention::MaskSpec& mask : notebook.masks.by_kind) mask.fill = attention::MaskFill::MinusTenBillion;
  notebook.masks[model::BlockKind::DecoderSelf].rule.causal = true;
  return notebook;
}

}  // namespace headlight::inference
