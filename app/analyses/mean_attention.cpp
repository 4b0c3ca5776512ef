#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "app/analyses/token_flow.h"
#include "attribution/rollout.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Edges that carry less are never drawn.
constexpr double kLeastShare = static_cast<double>(kLeastFlowThreshold);
/// Cells of one take(): some 10 ms.
constexpr std::size_t kMostCells = std::size_t{1} << 22;

/// Pipes of a flow at most.
constexpr double kMostPipes = static_cast<double>(std::size_t{1} << 22);

/// Reads the mean over heads of every layer's weights, from the last layer down, in strips of those rows that are reached.
class MeanReader : public AnalysisTask {
 public:
  MeanReader(const AnalysisQuery& query, const AnalysisSubject& subject)
      : query_(query), shapes_(subject.shapes), layer_(static_cast<std::uint32_t>(subject.network->layers->encoder.size())) {
    found_.layers = layer_--;
    found_.start = query.query;
    found_.inputs.resize(shape().keys);
    row_ = query.query;
  }

  Reads next(std::size_t most_cells) override {
    const std::size_t per_row = std::size_t{shape().heads} * shape().keys;
    const std::size_t rows = std::max<std::size_t>(std::min(most_cells, kMostCells) / per_row, 1);
    std::uint32_t end = row_ + 1;
    while (end < shape().queries && end - row_ < rows && is_reached(end)) ++end;
    Reads reads;
    for (std::uint32_t head = 0; head < shape().heads; ++head) {
      reads.tiles.push_back({.block = encoder_block(layer_),
                             .batch = query_.batch,
                             .head = head,
                             .stage = attention::Stage::Weights,
                             .row = row_,
                             .rows = end - row_,
                             .column = 0,
                             .columns = shape().keys});
    }
    return reads;
  }

  void take(const Answers& answers) override {
    const std::uint32_t rows = answers.tiles.front().request.rows;
    const std::size_t keys = shape().keys;
    std::vector<double> mean(rows * keys);
    for (const attention::Tile& head : answers.tiles) {
      for (std::size_t cell = 0; cell < mean.size(); ++cell) mean[cell] += double{head.values[cell]};
    }
    for (double& weight : mean) weight /= static_cast<double>(answers.tiles.size());
    for (std::uint32_t row = 0; row < rows; ++row) take_row(row_ + row, std::span(mean).subspan(row * keys, keys));
    row_ += rows;
    while (!has_read_ && !finds_row()) {
      row_ = 0;
      end_layer();
      if (layer_ == 0) {
        has_read_ = true;
      } else {
        --layer_;
      }
    }
  }
  std::shared_ptr<const AnalysisResult> result() const override {
    return is_done() ? std::make_shared<const TokenFlowFound>(found_) : nullptr;
  }

 protected:
  const AnalysisQuery& query() const { return query_; }
  std::uint32_t layer() const { return layer_; }
  const inference::BlockShape& shape() const { return shapes_.at(encoder_block(layer_)); }
  double residual_weight() const { return static_cast<double>(query_.options[0]) / 1000.0; }
  bool has_read() const { return has_read_; }
  TokenFlowFound& found() { return found_; }

 private:
  /// Does anything of layer() reach the query? Only such rows are read.
  virtual bool is_reached(std::uint32_t query) const = 0;
  /// Goes on to the next row of the layer that is reached; false: there is none.
  bool finds_row() {
    while (row_ < shape().queries && !is_reached(row_)) ++row_;
    return row_ < shape().queries;
  }

  /// The mean weights [keys] of one query of layer().
  virtual void take_row(std::uint32_t query, std::span<const double> weights) = 0;
  virtual void end_layer() = 0;

  AnalysisQuery query_;
  BlockShapes shapes_;
  std::uint32_t layer_;
  std::uint32_t row_ = 0;  ///< the next one
  bool has_read_ = false;  ///< all layers
  TokenFlowFound found_;
};

class RolloutTask final : public MeanReader {
 public:
  RolloutTask(const AnalysisQuery& query, const AnalysisSubject& subject)
      : MeanReader(query, subject), masses_(shape().keys), below_(shape().keys) {
    masses_[query.query] = 1.0;
  }
  bool is_done() const override { return has_read(); }

 private:
  bool is_reached(std::uint32_t query) const override { return masses_[query] != 0.0; }
  void take_row(std::uint32_t query, std::span<const double> weights) override {
    attribution::roll_down(masses_[query], layer(), query, weights, residual_weight(), kLeastShare, below_, found().edges);
  }
  void end_layer() override {
    masses_ = std::exchange(below_, std::vector<double>(below_.size()));
    if (layer() == 0) found().inputs = masses_;
  }

  std::vector<double> masses_, below_;  ///< [token] after and before the layer
};

class FlowTask final : public MeanReader {
 public:
  FlowTask(const AnalysisQuery& query, const AnalysisSubject& subject)
      : MeanReader(query, subject),
        flow_(layer() + 1, shape().keys, query.query, std::min(query.options[1], shape().keys - 1)) {}

  /// Once the capacities are known, a flow takes a round; a step reads at least one cell.
  Reads next(std::size_t most_cells) override {
    if (!has_read()) return MeanReader::next(most_cells);
    return {.tiles = {{.block = encoder_block(0), .batch = query().batch, .rows = 1, .columns = 1}}};
  }
  void take(const Answers& answers) override {
    if (!has_read()) return MeanReader::take(answers);
    is_done_ = flow_.step();
    if (!is_done_) return;
    attribution::TokenFlow flow = flow_.result(kLeastShare);
    found().inputs[std::min(query().options[1], shape().keys - 1)] = flow.value;
    found().edges = std::move(flow.edges);
  }
  bool is_done() const override { return is_done_; }

 private:
  bool is_reached(std::uint32_t query) const override { return flow_.is_reached(query); }
  void take_row(std::uint32_t query, std::span<const double> weights) override {
    capacities_.assign(weights.begin(), weights.end());
    for (double& capacity : capacities_) capacity *= 1.0 - residual_weight();
    capacities_[query] += residual_weight();
    flow_.add(query, capacities_);
  }
  void end_layer() override { flow_.end_layer(); }

  attribution::LargestFlow flow_;
  std::vector<double> capacities_;  ///< [key] of one query
  bool is_done_ = false;
};

void check(const AnalysisQuery& query, const AnalysisSubject& subject, std::uint32_t most_tokens) {
  const model::Layers& layers = *subject.network->layers;
  if (layers.encoder.empty() || !layers.decoder.empty()) throw Error("only models with one stack are followed");
  const inference::BlockShape& shape = subject.shapes.at(encoder_block(0));
  if (query.batch >= shape.batch || query.query >= shape.queries) throw Error("this run has no such token");
  if (shape.queries != shape.keys) throw Error("queries and keys are different texts here");
  if (shape.keys > most_tokens) {
    throw Error("the text has {} tokens, and this is computed of at most {}", shape.keys, most_tokens);
  }
}

std::unique_ptr<AnalysisTask> begin_rollout(const AnalysisQuery& query, const AnalysisSubject& subject) {
  check(query, subject, kMostRolloutTokens);
  return std::make_unique<RolloutTask>(query, subject);
}

std::unique_ptr<AnalysisTask> begin_flow(const AnalysisQuery& query, const AnalysisSubject& subject) {
  check(query, subject, most_flow_tokens(static_cast<std::uint32_t>(subject.network->layers->encoder.size())));
  return std::make_unique<FlowTask>(query, subject);
}

}  // namespace

std::uint32_t most_flow_tokens(std::uint32_t layers) {
  const double between = std::max(static_cast<double>(layers) - 2.0, 1.0);
  return std::min(static_cast<std::uint32_t>(std::sqrt(kMostPipes / between)), kMostRolloutTokens);
}

constexpr Analysis kAttentionRollout{.id = "attention-rollout", .title = "attention rollout", .begin = &begin_rollout};
constexpr Analysis kAttentionFlow{.id = "attention-flow", .title = "attention flow", .begin = &begin_flow};

}  // namespace headlight::app
