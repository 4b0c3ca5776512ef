#include "app/quantities/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.h"
#include "model/site.h"

namespace headlight::app {
namespace {

/// Cells of one strip: 2 MiB of sums.
constexpr std::uint32_t kMeanStripCells = 1U << 18;

/// The factor that interventions give to a head's output.
double gain_of(const inference::Interventions& interventions, model::BlockRef block, std::uint32_t head) {
  double gain = 1.0;
  for (const inference::Intervention& intervention : interventions) {
    const auto* scale = std::get_if<inference::Scale>(&intervention.operation);
    const bool is_at_output = intervention.site == model::Site::HeadOutput && intervention.scope.covers(block);
    const bool is_of_head = !intervention.scope.head || *intervention.scope.head == head;
    if (scale != nullptr && is_at_output && is_of_head) gain *= double{scale->gain};
  }
  return gain;
}

/// One head of one block.
struct SummedHead {
  model::BlockRef block;
  std::uint32_t head = 0;
  double gain = 1.0;                      ///< of norms
  std::shared_ptr<HeadNorms> norms = {};  ///< null: the weights themselves count
};

/// The mean over sources of their weights, or of weights times norms.
class MeanOfHeads final : public Evaluation {
 public:
  MeanOfHeads(const TileQuery& query, const EvaluationSubject& subject, std::vector<SummedHead> sources);

  Step next(std::size_t most_cells) override;
  void take(std::vector<attention::Tile> tiles) override;
  bool is_done() const override { return row_ >= tile_.request.row + tile_.request.rows; }
  attention::Tile result() override { return std::move(tile_); }

 private:
  struct MissingValues {
    const SummedHead* source = nullptr;
    HeadNorms::Piece piece;
  };
  std::optional<MissingValues> missing_values() const;
  void begin_strip();
  void add(const SummedHead& source, const attention::Tile& head);
  void add_row_statistics();
  void end_strip();

  attention::Tile tile_;
  std::vector<SummedHead> sources_;
  std::map<model::BlockRef, std::uint32_t> widths_;  ///< d_v
  bool has_norms_ = false;
  std::uint32_t column_ = 0, columns_ = 0;  ///< of strips: means of weights need whole rows for their statistics
  std::uint32_t row_ = 0;                   ///< first row of the strip that is being added up
  std::uint32_t rows_ = 0;                  ///< of the strip
  std::size_t added_ = 0;                   ///< sources that are in the sums
  std::vector<double> sums_;                ///< [rows, columns]
  std::vector<std::uint8_t> masked_;        ///< [rows, columns], 1: in all heads so far
};

MeanOfHeads::MeanOfHeads(const TileQuery& query, const EvaluationSubject& subject, std::vector<SummedHead> sources)
    : sources_(std::move(sources)) {
  tile_.request = stage_request(query);
  if (sources_.empty()) throw Error("there is no head to take the mean of");
  for (const SummedHead& source : sources_) widths_[source.block] = subject.shapes.at(source.block).d_v;
  has_norms_ = sources_.front().norms != nullptr;
  column_ = has_norms_ ? query.column : 0;
  columns_ = has_norms_ ? query.columns : subject.shapes.at(query.block).keys;
  row_ = query.row;
  begin_strip();
}

void MeanOfHeads::begin_strip() {
  const attention::TileRequest& request = tile_.request;
  const std::uint32_t pools = std::max(kMeanStripCells / std::max(columns_, 1U) / request.pool, 1U);
  rows_ = std::min(pools * request.pool, request.row + request.rows - row_);
  added_ = 0;
  sums_.assign(std::size_t{rows_} * columns_, 0.0);
  masked_.assign(sums_.size(), 1);
}

std::optional<MeanOfHeads::MissingValues> MeanOfHeads::missing_values() const {
  for (const SummedHead& source : sources_) {
    if (!source.norms) continue;
    const auto piece = source.norms->missing(column_, column_ + columns_);
    if (piece) return MissingValues{.source = &source, .piece = *piece};
  }
  return std::nullopt;
}

Evaluation::Step MeanOfHeads::next(std::size_t most_cells) {
  Step step;
  const attention::TileRequest any{.batch = tile_.request.batch, .pool = 1};
  if (const auto missing = missing_values()) {
    attention::TileRequest values = any;
    values.block = missing->source->block;
    values.head = missing->source->head;
    values.stage = attention::Stage::V;
    values.row = missing->piece.first;
    values.rows = missing->piece.count;
    values.columns = widths_.at(values.block);
    step.requests.push_back(values);
    return step;
  }
  const std::size_t count =
      std::clamp<std::size_t>(most_cells / std::max<std::size_t>(sums_.size(), 1), 1, sources_.size() - added_);
  for (const SummedHead& source : std::span(sources_).subspan(added_, count)) {
    attention::TileRequest weights = any;
    weights.block = source.block;
    weights.head = source.head;
    weights.stage = attention::Stage::Weights;
    weights.row = row_;
    weights.rows = rows_;
    weights.column = column_;
    weights.columns = columns_;
    step.requests.push_back(weights);
  }
  return step;
}

void MeanOfHeads::take(std::vector<attention::Tile> tiles) {
  if (tiles.front().request.stage == attention::Stage::V) {
    const attention::TileRequest& read = tiles.front().request;
    const auto source = std::ranges::find_if(
        sources_, [&](const SummedHead& one) { return one.block == read.block && one.head == read.head; });
    return source->norms->take({.first = read.row, .count = read.rows}, tiles.front().values);
  }
  for (const attention::Tile& head : tiles) add(sources_[added_++], head);
  if (added_ < sources_.size()) return;
  end_strip();
  row_ += rows_;
  if (!is_done()) begin_strip();
}

void MeanOfHeads::add(const SummedHead& source, const attention::Tile& head) {
  for (std::uint32_t row = 0; row < rows_; ++row) {
    for (std::uint32_t column = 0; column < columns_; ++column) {
      const std::size_t cell = std::size_t{row} * columns_ + column;
      const double weight = double{head.values[cell]};
      const double factor =
          source.norms && weight != 0.0 ? source.gain * source.norms->norm(row_ + row, column_ + column) : 1.0;
      sums_[cell] += weight * factor;
      if (head.masked.empty() || head.masked[cell] == 0) masked_[cell] = 0;
    }
  }
}

void MeanOfHeads::add_row_statistics() {
  const auto heads = static_cast<double>(sources_.size());
  for (std::uint32_t row = 0; row < rows_; ++row) {
    const auto begin = sums_.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * columns_);
    const double largest = *std::max_element(begin, begin + columns_) / heads;
    tile_.row_max.push_back(0.0F);
    tile_.row_sum.push_back(largest > 0.0 ? static_cast<float>(1.0 / largest) : 0.0F);
  }
}

void MeanOfHeads::end_strip() {
  const attention::TileRequest& request = tile_.request;
  const auto heads = static_cast<double>(sources_.size());
  if (!has_norms_) add_row_statistics();
  const std::uint32_t first_column = request.column - column_, end_column = first_column + request.columns;
  for (std::uint32_t row = 0; row < rows_; row += request.pool) {
    for (std::uint32_t column = first_column; column < end_column; column += request.column_pool()) {
      double largest = 0.0, sum = 0.0;
      std::uint32_t cells = 0;
      bool is_masked = true;
      for (std::uint32_t r = row; r < std::min(row + request.pool, rows_); ++r) {
        for (std::uint32_t c = column; c < std::min(column + request.column_pool(), end_column); ++c) {
          const std::size_t cell = std::size_t{r} * columns_ + c;
          if (!(sums_[cell] <= largest) && !std::isnan(largest)) largest = sums_[cell];  // a NaN stays
          sum += sums_[cell];
          ++cells;
          is_masked = is_masked && masked_[cell] != 0;
        }
      }
      const double value = request.pooling == attention::Pooling::Mean ? sum / cells : largest;
      tile_.values.push_back(static_cast<float>(value / heads));
      tile_.masked.push_back(is_masked ? 1 : 0);
    }
  }
}

/// The heads that the quantity is the mean of: all of the query's kind or block, or the query's own.
std::vector<SummedHead> sources_of(const TileQuery& query, const BlockShapes& shapes) {
  const Scope scope = quantity(query.quantity).scope;
  if (scope == Scope::Head) return {{.block = query.block, .head = query.head}};
  std::vector<SummedHead> sources;
  for (const auto& [block, shape] : shapes) {
    const bool counts = scope == Scope::Kind ? block.kind == query.block.kind : block == query.block;
    for (std::uint32_t head = 0; counts && head < shape.heads; ++head) sources.push_back({.block = block, .head = head});
  }
  return sources;
}

}  // namespace

std::unique_ptr<Evaluation> begin_head_mean(const TileQuery& query, const EvaluationSubject& subject) {
  return std::make_unique<MeanOfHeads>(query, subject, sources_of(query, subject.shapes));
}

std::unique_ptr<Evaluation> begin_norms(const TileQuery& query, const EvaluationSubject& subject) {
  const EvaluationSubject::Side& run = subject.run;
  if (!run.network) throw Error("{} need a run", quantity(query.quantity).title);
  std::vector<SummedHead> sources = sources_of(query, subject.shapes);
  for (SummedHead& source : sources) {
    source.gain = std::abs(gain_of(run.interventions, source.block, source.head));
    source.norms = subject.norms->find(run.network, source.block, query.batch, source.head, run.versions.at(source.block),
                                       subject.shapes.at(source.block));
  }
  return std::make_unique<MeanOfHeads>(query, subject, std::move(sources));
}

}  // namespace headlight::app
