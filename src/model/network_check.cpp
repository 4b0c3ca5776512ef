#include <string>

#include "core/error.h"
#include "model/network.h"

namespace headlight::model {
namespace {

std::string name(BlockRef block) { return fmt::format("{} layer {}", to_string(block.kind), block.layer.value); }

void expect_range(const std::string& where, std::string_view what, std::uint32_t value, std::uint32_t largest) {
  if (value < 1 || value > largest) throw Error("{}: {} is {}, but must be 1 … {}", where, what, value, largest);
}

void expect_shape(const std::string& where, std::string_view what, const Tensor& tensor, const Shape& expected) {
  if (tensor.shape != expected) {
    throw Error("{}: {} has shape {}, but must be {}", where, what, headlight::to_string(tensor.shape),
                headlight::to_string(expected));
  }
}

void expect_width(const std::string& where, std::uint32_t found, std::uint32_t expected, std::string_view giver) {
  if (found != expected) {
    throw Error("{}: d_model is {}, but {} is {} wide: make them equal", where, found, giver, expected);
  }
}

void check_norm(const std::string& where, const LayerNorm& norm, std::uint32_t width) {
  expect_shape(where, "a LayerNorm weight", norm.weight, {width});
  expect_shape(where, "a LayerNorm bias", norm.bias, {width});
}

void check_linear(const std::string& where, std::string_view what, const Linear& linear, std::uint32_t in) {
  if (linear.weight.shape.size() != 2 || linear.in() != in) {
    throw Error("{}: the {} weight has shape {}, but must be [out, {}]", where, what,
                headlight::to_string(linear.weight.shape), in);
  }
  if (linear.has_bias()) expect_shape(where, fmt::format("the {} bias", what), linear.bias, {linear.out()});
}

/// Width of the vectors that leave the layer.
std::uint32_t check_layer(BlockRef block, const AttentionLayer& layer) {
  const std::string where = name(block);
  const AttentionConfig& config = layer.config;
  expect_range(where, "heads", config.heads, kMaxModelHeads);
  expect_range(where, "d_k", config.d_k, kMaxModelWidth);
  expect_range(where, "d_v", config.d_v, kMaxModelWidth);
  std::uint32_t width = config.heads * config.d_v;
  if (layer.weights) {
    expect_range(where, "d_model", config.d_model, kMaxModelWidth);
    check_shapes(*layer.weights, config);
    if (layer.weights->output) width = layer.weights->output->out();
  }
  if (layer.norm) {
    if (!layer.weights) throw Error("{}: given Q, K and V leave no x to add: take the LayerNorm away", where);
    if (width != config.d_model) {
      throw Error("{}: a residual adds {} numbers to {}: set heads·d_v to d_model or give the layer an output projection",
                  where, width, config.d_model);
    }
    check_norm(where, *layer.norm, width);
  }
  if (layer.feed_forward.has_value() != layer.feed_forward_norm.has_value()) {
    throw Error("{}: a feed-forward and its LayerNorm come together: give both or neither", where);
  }
  if (layer.feed_forward) {
    check_linear(where, "inner feed-forward", layer.feed_forward->in, width);
    check_linear(where, "outer feed-forward", layer.feed_forward->out, layer.feed_forward->in.out());
    if (layer.feed_forward->out.out() != width) {
      throw Error("{}: the feed-forward returns {} numbers for {}: make them equal", where, layer.feed_forward->out.out(),
                  width);
    }
    check_norm(where, *layer.feed_forward_norm, width);
  }
  return width;
}

/// Width of the vectors that the tokens become; 0 when Q, K and V are given instead.
std::uint32_t check_tokens(std::string_view side, const TokenBatch& tokens, const Embedding* embedding, bool given) {
  const std::string where = fmt::format("{} tokens", side);
  if (tokens.batch < 1 || tokens.length < 1) {
    throw Error("{}: a batch of {} sequences of {} tokens is empty: give at least one token", where, tokens.batch,
                tokens.length);
  }
  if (tokens.lengths.size() != tokens.batch) {
    throw Error("{}: {} lengths for {} sequences: give one for each", where, tokens.lengths.size(), tokens.batch);
  }
  for (const std::uint32_t length : tokens.lengths) {
    if (length > tokens.length) throw Error("{}: a length of {} exceeds the padded length {}", where, length, tokens.length);
  }
  bool labels_fit = tokens.texts.empty() || tokens.texts.size() == tokens.batch;
  for (const std::vector<std::string>& line : tokens.texts) labels_fit = labels_fit && line.size() == tokens.length;
  if (!labels_fit)
    throw Error("{}: the labels don't fill [{}, {}]: give one for each token or none", where, tokens.batch, tokens.length);

  if (given) return 0;
  if (embedding == nullptr) {
    const Tensor& vectors = tokens.vectors;
    const std::uint32_t width = vectors.shape.size() == 3 ? vectors.axis(2) : 0;
    expect_shape(where, "the vectors", vectors, {tokens.batch, tokens.length, width});
    return width;
  }
  if (embedding->table.shape.size() != 2) {
    throw Error("{}: the embedding has shape {}, but must be [vocabulary, d_model]", where,
                headlight::to_string(embedding->table.shape));
  }
  const std::uint32_t rows = embedding->table.axis(0);
  const std::uint32_t width = embedding->table.axis(1);
  if (tokens.ids.size() != std::size_t{tokens.batch} * tokens.length) {
    throw Error("{}: {} ids for {} sequences of {} tokens: give one for each", where, tokens.ids.size(), tokens.batch,
                tokens.length);
  }
  for (const std::uint32_t id : tokens.ids) {
    if (id != kPaddingId && id >= rows) throw Error("{}: id {} is not among the embedding's {} rows", where, id, rows);
  }
  const Tensor& positions = embedding->positions;
  if (!positions.is_empty() &&
      (positions.shape.size() != 2 || positions.axis(0) < tokens.length || positions.axis(1) != width)) {
    throw Error("{}: the positions are {}, but {} tokens of width {} need at least [{}, {}]", where,
                headlight::to_string(positions.shape), tokens.length, width, tokens.length, width);
  }
  return width;
}

void check_given(const Network& network, const ModelInput& input) {
  const BlockRef block = network.blocks().front();
  const AttentionConfig& config = network.layer(block).config;
  const TokenBatch& queries = input.queries(block.kind);
  const TokenBatch& keys = input.keys(block.kind);
  const GivenQkv& qkv = *input.qkv;
  expect_shape("given Q, K and V", "Q", qkv.query, {queries.batch, config.heads, queries.length, config.d_k});
  expect_shape("given Q, K and V", "K", qkv.key, {keys.batch, config.heads, keys.length, config.d_k});
  expect_shape("given Q, K and V", "V", qkv.value, {keys.batch, config.heads, keys.length, config.d_v});
}

}  // namespace

void check(const Network& network, const ModelInput& input) {
  const std::vector<BlockRef> blocks = network.blocks();
  if (blocks.empty()) throw Error("the network has no attention layer: give it at least one");
  const Layers& layers = *network.layers;
  const bool given = input.qkv.has_value();
  const bool has_weights = network.layer(blocks.front()).weights.has_value();
  if (given && (blocks.size() != 1 || has_weights)) {
    throw Error(
        "Q, K and V are given, but the network projects its own: leave them out or use a single layer without weights");
  }
  for (const BlockRef block : blocks) {
    if (!given && !network.layer(block).weights) {
      throw Error("{} has no weights and the input gives no Q, K and V: give either", name(block));
    }
  }

  std::uint32_t memory = check_tokens("source", input.source, network.source_embedding.get(), given);
  for (std::uint32_t i = 0; i < layers.encoder.size(); ++i) {
    const BlockRef block{BlockKind::EncoderSelf, LayerIndex{i}};
    if (!given)
      expect_width(name(block), layers.encoder[i].config.d_model, memory, i == 0 ? "its input" : "the layer before");
    memory = check_layer(block, layers.encoder[i]);
  }
  std::uint32_t state = memory;
  if (!layers.decoder.empty()) {
    if (!input.target) throw Error("the network has a decoder but the input no target tokens: give it a second text");
    if (input.target->batch != input.source.batch) {
      throw Error("{} target sequences attend to {} source sequences: give both the same number", input.target->batch,
                  input.source.batch);
    }
    state = check_tokens("target", *input.target, network.target_embedding.get(), given);
    for (std::uint32_t i = 0; i < layers.decoder.size(); ++i) {
      const DecoderLayer& layer = layers.decoder[i];
      if (layer.self) {
        const BlockRef block{BlockKind::DecoderSelf, LayerIndex{i}};
        if (!given) expect_width(name(block), layer.self->config.d_model, state, "its input");
        state = check_layer(block, *layer.self);
      }
      const BlockRef block{BlockKind::Cross, LayerIndex{i}};
      if (!given) {
        expect_width(name(block), layer.cross.config.d_model, state, "its query input");
        expect_width(name(block), layer.cross.config.d_model, memory, "its memory");
      }
      state = check_layer(block, layer.cross);
    }
  }
  if (layers.unembedding) check_linear("the unembedding", "vocabulary", *layers.unembedding, state);
  if (given) check_given(network, input);
}

}  // namespace headlight::model
