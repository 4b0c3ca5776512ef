#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "app/analyses/token_flow.h"
#include "attribution/additive_stack.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Multiply-adds of one take(): some 10 ms.
constexpr std::size_t kWorkAtOnce = std::size_t{8} << 20;

/// Consecutive tokens.
struct TokenRun {
  std::uint32_t first = 0, count = 0;
};

std::vector<TokenRun> runs_of(const std::vector<std::uint32_t>& tokens) {
  std::vector<TokenRun> runs;
  for (const std::uint32_t token : tokens) {
    if (!runs.empty() && runs.back().first + runs.back().count == token) {
      ++runs.back().count;
    } else {
      runs.push_back({.first = token, .count = 1});
    }
  }
  return runs;
}

/// Row `index` of a tile, as it is.
std::span<const float> row_of(const attention::Tile& tile, std::uint32_t index) {
  return std::span(tile.values).subspan(std::size_t{index} * tile.request.columns, tile.request.columns);
}

class RoutesTask final : public AnalysisTask {
 public:
  RoutesTask(const AnalysisQuery& query, AnalysisSubject subject) : query_(query), subject_(std::move(subject)) {
    found_.layers = static_cast<std::uint32_t>(subject_.network->layers->encoder.size());
    found_.start = query.query;
    found_.shares.resize(found_.layers);
    layer_ = found_.layers - 1;
    reached_ = {query.query};
  }

  Reads next(std::size_t most_cells) override { return split_ ? next_keys(most_cells) : rows(); }
  void take(const Answers& answers) override { split_ ? take_keys(answers) : take_rows(answers); }
  bool is_done() const override { return is_done_; }
  std::shared_ptr<const AnalysisResult> result() const override {
    return is_done_ ? std::make_shared<const TokenFlowFound>(found_) : nullptr;
  }

 private:
  /// The keys of one head that are read together.
  struct Piece {
    std::uint32_t head = 0, first = 0, count = 0;
  };

  double least() const { return static_cast<double>(query_.options[0]) / 1000.0; }
  const inference::BlockShape& shape() const { return subject_.shapes.at(encoder_block(layer_)); }

  attention::TileRequest tile(attention::Stage stage, std::uint32_t row, std::uint32_t rows, std::uint32_t columns) const {
    return {
        .block = encoder_block(layer_), .batch = query_.batch, .stage = stage, .row = row, .rows = rows, .columns = columns};
  }

  /// The residual stream around the layer of every token that was reached, and what attention adds to it.
  Reads rows() const {
    Reads reads;
    for (const TokenRun& run : runs_of(reached_)) {
      reads.tiles.push_back(tile(attention::Stage::Output, run.first, run.count, shape().d_output));
      for (const std::uint32_t after : {layer_, layer_ + 1}) {
        reads.residuals.push_back({.layer = after, .batch = query_.batch, .first = run.first, .count = run.count});
      }
    }
    return reads;
  }

  void take_rows(const Answers& answers) {
    std::vector<attribution::TokenRows> tokens;
    const auto row = [](std::span<const float> values, std::size_t index, std::size_t width) {
      const std::span<const float> some = values.subspan(index * width, width);
      return std::vector<float>(some.begin(), some.end());
    };
    const std::vector<TokenRun> runs = runs_of(reached_);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::size_t width = shape().d_output;
      for (std::uint32_t at = 0; at < runs[i].count; ++at) {
        tokens.push_back({.token = runs[i].first + at,
                          .before = row(answers.residuals[2 * i].values, at, width),
                          .written = row(answers.tiles[i].values, at, width),
                          .after = row(answers.residuals[2 * i + 1].values, at, width)});
      }
    }
    split_.emplace(subject_.network->layer(encoder_block(layer_)), shape().keys, std::move(tokens));
    head_ = first_ = 0;
  }

  /// Keys of as many heads as one take() computes in time.
  std::vector<Piece> pieces(std::size_t most_cells) const {
    const std::size_t per_key = std::size_t{shape().d_output} * (shape().d_v + reached_.size());
    const std::size_t cells_per_key = shape().d_v + reached_.size();
    std::size_t keys = std::max<std::size_t>(std::min(kWorkAtOnce / per_key, most_cells / cells_per_key), 1);
    std::vector<Piece> result;
    std::uint32_t first = first_;
    for (std::uint32_t head = head_; head < shape().heads && keys > 0; ++head, first = 0) {
      const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(keys, shape().keys - first));
      result.push_back({.head = head, .first = first, .count = count});
      keys -= count;
    }
    return result;
  }

  Reads next_keys(std::size_t most_cells) {
    Reads reads;
    asked_ = pieces(most_cells);
    for (const Piece& piece : asked_) {
      attention::TileRequest& values =
          reads.tiles.emplace_back(tile(attention::Stage::V, piece.first, piece.count, shape().d_v));
      values.head = piece.head;
      for (const TokenRun& run : runs_of(reached_)) {
        attention::TileRequest& weights =
            reads.tiles.emplace_back(tile(attention::Stage::Weights, run.first, run.count, piece.count));
        weights.head = piece.head;
        weights.column = piece.first;
      }
    }
    return reads;
  }

  void take_keys(const Answers& answers) {
    std::size_t at = 0;
    for (const Piece& piece : asked_) {
      attention::Tile& values = answers.tiles[at++];
      scale(values.values, piece.head);
      std::vector<std::span<const float>> weights;
      for (const TokenRun& run : runs_of(reached_)) {
        const attention::Tile& rows = answers.tiles[at++];
        for (std::uint32_t row = 0; row < run.count; ++row) weights.push_back(row_of(rows, row));
      }
      split_->add(piece.head, piece.first, values.values, weights);
      first_ = piece.first + piece.count;
      head_ = piece.head;
      if (first_ == shape().keys) {
        first_ = 0;
        ++head_;
      }
    }
    if (head_ == shape().heads) end_layer();
  }

  /// By the user's gain of the head, which is applied to its output and so in no value.
  void scale(std::span<float> values, std::uint32_t head) const {
    const auto gain = subject_.inputs->gains.find({encoder_block(layer_), head});
    if (gain == subject_.inputs->gains.end()) return;
    for (float& value : values) value *= gain->second;
  }

  void end_layer() {
    found_.shares[layer_] = split_->shares(least());
    split_.reset();
    reached_ = attribution::reached_below(found_.shares[layer_], least());
    is_done_ = layer_ == 0 || reached_.empty();
    if (!is_done_) --layer_;
  }

  AnalysisQuery query_;
  AnalysisSubject subject_;
  TokenFlowFound found_;
  std::uint32_t layer_ = 0;
  std::vector<std::uint32_t> reached_;             ///< tokens after the layer, in order
  std::optional<attribution::LayerShares> split_;  ///< of the layer, while its keys are read
  std::uint32_t head_ = 0, first_ = 0;             ///< the next key
  std::vector<Piece> asked_;                       ///< by the last next()
  bool is_done_ = false;
};

std::unique_ptr<AnalysisTask> begin_flow_routes(const AnalysisQuery& query, const AnalysisSubject& subject) {
  const std::string why = attribution::why_not_additive(*subject.network);
  if (!why.empty()) throw Error("this model has no routes: {}", why);
  const inference::BlockShape& shape = subject.shapes.at(encoder_block(0));
  if (query.batch >= shape.batch || query.query >= shape.queries) throw Error("this run has no such token");
  return std::make_unique<RoutesTask>(query, subject);
}

}  // namespace

constexpr Analysis kFlowRoutes{.id = "flow-routes", .title = "information-flow routes", .begin = &begin_flow_routes};

}  // namespace headlight::app
