#include <string>
#include <utility>

#include "core/error.h"
#include "model/network.h"

namespace headlight::model {
namespace {

std::string name(BlockRef block) { return fmt::format("{} layer {}", to_string(block.kind), block.layer.value); }

void expect_range(const std::string& where, std::string_view what, std::uint32_t value, std::uint32_t largest) {
  if (value < 1 || value > largest) throw Error("{}: {} is {}, but must be 1 … {}", where, what, value, largest);
}

void expect_shape(const std::string& where, std::string_view what, const Shape& found, const Shape& expected) {
  if (found != expected) {
    throw Error("{}: {} has shape {}, but must be {}", where, what, headlight::to_string(found),
                headlight::to_string(expected));
  }
}

void expect_width(const std::string& where, std::uint32_t found, std::uint32_t expected, std::string_view giver) {
  if (found != expected) {
    throw Error("{}: d_model is {}, but {} is {} wide: make them equal", where, found, giver, expected);
  }
}

void check_norm(const std::string& where, const std::optional<Norm>& norm, std::uint32_t width) {
  if (!norm) return;
  const std::string_view kind = norm->kind == Norm::Kind::Layer ? "LayerNorm" : "RMSNorm";
  expect_shape(where, fmt::format("a {} weight", kind), norm->weight.shape(), {width});
  if (!norm->bias.is_empty()) expect_shape(where, fmt::format("a {} bias", kind), norm->bias.shape(), {width});
}

void check_norms(const std::string& where, const BranchNorms& norms, std::uint32_t width) {
  check_norm(where, norms.before, width);
  check_norm(where, norms.inside, width);
  check_norm(where, norms.after, width);
  if ((norms.inside || norms.after) && norms.scale != 1.0f) throw Error("{}: a normed branch isn't scaled as well", where);
}

void check_linear(const std::string& where, std::string_view what, const Linear& linear, std::uint32_t in) {
  if (linear.weight.shape().size() != 2 || linear.in() != in) {
    throw Error("{}: the {} weight has shape {}, but must be [out, {}]", where, what,
                headlight::to_string(linear.weight.shape()), in);
  }
  if (linear.has_bias()) expect_shape(where, fmt::format("the {} bias", what), linear.bias.shape(), {linear.out()});
}

/// KV heads divide the query heads, and the indices in the config exist.
void check_config(const std::string& where, const AttentionConfig& config, const Layers& layers) {
  expect_range(where, "heads", config.heads, kMaxModelHeads);
  expect_range(where, "d_k", config.d_k, kMaxModelWidth);
  expect_range(where, "d_v", config.d_v, kMaxModelWidth);
  if (config.heads % config.kv_head_count() != 0) {
    throw Error("{}: {} heads can't share {} KV heads: choose a number that divides them", where, config.heads,
                config.kv_heads);
  }
  if (config.rotary) {
    const std::uint32_t dimensions = layers.rotaries.at(*config.rotary).dimensions;
    if (dimensions % 2 != 0 || dimensions > config.d_k) {
      throw Error("{}: RoPE can't rotate {} of a head's {} components in pairs: choose an even number", where, dimensions,
                  config.d_k);
    }
  }
  if (config.distances) {
    const DistanceVectors& distances = layers.distances.at(*config.distances);
    const std::uint32_t width = distances.is_projected ? config.d_model : config.d_k;
    if (distances.table.shape.size() != 2 || distances.table.axis(1) != width || config.kv_head_count() != config.heads) {
      throw Error("{}: the vectors of distances are {}, but must be [rows, {}], with as many KV heads as heads", where,
                  headlight::to_string(distances.table.shape), width);
    }
  }
  if (config.position_bias && layers.position_biases.at(*config.position_bias).heads() != config.heads) {
    throw Error("{}: the position bias is for {} heads, the layer has {}", where,
                layers.position_biases[*config.position_bias].heads(), config.heads);
  }
}

void check_feed_forward(const std::string& where, const FeedForward& feed_forward, std::uint32_t width) {
  check_linear(where, "inner feed-forward", feed_forward.in, width);
  check_linear(where, "outer feed-forward", feed_forward.out, feed_forward.in.out());
  if (feed_forward.gate) {
    check_linear(where, "gate", *feed_forward.gate, width);
    expect_shape(where, "the gate weight", feed_forward.gate->weight.shape(), feed_forward.in.weight.shape());
  }
  if (feed_forward.out.out() != width) {
    throw Error("{}: the feed-forward returns {} numbers for {}: make them equal", where, feed_forward.out.out(), width);
  }
}

void check_experts(const std::string& where, const Experts& experts, std::uint32_t width) {
  expect_range(where, "the number of experts", experts.count(), kMaxExperts);
  expect_range(where, "experts per token", experts.per_token, std::min(experts.count(), kMaxExpertsPerToken));
  check_linear(where, "router", experts.router, width);
  if (experts.router.out() != experts.count()) {
    throw Error("{}: the router chooses among {} experts, but there are {}", where, experts.router.out(), experts.count());
  }
  const FeedForward& first = experts.experts.front();
  for (const FeedForward& expert : experts.experts) {
    check_feed_forward(where, expert, width);
    expect_shape(where, "an expert's inner weight", expert.in.weight.shape(), first.in.weight.shape());
    if (expert.gate.has_value() != first.gate.has_value() || expert.activation != first.activation) {
      throw Error("{}: its experts differ in gate or activation: give all of them the same", where);
    }
  }
  if (experts.shared) check_feed_forward(where, *experts.shared, width);
  if (!experts.shared_gate) return;
  check_linear(where, "gate of the shared expert", *experts.shared_gate, width);
  if (!experts.shared || experts.shared_gate->out() != 1) {
    throw Error("{}: the gate of the shared expert is one number and needs such an expert", where);
  }
}

/// Width of the vectors that leave the layer.
std::uint32_t check_layer(BlockRef block, const AttentionLayer& layer, const Layers& layers) {
  const std::string where = name(block);
  const AttentionConfig& config = layer.config;
  check_config(where, config, layers);
  std::uint32_t width = config.heads * config.d_v;
  if (layer.weights) {
    expect_range(where, "d_model", config.d_model, kMaxModelWidth);
    check_shapes(*layer.weights, config);
    if (layer.weights->output) width = layer.weights->output->out();
  }
  if (!layer.norms.is_empty()) {
    if (!layer.weights) throw Error("{}: given Q, K and V leave no x to add: take the norm away", where);
    if (width != config.d_model) {
      throw Error("{}: a residual adds {} numbers to {}: set heads·d_v to d_model or give the layer an output projection",
                  where, width, config.d_model);
    }
    check_norms(where, layer.norms, width);
  }
  if (layer.has_feed_forward() == layer.feed_forward_norms.is_empty()) {
    throw Error("{}: a feed-forward and its norms come together: give both or neither", where);
  }
  if (layer.feed_forward && layer.experts) throw Error("{}: it has a feed-forward and experts: give one of them", where);
  if (layer.feed_forward) check_feed_forward(where, *layer.feed_forward, width);
  if (layer.experts) check_experts(where, *layer.experts, width);
  if (layer.has_feed_forward()) check_norms(where, layer.feed_forward_norms, width);
  if (layer.is_parallel && (!layer.has_feed_forward() || layer.norms.after)) {
    throw Error("{}: a feed-forward beside the attention needs one, and no norm between them", where);
  }
  return width;
}

/// Width of the token vectors; 0 when Q, K and V are given instead.
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
  if (!tokens.starts.empty() && tokens.starts.size() != tokens.batch) {
    throw Error("{}: {} starts for {} sequences: give one for each or none", where, tokens.starts.size(), tokens.batch);
  }
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    if (std::uint64_t{tokens.start(item)} + tokens.lengths[item] > tokens.length) {
      throw Error("{}: {} tokens from {} on exceed the padded length {}", where, tokens.lengths[item], tokens.start(item),
                  tokens.length);
    }
  }
  bool labels_fit = tokens.texts.empty() || tokens.texts.size() == tokens.batch;
  for (const std::vector<std::string>& line : tokens.texts) labels_fit = labels_fit && line.size() == tokens.length;
  if (!labels_fit)
    throw Error("{}: the labels don't fill [{}, {}]: give one for each token or none", where, tokens.batch, tokens.length);

  if (given) return 0;
  if (embedding == nullptr) {
    const Tensor& vectors = tokens.vectors;
    const std::uint32_t width = vectors.shape.size() == 3 ? vectors.axis(2) : 0;
    expect_shape(where, "the vectors", vectors.shape, {tokens.batch, tokens.length, width});
    return width;
  }
  if (embedding->table.shape().size() != 2) {
    throw Error("{}: the embedding has shape {}, but must be [vocabulary, d_model]", where,
                headlight::to_string(embedding->table.shape()));
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
  for (const auto& [what, values] : {std::pair{"positions", &tokens.positions}, std::pair{"types", &tokens.types}}) {
    if (!values->empty() && values->size() != tokens.ids.size()) {
      throw Error("{}: {} {} for {} tokens: give one for each or none", where, values->size(), what, tokens.ids.size());
    }
  }
  check_norm(where, embedding->norm, width);
  if (embedding->projection) check_linear(where, "embedding projection", *embedding->projection, width);
  const std::uint32_t projected = embedding->projection ? embedding->projection->out() : width;
  const std::uint32_t added = embedding->adds_positions_last ? projected : width;
  const Parameter& positions = embedding->positions;
  const std::uint32_t needed = tokens.position_count() + embedding->position_offset;
  if (!positions.is_empty() && (positions.shape().size() != 2 || positions.axis(0) < needed || positions.axis(1) != added)) {
    throw Error("{}: the positions are {}, but {} tokens of width {} need at least [{}, {}]: shorten the text", where,
                headlight::to_string(positions.shape()), tokens.length, added, needed, added);
  }
  if (!embedding->types.is_empty()) {
    expect_shape(where, "the token types", embedding->types.shape(), {embedding->types.axis(0), added});
    for (const std::uint32_t type : tokens.types) {
      if (type >= embedding->types.axis(0)) {
        throw Error("{}: type {} is not among the model's {}", where, type, embedding->types.axis(0));
      }
    }
  }
  return projected;
}

void check_unembedding(const Unembedding& unembedding, std::uint32_t width) {
  const std::string where = "the unembedding";
  if (unembedding.transform) {
    check_linear(where, "transform", *unembedding.transform, width);
    width = unembedding.transform->out();
  }
  check_norm(where, unembedding.norm, width);
  check_linear(where, "vocabulary", unembedding.linear, width);
}

void check_given(const Network& network, const ModelInput& input) {
  const BlockRef block = network.blocks().front();
  const AttentionConfig& config = network.layer(block).config;
  const TokenBatch& queries = input.queries(block.kind);
  const TokenBatch& keys = input.keys(block.kind);
  const GivenQkv& qkv = *input.qkv;
  expect_shape("given Q, K and V", "Q", qkv.query.shape, {queries.batch, config.heads, queries.length, config.d_k});
  expect_shape("given Q, K and V", "K", qkv.key.shape, {keys.batch, config.kv_head_count(), keys.length, config.d_k});
  expect_shape("given Q, K and V", "V", qkv.value.shape, {keys.batch, config.kv_head_count(), keys.length, config.d_v});
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
    memory = check_layer(block, layers.encoder[i], layers);
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
        state = check_layer(block, *layer.self, layers);
      }
      const BlockRef block{BlockKind::Cross, LayerIndex{i}};
      if (!given) {
        expect_width(name(block), layer.cross.config.d_model, state, "its query input");
        expect_width(name(block), layer.cross.config.d_model, memory, "its memory");
      }
      state = check_layer(block, layer.cross, layers);
    }
  }
  if (!layers.encoder.empty()) check_norm("the norm after the last layer", layers.encoder_norm, memory);
  check_norm("the norm after the last decoder layer", layers.decoder_norm, state);
  if (layers.unembedding) check_unembedding(*layers.unembedding, state);
  if (given) check_given(network, input);
}

}  // namespace headlight::model
