#include "attention/reference.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/error.h"

namespace headlight::model::reference {
namespace {

using attention::LayerGraph, attention::LayerNode, attention::LayerOperation, attention::Stage;

/// Softmax of one row of masked scores. NaN when one of them is NaN or +∞, or all are −∞.
void softmax_row(const std::vector<double>& masked, std::vector<double>& weights, double& row_max, double& row_sum) {
  row_max = *std::ranges::max_element(masked);
  row_sum = 0.0;
  for (std::size_t j = 0; j < masked.size(); ++j) row_sum += weights[j] = std::exp(masked[j] - row_max);
  for (double& weight : weights) weight /= row_sum;
}

double product(const double* left, const double* right, std::size_t count) {
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) sum += left[i] * right[i];
  return sum;
}

double written(const Attention& attention, double number) {
  return attention.is_single ? double{static_cast<float>(number)} : number;
}

/// Sizes of the block whose Q, K and V these are.
attention::BlockShape shape_of(const AttentionStages& stages) {
  const Array &q = stages[Stage::Q], &k = stages[Stage::K], &v = stages[Stage::V];
  return {.batch = q.shape[0],
          .heads = q.shape[1],
          .queries = q.shape[2],
          .keys = k.shape[2],
          .d_k = q.shape[3],
          .d_v = v.values.empty() ? 0 : v.shape[3],
          .kv_heads = k.shape[1],
          .has_content_position = !stages[Stage::ContentPosition].values.empty(),
          .has_position_content = !stages[Stage::PositionContent].values.empty()};
}

/// [batch, token, heads·d] → [batch, head, token, d]
Array split_heads(const Array& x, std::uint32_t heads) {
  const std::uint32_t batch = x.shape[0];
  const std::uint32_t tokens = x.shape[1];
  const std::uint32_t d = x.shape[2] / heads;
  Array split = zeros({batch, heads, tokens, d});
  std::size_t to = 0;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t t = 0; t < tokens; ++t) {
        for (std::size_t i = 0; i < d; ++i) split.values[to++] = x.values[((b * tokens + t) * heads + h) * d + i];
      }
    }
  }
  return split;
}

/// activation(gate) ⊙ hidden, or activation(hidden) without a gate.
Array inner_layer(Activation activation, const Array* gate, Array hidden) {
  for (std::size_t i = 0; i < hidden.values.size(); ++i) {
    double& value = hidden.values[i];
    value = gate != nullptr ? value * activated(activation, gate->values[i]) : activated(activation, value);
  }
  return hidden;
}

/// The softmax of the largest logits, 0 for the others [batch, token, expert].
Array route(const Experts& experts, const Array& logits) {
  Array gates = zeros(logits.shape);
  const std::size_t count = experts.count();
  std::vector<std::size_t> order(count);
  for (std::size_t at = 0; at < logits.values.size(); at += count) {
    const double* row = &logits.values[at];
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t expert) { return row[expert]; });
    double sum = 0.0;
    for (std::size_t n = 0; n < (experts.gates_sum_to_one ? experts.per_token : count); ++n) {
      sum += std::exp(row[order[n]] - row[order[0]]);
    }
    for (std::size_t n = 0; n < experts.per_token; ++n) {
      gates.values[at + order[n]] = std::exp(row[order[n]] - row[order[0]]) / sum;
    }
  }
  return gates;
}

/// One expert for every token.
Array apply_expert(const FeedForward& expert, const Array& x, const Arithmetic& arithmetic) {
  Array hidden = arithmetic.multiplied(expert.in, x);
  const Array gate = expert.gate ? arithmetic.multiplied(*expert.gate, x) : Array();
  const Array active = inner_layer(expert.activation, expert.gate ? &gate : nullptr, std::move(hidden));
  return arithmetic.multiplied(expert.out, arithmetic.written(active));
}

/// Every expert for every token.
Array apply_experts(const Experts& experts, const Array& x, const Array& gates, const Arithmetic& arithmetic) {
  Array sum = zeros(x.shape);
  const std::size_t width = x.shape.back(), count = experts.count();
  for (std::size_t e = 0; e < count; ++e) {
    const Array one = apply_expert(experts.experts[e], x, arithmetic);
    for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += gates.values[i / width * count + e] * one.values[i];
  }
  if (!experts.shared) return sum;
  const Array shared = apply_expert(*experts.shared, x, arithmetic);
  const Array gate = experts.shared_gate ? arithmetic.multiplied(*experts.shared_gate, x) : Array();
  for (std::size_t i = 0; i < sum.values.size(); ++i) {
    sum.values[i] += experts.shared_gate ? shared.values[i] / (1.0 + std::exp(-gate.values[i / width])) : shared.values[i];
  }
  return sum;
}

/// Computes a block's stages in the order of its graph.
class Block {
 public:
  Block(const Network& network, const ModelInput& input, const PassRules& rules, BlockRef block, const Array& x,
        const Array& memory)
      : network_(network),
        input_(input),
        rules_(rules),
        block_(block),
        layer_(network.layer(block)),
        x_(x),
        memory_(block.kind == BlockKind::Cross ? &memory : nullptr) {}

  AttentionStages computed() && {
    const LayerGraph graph(block_.kind, layer_);
    for (const LayerNode& node : graph.nodes()) {
      if (node.operation == LayerOperation::Mix) {
        attend(attention_of(network_, input_, rules_, block_), stages_, rules_.arithmetic);
      } else if (!is_map(node.stage) || node.operation == LayerOperation::Distance) {
        stages_[node.stage] = made(node);
      }
      edit(node.stage);
    }
    return std::move(stages_);
  }

 private:
  /// Returns the stage as its operation makes it; rows of maps are made by attend().
  Array made(const LayerNode& node) const {
    const auto input = [&](std::size_t number) -> const Array& { return stages_[node.inputs()[number]]; };
    const Arithmetic& arithmetic = rules_.arithmetic;
    switch (node.operation) {
      case LayerOperation::Given:
        return given(node.stage);
      case LayerOperation::Same:
        return arithmetic.written(input(0));
      case LayerOperation::Norm:
        return arithmetic.written(apply(*node.norm, input(0)));
      case LayerOperation::Linear: {
        Array y = arithmetic.multiplied(*node.linear, node.reads_memory ? *memory_ : input(0));
        return node.stage <= Stage::V ? projected(node, y) : y;
      }
      case LayerOperation::Distance:
        return distances(node.stage);
      case LayerOperation::Merge:
        return merge_heads(input(0), layer_.config.merge);
      case LayerOperation::Add: {
        Array sum = node.norm != nullptr ? apply(*node.norm, input(1)) : input(1);
        for (std::size_t i = 0; i < sum.values.size(); ++i)
          sum.values[i] = static_cast<double>(node.factor) * sum.values[i] + input(0).values[i];
        const bool is_normed = node.stage == Stage::AttentionSum || node.stage == Stage::FfnSum;
        return is_normed ? sum : arithmetic.written(std::move(sum));
      }
      case LayerOperation::Route:
        return route(*layer_.experts, input(0));
      case LayerOperation::Activate: {
        const bool has_gate = node.inputs().size() > 1;
        const Array* gate = has_gate ? &input(0) : nullptr;
        return arithmetic.written(inner_layer(layer_.feed_forward->activation, gate, input(has_gate ? 1 : 0)));
      }
      case LayerOperation::Experts:
        return apply_experts(*layer_.experts, input(0), input(1), arithmetic);
      case LayerOperation::Dot:
      case LayerOperation::Scale:
      case LayerOperation::Mask:
      case LayerOperation::Softmax:
      case LayerOperation::Mix:
        break;
    }
    return {};
  }

  Array given(Stage stage) const {
    if (stage == Stage::Residual) return x_;
    if (stage == Stage::X) return rules_.arithmetic.written(x_);
    if (!input_.qkv) throw Error("a layer without weights needs Q, K and V in its input: give them, or weights");
    return widen(stage == Stage::Q ? input_.qkv->query : stage == Stage::K ? input_.qkv->key : input_.qkv->value);
  }

  /// Splits a projection into heads, then norms, cuts and rotates them where the layer does so.
  Array projected(const LayerNode& node, const Array& x) const {
    const AttentionConfig& config = layer_.config;
    const bool is_of_queries = node.stage == Stage::Q;
    const std::optional<Norm> norm = node.norm != nullptr ? std::optional(*node.norm) : std::nullopt;
    Array heads = finish_projection(config, norm, split_heads(x, is_of_queries ? config.heads : config.kv_head_count()));
    if (config.rotary && node.stage != Stage::V) {
      const TokenBatch& tokens = is_of_queries ? input_.queries(block_.kind) : input_.keys(block_.kind);
      heads = rotate(network_.layers->rotaries[*config.rotary], tokens, std::move(heads));
    }
    return rules_.arithmetic.written(std::move(heads));
  }

  Array distances(Stage stage) const {
    const DistanceVectors& distances = network_.layers->distances[*layer_.config.distances];
    const Array &q = stages_[Stage::Q], &k = stages_[Stage::K];
    const std::uint32_t heads = q.shape[1], queries = q.shape[2], keys = k.shape[2], d_k = q.shape[3];
    const Linear* projection = distances.is_projected ? distance_projection(layer_, stage) : nullptr;
    Array map = zeros({q.shape[0], heads, queries, keys});
    for (std::uint32_t head = 0; head < heads; ++head) {
      const Array table = widen(distances.table);
      const Array vectors = projection != nullptr ? apply(projection->rows(head * d_k, d_k), table) : table;
      for (std::uint32_t item = 0; item < q.shape[0]; ++item) {
        const std::size_t at = std::size_t{item} * heads + head;
        for (std::uint32_t row = 0; row < queries; ++row) {
          const double *query = &q.values[(at * queries + row) * d_k], *first_key = &k.values[at * keys * d_k];
          std::ranges::copy(distance_row(stage, distances, vectors, row, query, first_key, keys),
                            map.values.begin() + static_cast<std::ptrdiff_t>((at * queries + row) * keys));
        }
      }
    }
    return map;
  }

  void edit(Stage stage) {
    if (!rules_.edit) return;
    for (std::size_t i = 0; i < kSites; ++i) {
      const auto site = static_cast<Site>(i);
      const bool is_here = attention::stage_of(site == Site::Weights ? Site::Query : site) == stage;
      if (!is_here || site == Site::Residual) continue;  // the layer's input is changed before the layer
      if (has_heads(site)) rules_.edit(block_, site, stages_[stage]);
      if (!has_heads(site)) stages_[stage] = rules_.edited(block_, site, std::move(stages_[stage]));
    }
  }

  const Network& network_;
  const ModelInput& input_;
  const PassRules& rules_;
  BlockRef block_;
  const AttentionLayer& layer_;
  const Array& x_;
  const Array* memory_;
  AttentionStages stages_;
};

}  // namespace

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::None:
      return x;
    case Activation::Relu:
      return std::max(x, 0.0);
    case Activation::Gelu:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::GeluTanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::Silu:
      return x / (1.0 + std::exp(-x));
    case Activation::Relu2:
      return std::max(x, 0.0) * std::max(x, 0.0);
    case Activation::QuickGelu:
      return x / (1.0 + std::exp(-1.702 * x));
  }
  return x;
}

Array Arithmetic::written(Array x) const {
  for (double& value : x.values) value = is_single ? double{static_cast<float>(value)} : value;
  return x;
}

Array PassRules::edited(BlockRef block, Site site, Array x) const {
  if (!edit) return x;
  Array values{.shape = {x.shape[0], 1, x.shape[1], x.shape[2]}, .values = std::move(x.values)};
  edit(block, site, values);
  return {.shape = std::move(x.shape), .values = std::move(values.values)};
}

const Linear* distance_projection(const AttentionLayer& layer, Stage stage) {
  if (!layer.weights) return nullptr;
  const AttentionWeights& weights = *layer.weights;
  if (stage == Stage::ContentPosition) return weights.position_key ? &*weights.position_key : &weights.key;
  return weights.position_query ? &*weights.position_query : &weights.query;
}

std::vector<double> distance_row(Stage stage, const DistanceVectors& distances, const Array& vectors,
                                 std::uint32_t query_number, const double* query, const double* keys, std::uint32_t count) {
  const std::size_t d_k = vectors.shape.back();
  std::vector<double> row(count);
  for (std::uint32_t key = 0; key < count; ++key) {
    const std::size_t number = distances.row(std::int64_t{query_number} - std::int64_t{key});
    const double* x = stage == Stage::ContentPosition ? query : keys + key * d_k;
    row[key] = product(x, &vectors.values[number * d_k], d_k);
  }
  return row;
}

AttentionRow attention_row(const Attention& attention, const AttentionStages& stages, std::uint32_t batch,
                           std::uint32_t head, std::uint32_t query, bool only_visible) {
  const attention::BlockShape shape = shape_of(stages);
  const std::uint32_t keys = shape.keys, d_k = shape.d_k;
  const std::size_t row = (std::size_t{batch} * shape.heads + head) * shape.queries + query;  // of [batch, head, query]
  const std::size_t first_key = (std::size_t{batch} * shape.kv_heads + shape.matrix_of(Stage::K, head)) * keys;
  batch += attention.item;
  head += attention.head;
  query += attention.query;
  const double* q = &stages[Stage::Q].values[row * d_k];
  const double scale = static_cast<double>(attention.config.scale.factor(d_k));
  const auto cap = static_cast<double>(attention.config.softcap);
  AttentionRow result;
  result.is_visible.resize(keys);
  std::vector<std::uint32_t> computed;
  bool has_weights = std::isfinite(attention.fill);  // not where the mask hides every key by −∞
  for (std::uint32_t j = 0; j < keys; ++j) {
    const bool is_seen = attention.is_visible(attention.block, batch, head, query, j);
    has_weights = has_weights || is_seen;
    result.is_visible[j] = is_seen ? 1 : 0;
    if (is_seen || !only_visible) computed.push_back(j);
  }
  const LayerGraph graph(shape, attention.block.kind);
  for (const LayerNode& node : graph.nodes()) {
    if (!is_map(node.stage)) continue;
    std::vector<double>& map = result[node.stage];
    map.resize(keys);
    const auto input = [&](std::size_t number) -> const std::vector<double>& { return result[node.inputs()[number]]; };
    switch (node.operation) {
      case LayerOperation::Dot:
        for (const std::uint32_t j : computed)
          map[j] = written(attention, product(q, &stages[Stage::K].values[(first_key + j) * d_k], d_k));
        break;
      case LayerOperation::Distance:
        std::copy_n(stages[node.stage].values.begin() + static_cast<std::ptrdiff_t>(row * keys), keys, map.begin());
        break;
      case LayerOperation::Scale:
        for (const std::uint32_t j : computed) {
          double sum = input(0)[j];
          for (std::size_t term = 1; term < node.inputs().size(); ++term) sum += input(term)[j];
          double scaled = written(attention, sum * scale);
          if (cap > 0.0) scaled = cap * std::tanh(scaled / cap);
          if (attention.score) scaled = attention.score(attention.block, batch, head, query, j, scaled);
          map[j] = written(attention, scaled);
        }
        break;
      case LayerOperation::Mask:
        for (std::uint32_t j = 0; j < keys; ++j) map[j] = result.is_visible[j] != 0 ? input(0)[j] : attention.fill;
        break;
      case LayerOperation::Softmax:
        result.max = attention.fill;
        if (has_weights) softmax_row(input(0), map, result.max, result.sum);
        for (std::uint32_t j = 0; j < keys && has_weights && attention.weight; ++j)
          map[j] = attention.weight(attention.block, batch, head, query, j, map[j]);
        break;
      default:
        break;
    }
  }
  return result;
}

void attend(const Attention& attention, AttentionStages& stages, const Arithmetic& arithmetic) {
  const attention::BlockShape shape = shape_of(stages);
  const std::uint32_t batch = shape.batch, heads = shape.heads, queries = shape.queries, keys = shape.keys;
  const std::uint32_t d_v = shape.d_v;
  std::vector<Stage> kept;
  const LayerGraph graph(shape, attention.block.kind);
  for (const LayerNode& node : graph.nodes()) {
    if (!arithmetic.keeps_maps || !is_map(node.stage) || node.operation == LayerOperation::Distance) continue;
    kept.push_back(node.stage);
    stages[node.stage] = zeros({batch, heads, queries, keys});
  }
  stages.row_max = stages.row_sum = zeros({batch, heads, queries});
  stages[Stage::Heads] = zeros({batch, heads, queries, d_v});
  const bool leaves_out_masked = !arithmetic.keeps_maps && !std::isfinite(attention.fill);
  const auto compute = [&](std::uint32_t row) {  // of [batch, head, query]
    const std::uint32_t map = row / queries, head = map % heads, item = map / heads;
    AttentionRow found = attention_row(attention, stages, item, head, row % queries, !arithmetic.keeps_maps);
    stages.row_max.values[row] = found.max;
    stages.row_sum.values[row] = found.sum;
    const std::size_t first_key = (std::size_t{item} * shape.kv_heads + shape.matrix_of(Stage::V, head)) * keys;
    const std::vector<double>& weights = found[Stage::Weights];
    for (std::size_t j = 0; j < keys && found.sum != 0.0; ++j) {
      if (leaves_out_masked && found.is_visible[j] == 0) continue;  // their weights are 0
      for (std::size_t d = 0; d < d_v; ++d) {
        stages[Stage::Heads].values[std::size_t{row} * d_v + d] +=
            weights[j] * stages[Stage::V].values[(first_key + j) * d_v + d];
      }
    }
    for (const Stage stage : kept)
      std::ranges::copy(found[stage], stages[stage].values.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * keys));
  };
  const std::uint32_t rows = batch * heads * queries;
  if (arithmetic.loop) {
    arithmetic.loop(rows, double(rows) * keys * (shape.d_k + d_v), compute);
  } else {
    for (std::uint32_t row = 0; row < rows; ++row) compute(row);
  }
  stages[Stage::Heads] = Arithmetic{.is_single = attention.is_single}.written(std::move(stages[Stage::Heads]));
  stages[Stage::Merged] = merge_heads(stages[Stage::Heads], attention.config.merge);
}

Attention attention_of(const Network& network, const ModelInput& input, const PassRules& rules, BlockRef block) {
  const AttentionConfig& config = network.layer(block).config;
  Attention attention{.config = config,
                      .block = block,
                      .is_visible = rules.is_visible,
                      .fill = rules.fills[static_cast<std::size_t>(block.kind)],
                      .score = rules.score,
                      .weight = rules.weight,
                      .is_single = rules.arithmetic.is_single && network.layer(block).weights};
  if (!config.position_bias) return attention;
  const PositionBias& bias = network.layers->position_biases[*config.position_bias];
  attention.score = [&bias, &input, &rules](BlockRef ref, std::uint32_t item, std::uint32_t head, std::uint32_t query,
                                            std::uint32_t key, double number) {
    number += bias.of_cell(head, query, key, input.keys(ref.kind).start(item));
    return rules.score ? rules.score(ref, item, head, query, key, number) : number;
  };
  return attention;
}

AttentionStages run_block(const Network& network, const ModelInput& input, const PassRules& rules, BlockRef block,
                          const Array& x, const Array& memory) {
  return Block(network, input, rules, block, x, memory).computed();
}

}  // namespace headlight::model::reference
