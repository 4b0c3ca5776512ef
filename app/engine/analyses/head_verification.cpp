#include "app/engine/analyses/head_verification.h"

#include <numeric>

#include "app/state/run_interventions.h"
#include "core/error.h"
#include "core/half.h"
#include "inference/reference_run.h"

namespace headlight::app {
namespace {

namespace reference = model::reference;
using attention::Stage;
using reference::Array;

constexpr std::uint32_t kMaxRows = 64;
constexpr std::size_t kCellsOfAStep = std::size_t{1} << 21;
constexpr std::size_t kMultiplyAddsOfAStep = 8'000'000;  // about 10 ms of a processor's plain loops

/// Returns the rows of one head, as the device keeps them.
model::Linear rows_of(const model::Linear& linear, std::uint32_t first, std::uint32_t count, bool is_half) {
  model::Linear head = linear.rows(first, count);
  if (is_half) {
    Tensor rounded = head.weight.tensor();
    for (float& value : rounded.values) value = from_half(to_half(value));
    head.weight = std::move(rounded);
  }
  return head;
}

/// Returns queries of an item, without its padding, at equal distances.
std::vector<std::uint32_t> spread_rows(const model::TokenBatch& tokens, std::uint32_t item) {
  const std::uint32_t length = tokens.end(item) - tokens.start(item);
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
  model::TokenBatch one{.batch = 1,
                        .length = tokens.length,
                        .lengths = {tokens.end(item) - tokens.start(item)},
                        .starts = {tokens.start(item)}};
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
  // the rules refer to the interventions
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
  attention::TileRequest inputs(Stage stage, std::uint32_t token, std::uint32_t tokens) const;

  /// Take consecutive tokens' q or k, or the layer's input x, which these are projections of.
  void put_queries(const attention::Tile& tile);
  void put_keys(std::span<const float> vectors, std::uint32_t token) { put(vectors, token, stages_[Stage::K]); }
  void put_memory(const Array& memory, std::uint32_t token) { put(projected(key_, memory), token, stages_[Stage::K]); }
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
  inference::Interventions interventions_;
  reference::PassRules rules_;
  std::vector<std::uint32_t> rows_;
  HeadProjection query_, key_;               ///< unused without weights
  Array q_;                                  ///< [1, 1, token, d_k] of the rows that are compared
  reference::AttentionStages stages_;        ///< all of K, and one row of Q
  std::map<Stage, Array> distance_vectors_;  ///< [row, d_k] of each term that distances add
};

HeadReference::HeadReference(const VerificationQuestion& question, const AnalysisSubject& subject)
    : question_(question),
      subject_(subject),
      layer_(subject.network->layer(question.block)),
      shape_(subject.shapes.at(question.block)),
      interventions_(interventions_of(*subject.inputs, *subject.network)),
      rules_(reference_rules(*subject.network, *subject.input, subject.inputs->masks, interventions_)),
      rows_(spread_rows(subject.input->queries(question.block.kind), question.batch)),
      q_(reference::zeros({1, 1, shape_.queries, shape_.d_k})) {
  stages_[Stage::K] = reference::zeros({1, 1, shape_.keys, shape_.d_k});
  if (!layer_.weights) return;
  const bool is_half = precision_of(subject.inputs->source) == inference::Precision::F16;
  const std::uint32_t kv_head = shape_.matrix_of(Stage::K, question.head);
  const model::AttentionWeights& weights = *layer_.weights;
  query_ = projection(weights.query, weights.query_norm, question.head, shape_.heads, is_half);
  key_ = projection(weights.key, weights.key_norm, kv_head, shape_.kv_heads, is_half);
  for (const Stage stage : {Stage::ContentPosition, Stage::PositionContent}) {
    if (!shape_.extent(stage)) continue;
    const model::DistanceVectors& distances = subject.network->layers->distances[*layer_.config.distances];
    Array& vectors = distance_vectors_[stage] = reference::widen(distances.table);
    if (!distances.is_projected) continue;
    const model::Linear& projection = *reference::distance_projection(layer_, stage);
    vectors = reference::apply(rows_of(projection, question.head * shape_.d_k, shape_.d_k, is_half), vectors);
  }
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

attention::TileRequest HeadReference::inputs(Stage stage, std::uint32_t token, std::uint32_t tokens) const {
  return {.block = question_.block,
          .batch = question_.batch,
          .head = question_.head,
          .stage = stage,
          .row = token,
          .rows = chunk(token, tokens),
          .columns = stage == Stage::X ? shape_.d_model : shape_.d_k};
}

void HeadReference::put_queries(const attention::Tile& tile) {
  const std::uint32_t token = tile.request.row, width = tile.request.columns;
  if (!has_weights()) return put(tile.values, token, q_);
  for (const std::uint32_t row : rows_) {
    if (row < token || row >= token + tile.request.rows) continue;
    const std::span<const float> one = std::span(tile.values).subspan(std::size_t{row - token} * width, width);
    put(projected(query_, rows_to_array(one, width)), row, q_);
  }
  if (!has_memory()) put(projected(key_, rows_to_array(tile.values, width)), token, stages_[Stage::K]);
}

void HeadReference::rotate() {
  if (!layer_.weights || !layer_.config.rotary) return;
  const model::Rotary& rotary = subject_.network->layers->rotaries[*layer_.config.rotary];
  q_ = rotated(rotary, subject_.input->queries(question_.block.kind), question_.batch, std::move(q_));
  Array& k = stages_[Stage::K];
  k = rotated(rotary, subject_.input->keys(question_.block.kind), question_.batch, std::move(k));
}

std::vector<double> HeadReference::weights_of(std::uint32_t row) {
  const double* q = q_.values.data() + std::size_t{row} * shape_.d_k;
  stages_[Stage::Q] = {.shape = {1, 1, 1, shape_.d_k}, .values = {q, q + shape_.d_k}};
  for (const auto& [stage, vectors] : distance_vectors_) {
    const model::DistanceVectors& distances = subject_.network->layers->distances[*layer_.config.distances];
    const double* keys = stages_[Stage::K].values.data();
    stages_[stage] = {.shape = {1, 1, 1, shape_.keys},
                      .values = reference::distance_row(stage, distances, vectors, row, q, keys, shape_.keys)};
  }
  reference::Attention attention = attention_of(*subject_.network, *subject_.input, rules_, question_.block);
  attention.item = question_.batch;
  attention.head = question_.head;
  attention.query = row;
  return std::move(attention_row(attention, stages_, 0, 0, 0)[Stage::Weights]);
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
    reads.tiles.push_back(head.inputs(head.has_weights() ? Stage::X : Stage::Q, token, shape.queries));
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
      reads.tiles.push_back(head.inputs(Stage::K, token, shape.keys));
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
