#include "app/analyses/head_verification.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "app/state/run_interventions.h"
#include "core/error.h"
#include "core/half.h"
#include "inference/mask_tokens.h"
#include "model/reference_layers.h"

namespace headlight::app {
namespace {

namespace reference = model::reference;
using reference::Array;

constexpr std::uint32_t kMostRows = 64;
constexpr std::size_t kMultiplyAddsOfAStep = 8'000'000;  // about 10 ms of a processor's plain loops

/// Rows of one head, as the device keeps them.
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

/// Queries of an item, without its padding.
std::vector<std::uint32_t> spread_rows(const model::TokenBatch& tokens, std::uint32_t item) {
  const std::uint32_t length = tokens.lengths.empty() ? tokens.length : tokens.lengths[item];
  const std::uint32_t count = std::min(length, kMostRows);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t row = count < 2 ? 0 : std::uint64_t{i} * (length - 1) / (count - 1);
    rows.push_back(tokens.start(item) + static_cast<std::uint32_t>(row));
  }
  return rows;
}

/// One item's vectors [1, 1, token, d], rotated by its tokens' positions.
Array rotated(const model::Rotary& rotary, const model::TokenBatch& tokens, std::uint32_t item, Array x) {
  model::TokenBatch one{.batch = 1, .length = tokens.length, .starts = {tokens.start(item)}};
  if (!tokens.lengths.empty()) one.lengths = {tokens.lengths[item]};
  for (std::uint32_t token = 0; token < tokens.length; ++token) one.positions.push_back(tokens.position(item, token));
  return reference::rotate(rotary, one, std::move(x));
}

/// Reads the layer's input a chunk of tokens at a time, then the weights a row at a time.
class VerificationTask final : public AnalysisTask {
 public:
  VerificationTask(const AnalysisQuery& query, const AnalysisSubject& subject)
      : subject_(subject),
        block_(query.block),
        item_(query.batch),
        head_(query.head),
        layer_(subject.network->layer(query.block)),
        shape_(subject.shapes.at(query.block)),
        mask_(attention::in_layer(subject.inputs->masks[query.block.kind], layer_.config)),
        tokens_(*subject.network, *subject.input, query.block.kind, mask_),
        rows_(spread_rows(subject.input->queries(query.block.kind), query.batch)) {
    q_ = reference::zeros({1, 1, shape_.queries, shape_.d_k});
    k_ = reference::zeros({1, 1, shape_.keys, shape_.d_k});
    found_.rows = static_cast<std::uint32_t>(rows_.size());
    if (!layer_.weights) return;
    const bool is_half = precision_of(subject.inputs->source) == inference::Precision::F16;
    const std::uint32_t kv_head = head_ / (shape_.heads / shape_.kv_heads);
    query_ = rows_of(layer_.weights->query, head_ * shape_.d_k, shape_.d_k, is_half);
    key_ = rows_of(layer_.weights->key, kv_head * shape_.d_k, shape_.d_k, is_half);
  }

  Reads next(std::size_t most_cells) override {
    if (part_ == Part::Queries) {
      const attention::Stage stage = layer_.weights ? attention::Stage::X : attention::Stage::Q;
      return {.tiles = {inputs(stage, shape_.queries, layer_.weights ? shape_.d_model : shape_.d_k, most_cells)}};
    }
    if (part_ == Part::Keys && !layer_.weights) {
      return {.tiles = {inputs(attention::Stage::K, shape_.keys, shape_.d_k, most_cells)}};
    }
    if (part_ == Part::Keys && !subject_.network->layers->encoder.empty()) {
      return {.residuals = {{.stack = inference::Stack::Encoder,
                             .layer = static_cast<std::uint32_t>(subject_.network->layers->encoder.size()),
                             .batch = item_,
                             .first = token_,
                             .count = chunk(shape_.keys, most_cells)}}};
    }
    if (part_ != Part::Rows) return {};
    return {.tiles = {{.block = block_,
                       .batch = item_,
                       .head = head_,
                       .row = rows_[found_.checked],
                       .rows = 1,
                       .columns = shape_.keys}}};
  }

  void take(const Answers& answers) override {
    switch (part_) {
      case Part::Queries:
        return take_queries(answers.tiles.front());
      case Part::Keys:
        return take_keys(answers);
      case Part::Rotation:
        return rotate();
      case Part::Rows:
        return compare(answers.tiles.front());
    }
  }

  bool is_done() const override { return part_ == Part::Rows && found_.checked == found_.rows; }
  std::shared_ptr<const AnalysisResult> result() const override {
    return found_.checked == 0 ? nullptr : std::make_shared<const HeadVerification>(found_);
  }

 private:
  enum class Part : std::uint8_t { Queries, Keys, Rotation, Rows };

  /// The self-attention's keys come from the same x as its queries.
  bool has_memory() const { return block_.kind == model::BlockKind::Cross; }

  std::uint32_t chunk(std::uint32_t tokens, std::size_t most_cells) const {
    const std::size_t width = shape_.has_input ? shape_.d_model : shape_.d_k;
    const std::size_t at_once = std::min(most_cells / width, kMultiplyAddsOfAStep / (width * shape_.d_k));
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(at_once, 1, tokens - token_));
  }
  attention::TileRequest inputs(attention::Stage stage, std::uint32_t tokens, std::uint32_t width,
                                std::size_t most_cells) const {
    return {.block = block_,
            .batch = item_,
            .head = head_,
            .stage = stage,
            .row = token_,
            .rows = chunk(tokens, most_cells),
            .columns = width};
  }

  static Array rows_to_array(const std::vector<float>& values, std::uint32_t width) {
    return {.shape = {1, static_cast<std::uint32_t>(values.size() / width), width},
            .values = {values.begin(), values.end()}};
  }
  /// Vectors of consecutive tokens, to `to` [1, 1, token, d_k].
  void put(Array vectors, std::uint32_t token, Array& to) const {
    std::ranges::copy(vectors.values, to.values.begin() + static_cast<std::ptrdiff_t>(std::size_t{token} * shape_.d_k));
  }
  Array projected(const model::Linear& linear, const std::optional<model::Norm>& norm, const Array& x) const {
    return reference::apply(norm, reference::apply(linear, x));
  }

  void take_queries(const attention::Tile& tile) {
    const std::uint32_t count = tile.request.rows;
    Array x = rows_to_array(tile.values, tile.request.columns);
    if (!layer_.weights) {
      put(std::move(x), token_, q_);
    } else {
      for (const std::uint32_t row : rows_) {
        if (row < token_ || row >= token_ + count) continue;
        const std::size_t width = tile.request.columns;
        const auto first = x.values.begin() + static_cast<std::ptrdiff_t>((row - token_) * width);
        const Array one{.shape = {1, 1, tile.request.columns},
                        .values = {first, first + static_cast<std::ptrdiff_t>(width)}};
        put(projected(query_, layer_.weights->query_norm, one), row, q_);
      }
      if (!has_memory()) put(projected(key_, layer_.weights->key_norm, x), token_, k_);
    }
    token_ += count;
    if (token_ < shape_.queries) return;
    token_ = 0;
    part_ = layer_.weights && !has_memory() ? Part::Rotation : Part::Keys;
  }

  void take_keys(const Answers& answers) {
    std::uint32_t count = 0;
    if (!layer_.weights) {
      count = answers.tiles.front().request.rows;
      put(rows_to_array(answers.tiles.front().values, shape_.d_k), token_, k_);
    } else {
      Array memory;
      if (answers.residuals.empty()) {  // cross-attention alone: its memory is an input
        count = shape_.keys;
        memory = reference::embed(subject_.network->source_embedding.get(), subject_.input->source);
        const std::size_t width = memory.shape.back();
        const auto first = memory.values.begin() + static_cast<std::ptrdiff_t>(item_ * count * width);
        memory = {.shape = {1, count, memory.shape.back()},
                  .values = {first, first + static_cast<std::ptrdiff_t>(count * width)}};
      } else {
        const Tensor& states = answers.residuals.front();
        count = states.axis(0);
        memory = reference::apply(subject_.network->layers->encoder_norm, rows_to_array(states.values, states.axis(1)));
      }
      put(projected(key_, layer_.weights->key_norm, memory), token_, k_);
    }
    token_ += count;
    if (token_ < shape_.keys) return;
    token_ = 0;
    part_ = Part::Rotation;
  }

  void rotate() {
    part_ = Part::Rows;
    if (!layer_.weights || !layer_.config.rotary) return;
    const model::Rotary& rotary = subject_.network->layers->rotaries[*layer_.config.rotary];
    q_ = rotated(rotary, subject_.input->queries(block_.kind), item_, std::move(q_));
    k_ = rotated(rotary, subject_.input->keys(block_.kind), item_, std::move(k_));
  }

  /// The reference's weights of one query.
  std::vector<double> reference_row(std::uint32_t row) {
    reference::AttentionStages stages;
    const auto first = q_.values.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * shape_.d_k);
    stages.q = {.shape = {1, 1, 1, shape_.d_k}, .values = {first, first + static_cast<std::ptrdiff_t>(shape_.d_k)}};
    stages.k = std::move(k_);
    stages.v = reference::zeros({1, 1, shape_.keys, 1});
    model::AttentionConfig config = layer_.config;
    config.heads = config.kv_heads = 1;
    config.window = 0;  // it is part of the mask
    const attention::ExpressionMap map = tokens_.map(block_.layer.value, item_, head_);
    const model::TokenBatch& keys = subject_.input->keys(block_.kind);
    const std::uint32_t begin = keys.start(item_);
    const attention::KeyRange range(begin, begin + (keys.lengths.empty() ? keys.length : keys.lengths[item_]));
    const auto replaced = subject_.inputs->patterns.find({block_, head_});
    const auto pattern = replaced == subject_.inputs->patterns.end() ? std::nullopt : std::optional(replaced->second);
    const attention::KeyRange pattern_keys = mask_.rule.key_padding ? range : attention::KeyRange(keys.length);
    const auto is_visible = [&](model::BlockRef, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t key) {
      return mask_.is_visible(map, item_, {row, key}, range) &&
             (!pattern || attention::shows(*pattern, row, key, pattern_keys));
    };
    const auto& biases = subject_.network->layers->position_biases;
    const auto edit = [&](model::BlockRef, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t key, double score) {
      if (layer_.config.position_bias) {
        score += biases[*layer_.config.position_bias].value(head_, std::int64_t{key} - std::int64_t{row});
      }
      const double edited = mask_.score(map, item_, {row, key}, score);
      return pattern ? attention::score_of(*pattern, {row, key}, edited) : edited;
    };
    const double fill = static_cast<double>(attention::fill_value(mask_.fill));
    const auto dropout = weight_dropout(subject_.inputs->dropout, block_);
    const auto kept = [&](model::BlockRef, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t key, double weight) {
      return dropout ? weight * static_cast<double>(dropout->factor_of(item_, head_, row, key)) : weight;
    };
    reference::attend(config, block_, is_visible, fill, stages, nullptr, {}, edit, kept);
    k_ = std::move(stages.k);
    return std::move(stages.weights.values);
  }

  void compare(const attention::Tile& tile) {
    const std::uint32_t row = rows_[found_.checked];
    const std::vector<double> expected = reference_row(row);
    for (std::uint32_t key = 0; key < shape_.keys; ++key) {
      const double weight = double{tile.values[key]};
      const double difference = std::abs(weight - expected[key]);
      // A NaN is the largest, and stays.
      if (std::isnan(found_.largest) || difference <= found_.largest) continue;
      found_.largest = difference;
      found_.where = {row, key};
      found_.weight = weight;
      found_.reference_weight = expected[key];
    }
    found_.cells += shape_.keys;
    ++found_.checked;
  }

  AnalysisSubject subject_;
  model::BlockRef block_;
  std::uint32_t item_, head_;
  const model::AttentionLayer& layer_;
  inference::BlockShape shape_;
  attention::MaskSpec mask_;
  inference::MaskTokens tokens_;
  std::vector<std::uint32_t> rows_;
  model::Linear query_, key_;  ///< the head's; unused without weights
  Array q_, k_;                ///< [1, 1, token, d_k]; of q the rows that are compared
  Part part_ = Part::Queries;
  std::uint32_t token_ = 0;  ///< the next to read
  HeadVerification found_;
};

std::unique_ptr<AnalysisTask> begin_head_verification(const AnalysisQuery& query, const AnalysisSubject& subject) {
  const auto shape = subject.shapes.find(query.block);
  if (shape == subject.shapes.end() || query.batch >= shape->second.batch || query.head >= shape->second.heads) {
    throw Error("this run has no such head");
  }
  return std::make_unique<VerificationTask>(query, subject);
}

}  // namespace

constexpr Analysis kHeadVerification{
    .id = "head-verification", .title = "a head's weights in double precision", .begin = &begin_head_verification};

}  // namespace headlight::app
