#include "app/engine/analyses/head_verification.h"

#include <numeric>

#include "app/state/run_interventions.h"
#include "core/error.h"
#include "core/half.h"
#include "inference/prompt.h"
#include "model/reference.h"

namespace headlight::app {
namespace {

namespace reference = model::reference;
using reference::Array;

constexpr std::uint32_t kMaxRows = 64;
constexpr std::size_t kCellsOfAStep = std::size_t{1} << 21;
constexpr std::size_t kMultiplyAddsOfAStep = 8'000'000;  // about 10 ms of a processor's plain loops

/// Returns the rows of one head, as the device keeps them.
model::Linear rows_of(const model::Linear& linear, std::uint32_t first, std::uint32_t count, bool is_half) {
  model::Linear head{.weight = linear.weight.rows(first, count)};
  if (is_half) {
    Tensor rounded = head.weight.tensor();
    for (float& value : rounded.values) value = from_half(to_half(value));
    head.weight = std::move(rounded);
  }
  if (linear.has_bias()) head.bias = linear.bias.rows(first, count);
  return head;
}

/// Returns queries of an item, without its padding, at equal distances.
std::vector<std::uint32_t> spread_rows(const model::TokenBatch& tokens, std::uint32_t item) {
  const std::uint32_t length = tokens.lengths.empty() ? tokens.length : tokens.lengths[item];
  const std::uint32_t count = std::min(length, kMaxRows);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t row = count < 2 ? 0 : std::uint64_t{i} * (length - 1) / (count - 1);
    rows.push_back(tokens.start(item) + static_cast<std::uint32_t>(row));
  }
  return rows;
}

/// Returns one item's vectors [1, 1, token, d], rotated by its tokens' positions.
Array rotated(const model::Rotary& rotary, const model::TokenBatch& tokens, std::uint32_t item, Array x) {
  model::TokenBatch one{.batch = 1, .length = tokens.length, .starts = {tokens.start(item)}};
  if (!tokens.lengths.empty()) one.lengths = {tokens.lengths[item]};
  for (std::uint32_t token = 0; token < tokens.length; ++token) one.positions.push_back(tokens.position(item, token));
  return reference::rotate(rotary, one, std::move(x));
}

Array rows_to_array(std::span<const float> values, std::size_t width) {
  return {.shape = {1, static_cast<std::uint32_t>(values.size() / width), static_cast<std::uint32_t>(width)},
          .values = {values.begin(), values.end()}};
}

/// The double-precision reference of one head: its vectors q of some rows and all its k, put in as they are known, and the
/// weights that follow.
class HeadReference {
 public:
  HeadReference(const VerificationQuestion& question, const AnalysisSubject& subject);
  // mask tokens refer to the mask
  HeadReference(const HeadReference&) = delete;
  HeadReference& operator=(const HeadReference&) = delete;

  const inference::BlockShape& shape() const { return shape_; }
  /// The queries that are compared.
  const std::vector<std::uint32_t>& rows() const { return rows_; }
  bool has_weights() const { return layer_.weights.has_value(); }
  /// Cross-attention reads its keys from the memory; in self-attention keys and queries come from the same x.
  bool has_memory() const { return question_.block.kind == model::BlockKind::Cross; }
  /// Returns how many tokens from this one on are read at once.
  std::uint32_t chunk(std::uint32_t token, std::uint32_t tokens) const;
  attention::TileRequest inputs(attention::Stage stage, std::uint32_t token, std::uint32_t tokens) const;

  /// Take consecutive tokens' q or k, or the layer's input x, which these are projections of.
  void put_queries(const attention::Tile& tile);
  void put_keys(std::span<const float> vectors, std::uint32_t token) { put(vectors, token, k_); }
  void put_memory(const Array& memory, std::uint32_t token) { put(projected(key_, memory), token, k_); }
  void rotate();
  /// Returns the weights of one query.
  std::vector<double> weights_of(std::uint32_t row);

 private:
  /// A projection as far as the head's q or k need it: of all heads where their norm spans them.
  struct HeadProjection {
    model::Linear linear;
    std::optional<model::Norm> norm;
    std::uint32_t head = 0, heads = 1;  ///< the head, and how many `linear` has
  };
  HeadProjection projection(const model::Linear& linear, const std::optional<model::Norm>& norm, std::uint32_t head,
                            std::uint32_t heads, bool is_half) const;
  /// Returns the head's vectors of x [1, token, d_model].
  std::vector<double> projected(const HeadProjection& projection, const Array& x) const;

  template <typename Values>
  void put(const Values& vectors, std::uint32_t token, Array& to) const {
    std::ranges::copy(vectors, to.values.begin() + static_cast<std::ptrdiff_t>(std::size_t{token} * shape_.d_k));
  }

  VerificationQuestion question_;
  AnalysisSubject subject_;
  const model::AttentionLayer& layer_;
  inference::BlockShape shape_;
  attention::MaskSpec mask_;
  inference::MaskTokens tokens_;
  std::vector<std::uint32_t> rows_;
  HeadProjection query_, key_;  ///< unused without weights
  Array q_, k_;                 ///< [1, 1, token, d_k]; of q the rows that are compared
};

HeadReference::HeadReference(const VerificationQuestion& question, const AnalysisSubject& subject)
    : question_(question),
      subject_(subject),
      layer_(subject.network->layer(question.block)),
      shape_(subject.shapes.at(question.block)),
      mask_(attention::in_layer(subject.inputs->masks[question.block.kind], layer_.config)),
      tokens_(*subject.network, *subject.input, question.block.kind, mask_),
      rows_(spread_rows(subject.input->queries(question.block.kind), question.batch)),
      q_(reference::zeros({1, 1, shape_.queries, shape_.d_k})),
      k_(reference::zeros({1, 1, shape_.keys, shape_.d_k})) {
  if (!layer_.weights) return;
  const bool is_half = precision_of(subject.inputs->source) == inference::Precision::F16;
  const std::uint32_t kv_head = question.head / (shape_.heads / shape_.kv_heads);
  const model::AttentionWeights& weights = *layer_.weights;
  query_ = projection(weights.query, weights.query_norm, question.head, shape_.heads, is_half);
  key_ = projection(weights.key, weights.key_norm, kv_head, shape_.kv_heads, is_half);
}

HeadReference::HeadProjection HeadReference::projection(const model::Linear& linear, const std::optional<model::Norm>& norm,
                                                        std::uint32_t head, std::uint32_t heads, bool is_half) const {
  if (norm && norm->spans_heads) return {rows_of(linear, 0, heads * shape_.d_k, is_half), norm, head, heads};
  return {rows_of(linear, head * shape_.d_k, shape_.d_k, is_half), norm, head, 1};
}

std::vector<double> HeadReference::projected(const HeadProjection& projection, const Array& x) const {
  const std::uint32_t tokens = x.shape[1], heads = projection.heads, d_k = shape_.d_k;
  const Array rows = reference::apply(projection.linear, x);
  Array split = reference::zeros({1, heads, tokens, d_k});
  for (std::size_t i = 0; i < rows.values.size(); ++i) {
    const std::size_t token = i / (heads * d_k), head = i / d_k % heads;
    split.values[(head * tokens + token) * d_k + i % d_k] = rows.values[i];
  }
  split = reference::finish_projection(layer_.config, projection.norm, std::move(split), projection.head);
  const std::size_t first = heads == 1 ? 0 : std::size_t{projection.head} * tokens * d_k;
  const auto begin = split.values.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(std::size_t{tokens} * d_k)};
}

std::uint32_t HeadReference::chunk(std::uint32_t token, std::uint32_t tokens) const {
  const std::size_t width = shape_.has_input ? shape_.d_model : shape_.d_k;
  const std::size_t at_once = std::min(kCellsOfAStep / width, kMultiplyAddsOfAStep / (width * shape_.d_k));
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(at_once, 1, tokens - token));
}

attention::TileRequest HeadReference::inputs(attention::Stage stage, std::uint32_t token, std::uint32_t tokens) const {
  return {.block = question_.block,
          .batch = question_.batch,
          .head = question_.head,
          .stage = stage,
          .row = token,
          .rows = chunk(token, tokens),
          .columns = stage == attention::Stage::X ? shape_.d_model : shape_.d_k};
}

void HeadReference::put_queries(const attention::Tile& tile) {
  const std::uint32_t token = tile.request.row, width = tile.request.columns;
  if (!has_weights()) return put(tile.values, token, q_);
  for (const std::uint32_t row : rows_) {
    if (row < token || row >= token + tile.request.rows) continue;
    const std::span<const float> one = std::span(tile.values).subspan(std::size_t{row - token} * width, width);
    put(projected(query_, rows_to_array(one, width)), row, q_);
  }
  if (!has_memory()) put(projected(key_, rows_to_array(tile.values, width)), token, k_);
}

void HeadReference::rotate() {
  if (!layer_.weights || !layer_.config.rotary) return;
  const model::Rotary& rotary = subject_.network->layers->rotaries[*layer_.config.rotary];
  q_ = rotated(rotary, subject_.input->queries(question_.block.kind), question_.batch, std::move(q_));
  k_ = rotated(rotary, subject_.input->keys(question_.block.kind), question_.batch, std::move(k_));
}

std::vector<double> HeadReference::weights_of(std::uint32_t row) {
  reference::AttentionStages stages;
  const auto first = q_.values.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * shape_.d_k);
  stages.q = {.shape = {1, 1, 1, shape_.d_k}, .values = {first, first + static_cast<std::ptrdiff_t>(shape_.d_k)}};
  stages.k = std::move(k_);
  stages.v = reference::zeros({1, 1, shape_.keys, 1});
  model::AttentionConfig config = layer_.config;
  config.heads = config.kv_heads = 1;
  config.window = 0;  // it is part of the mask
  const attention::ExpressionMap map = tokens_.map(question_.block.layer.value, question_.batch, question_.head);
  const model::TokenBatch& keys = subject_.input->keys(question_.block.kind);
  const std::uint32_t begin = keys.start(question_.batch);
  const attention::KeyRange range(begin, begin + (keys.lengths.empty() ? keys.length : keys.lengths[question_.batch]));
  const auto replaced = subject_.inputs->patterns.find({question_.block, question_.head});
  const auto pattern = replaced == subject_.inputs->patterns.end() ? std::nullopt : std::optional(replaced->second);
  const attention::KeyRange pattern_keys = mask_.rule.key_padding ? range : attention::KeyRange(keys.length);
  const auto is_visible = [&](model::BlockRef, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t key) {
    return mask_.is_visible(map, question_.batch, {row, key}, range) &&
           (!pattern || attention::shows(*pattern, row, key, pattern_keys));
  };
  const model::DistanceVectors* distances =
      layer_.config.distances ? &subject_.network->layers->distances[*layer_.config.distances] : nullptr;
  const auto vectors = [&](bool exists, const model::Linear& projection) {
    if (!exists || distances == nullptr) return Array{};
    Array rows = reference::widen(distances->table);
    return distances->is_projected ? reference::apply(projection, rows) : rows;
  };
  const Array for_query = vectors(layer_.config.has_content_position, key_.linear);
  const Array for_key = vectors(layer_.config.has_position_content, query_.linear);
  const double scale = static_cast<double>(layer_.config.scale.factor(shape_.d_k));
  const auto product = [&](const double* vector, const Array& rows, std::size_t number) {
    if (rows.values.empty()) return 0.0;
    const double* other = &rows.values[number * shape_.d_k];
    return std::inner_product(other, other + shape_.d_k, vector, 0.0);
  };
  const auto& biases = subject_.network->layers->position_biases;
  const auto edit = [&](model::BlockRef, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t key, double score) {
    if (distances != nullptr) {
      const std::size_t number = distances->row(std::int64_t{row} - std::int64_t{key});
      const double* of_key = stages.k.values.data() + std::size_t{key} * shape_.d_k;
      score += scale * (product(stages.q.values.data(), for_query, number) + product(of_key, for_key, number));
    }
    if (layer_.config.position_bias) {
      score += biases[*layer_.config.position_bias].of_cell(question_.head, row, key, begin);
    }
    const double edited = mask_.score(map, question_.batch, {row, key}, score);
    return pattern ? attention::score_of(*pattern, {row, key}, edited) : edited;
  };
  const double fill = static_cast<double>(attention::fill_value(mask_.fill));
  const auto dropout = weight_dropout(subject_.inputs->dropout, question_.block);
  const auto kept = [&](model::BlockRef, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t key, double weight) {
    return dropout ? weight * static_cast<double>(dropout->factor_of(question_.batch, question_.head, row, key)) : weight;
  };
  reference::attend({config, question_.block, is_visible, fill, edit, kept}, stages);
  k_ = std::move(stages.k);
  return std::move(stages.weights.values);
}

void compare(const attention::Tile& tile, std::span<const double> expected, HeadVerification& found) {
  for (std::uint32_t key = 0; key < expected.size(); ++key) {
    const double weight = double{tile.values[key]};
    const double difference = std::abs(weight - expected[key]);
    // A NaN is the largest, and stays.
    if (std::isnan(found.largest) || difference <= found.largest) continue;
    found.largest = difference;
    found.where = {tile.request.row, key};
    found.weight = weight;
    found.reference_weight = expected[key];
  }
  found.cells += expected.size();
  ++found.checked;
}

/// Returns the memory of cross-attention alone, which is an input, of one line.
Array embedded_memory(const AnalysisSubject& subject, std::uint32_t item, std::size_t keys) {
  const Array all = reference::embed(subject.network->source_embedding.get(), subject.input->source);
  const std::size_t width = all.shape.back();
  const auto first = all.values.begin() + static_cast<std::ptrdiff_t>(item * keys * width);
  return {.shape = {1, static_cast<std::uint32_t>(keys), all.shape.back()},
          .values = {first, first + static_cast<std::ptrdiff_t>(keys * width)}};
}

}  // namespace

Task<HeadVerification> analyse(VerificationQuestion question, AnalysisSubject subject) {
  const auto known = subject.shapes.find(question.block);
  if (known == subject.shapes.end() || question.batch >= known->second.batch || question.head >= known->second.heads) {
    throw Error("this run has no such head");
  }
  if (known->second.only_weights) throw Error("this capture has weights alone, without the queries and keys that make them");
  HeadReference head(question, subject);
  const inference::BlockShape& shape = head.shape();
  for (std::uint32_t token = 0; token < shape.queries;) {
    Reads reads;
    reads.tiles.push_back(head.inputs(head.has_weights() ? attention::Stage::X : attention::Stage::Q, token, shape.queries));
    const Answers read = co_await std::move(reads);
    head.put_queries(read.tiles.front());
    token += read.tiles.front().request.rows;
  }
  const bool has_encoder = !subject.network->layers->encoder.empty();
  if (head.has_weights() && head.has_memory() && !has_encoder) {
    co_await read_nothing();
    head.put_memory(embedded_memory(subject, question.batch, shape.keys), 0);
  }
  const bool reads_keys = !head.has_weights() || (head.has_memory() && has_encoder);
  for (std::uint32_t token = 0; reads_keys && token < shape.keys;) {
    Reads reads;
    const std::uint32_t count = head.chunk(token, shape.keys);
    if (!head.has_weights()) {
      reads.tiles.push_back(head.inputs(attention::Stage::K, token, shape.keys));
    } else {
      reads.residuals.push_back({.stack = inference::Stack::Encoder,
                                 .layer = static_cast<std::uint32_t>(subject.network->layers->encoder.size()),
                                 .batch = question.batch,
                                 .first = token,
                                 .count = count});
    }
    const Answers read = co_await std::move(reads);
    if (!head.has_weights()) {
      head.put_keys(read.tiles.front().values, token);
    } else {
      const Tensor& states = read.residuals.front();
      const Array rows = rows_to_array(states.values, states.axis(1));
      head.put_memory(reference::apply(subject.network->layers->encoder_norm, rows), token);
    }
    token += count;
  }
  co_await read_nothing();
  head.rotate();
  HeadVerification found;
  found.rows = static_cast<std::uint32_t>(head.rows().size());
  for (const std::uint32_t row : head.rows()) {
    Reads reads;
    reads.tiles.push_back({.block = question.block,
                           .batch = question.batch,
                           .head = question.head,
                           .row = row,
                           .rows = 1,
                           .columns = shape.keys});
    const Answers read = co_await std::move(reads);
    compare(read.tiles.front(), head.weights_of(row), found);
    co_yield found;
  }
  co_return found;
}

}  // namespace headlight::app
