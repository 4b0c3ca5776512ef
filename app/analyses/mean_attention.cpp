#include <algorithm>
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

model::BlockRef block_of(std::uint32_t layer) { return {.kind = model::BlockKind::EncoderSelf, .layer = LayerIndex{layer}}; }

/// Reads the mean over heads of every layer's weights, from the last layer down, in strips of rows.
class MeanReader : public AnalysisTask {
 public:
  MeanReader(const AnalysisQuery& query, const AnalysisSubject& subject)
      : query_(query), shapes_(subject.shapes), layer_(static_cast<std::uint32_t>(subject.network->layers->encoder.size())) {
    found_.layers = layer_--;
    found_.start = query.query;
    found_.inputs.resize(shape().keys);
  }

  Reads next(std::size_t most_cells) override {
    const std::size_t per_row = std::size_t{shape().heads} * shape().keys;
    const std::size_t rows = std::max<std::size_t>(std::min(most_cells, kMostCells) / per_row, 1);
    Reads reads;
    for (std::uint32_t head = 0; head < shape().heads; ++head) {
      reads.tiles.push_back({.block = block_of(layer_),
                             .batch = query_.batch,
                             .head = head,
                             .stage = attention::Stage::Weights,
                             .row = row_,
                             .rows = static_cast<std::uint32_t>(std::min<std::size_t>(rows, shape().queries - row_)),
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
    if (row_ < shape().queries) return;
    row_ = 0;
    end_layer();
    if (layer_ == 0) {
      has_read_ = true;
    } else {
      --layer_;
    }
  }
  std::shared_ptr<const AnalysisResult> result() const override {
    return is_done() ? std::make_shared<const TokenFlowFound>(found_) : nullptr;
  }

 protected:
  const AnalysisQuery& query() const { return query_; }
  std::uint32_t layer() const { return layer_; }
  const inference::BlockShape& shape() const { return shapes_.at(block_of(layer_)); }
  double residual_weight() const { return static_cast<double>(query_.options[0]) / 1000.0; }
  bool has_read() const { return has_read_; }
  TokenFlowFound& found() { return found_; }

 private:
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
  void take_row(std::uint32_t query, std::span<const double> weights) override {
    if (masses_[query] == 0.0) return;
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
  FlowTask(const AnalysisQuery& query, const AnalysisSubject& subject) : MeanReader(query, subject) {
    capacities_.tokens = shape().keys;
    capacities_.layers.resize(found().layers);
  }

  /// Once the capacities are known, a flow takes a step; a step reads at least one cell.
  Reads next(std::size_t most_cells) override {
    if (!has_read()) return MeanReader::next(most_cells);
    return {.tiles = {{.block = block_of(0), .batch = query().batch, .rows = 1, .columns = 1}}};
  }
  void take(const Answers& answers) override {
    if (!has_read()) return MeanReader::take(answers);
    attribution::TokenFlow flow = attribution::largest_flow(capacities_, query().query, to_, kLeastShare);
    found().inputs[to_] = flow.value;
    if (to_ == query().options[1]) found().edges = std::move(flow.edges);
    ++to_;
  }
  bool is_done() const override { return to_ == capacities_.tokens; }

 private:
  void take_row(std::uint32_t query, std::span<const double> weights) override {
    std::vector<double>& matrix = capacities_.layers[layer()];
    for (const double weight : weights) matrix.push_back((1.0 - residual_weight()) * weight);
    matrix[std::size_t{query} * capacities_.tokens + query] += residual_weight();
  }
  void end_layer() override {}

  attribution::FlowCapacities capacities_;
  std::uint32_t to_ = 0;  ///< the token whose flow is next
};

void check(const AnalysisQuery& query, const AnalysisSubject& subject, std::uint32_t most_tokens) {
  const model::Layers& layers = *subject.network->layers;
  if (layers.encoder.empty() || !layers.decoder.empty()) throw Error("only models with one stack are followed");
  const inference::BlockShape& shape = subject.shapes.at(block_of(0));
  if (query.batch >= shape.batch || query.query >= shape.queries) throw Error("this run has no such token");
  if (shape.queries != shape.keys) throw Error("queries and keys are different texts here");
  if (shape.keys > most_tokens) {
    throw Error("the text has {} tokens, and this is computed of at most {}", shape.keys, most_tokens);
  }
}

template <typename Task, std::uint32_t most_tokens>
std::unique_ptr<AnalysisTask> begin(const AnalysisQuery& query, const AnalysisSubject& subject) {
  check(query, subject, most_tokens);
  return std::make_unique<Task>(query, subject);
}

}  // namespace

constexpr Analysis kAttentionRollout{
    .id = "attention-rollout", .title = "attention rollout", .begin = &begin<RolloutTask, kMostRolloutTokens>};
constexpr Analysis kAttentionFlow{
    .id = "attention-flow", .title = "attention flow", .begin = &begin<FlowTask, kMostFlowTokens>};

}  // namespace headlight::app
