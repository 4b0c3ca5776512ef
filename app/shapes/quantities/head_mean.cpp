#include "app/shapes/quantities/evaluation.h"

#include <variant>

#include "core/error.h"
#include "model/site.h"

namespace headlight::app {
namespace {

/// Cells of one strip: 2 MiB of sums.
constexpr std::uint32_t kMeanStripCells = 1U << 18;

/// Returns the factor that interventions give to a head's output.
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

/// Rows of a mean while it is summed up.
struct Strip {
  std::uint32_t row = 0, rows = 0;        ///< of the matrix
  std::uint32_t column = 0, columns = 0;  ///< means of weights need whole rows for their statistics
  std::vector<double> sums;               ///< [rows, columns]
  std::vector<std::uint8_t> masked;       ///< [rows, columns], 1: in all heads so far

  Strip(const attention::TileRequest& whole, std::uint32_t first_row, std::uint32_t first_column, std::uint32_t width);
  void add(const SummedHead& source, const attention::Tile& head);
  void add_row_statistics(double heads, attention::Tile& tile) const;
  /// Pools the means, which are sums of so many heads.
  void end(double heads, attention::Tile& tile) const;
};

Strip::Strip(const attention::TileRequest& whole, std::uint32_t first_row, std::uint32_t first_column, std::uint32_t width)
    : row(first_row), column(first_column), columns(width) {
  const std::uint32_t pools = std::max(kMeanStripCells / std::max(columns, 1U) / whole.pool, 1U);
  rows = std::min(pools * whole.pool, whole.row + whole.rows - row);
  sums.assign(std::size_t{rows} * columns, 0.0);
  masked.assign(sums.size(), 1);
}

void Strip::add(const SummedHead& source, const attention::Tile& head) {
  for (std::uint32_t r = 0; r < rows; ++r) {
    for (std::uint32_t c = 0; c < columns; ++c) {
      const std::size_t cell = std::size_t{r} * columns + c;
      const double weight = double{head.values[cell]};
      const double factor = source.norms && weight != 0.0 ? source.gain * source.norms->norm(row + r, column + c) : 1.0;
      sums[cell] += weight * factor;
      if (head.masked.empty() || head.masked[cell] == 0) masked[cell] = 0;
    }
  }
}

void Strip::add_row_statistics(double heads, attention::Tile& tile) const {
  for (std::uint32_t r = 0; r < rows; ++r) {
    const auto begin = sums.begin() + static_cast<std::ptrdiff_t>(std::size_t{r} * columns);
    const double largest = *std::max_element(begin, begin + columns) / heads;
    if (std::ranges::count(std::span(masked).subspan(std::size_t{r} * columns, columns), 0) > 1)
      tile.largest = std::max(tile.largest, static_cast<float>(largest));
    tile.row_max.push_back(0.0F);
    tile.row_sum.push_back(largest > 0.0 ? static_cast<float>(1.0 / largest) : 0.0F);
  }
}

void Strip::end(double heads, attention::Tile& tile) const {
  const attention::TileRequest& request = tile.request;
  const std::uint32_t first_column = request.column - column, end_column = first_column + request.columns;
  for (std::uint32_t top = 0; top < rows; top += request.pool) {
    for (std::uint32_t left = first_column; left < end_column; left += request.column_pool()) {
      double largest = 0.0, sum = 0.0;
      std::uint32_t cells = 0;
      bool is_masked = true;
      for (std::uint32_t r = top; r < std::min(top + request.pool, rows); ++r) {
        for (std::uint32_t c = left; c < std::min(left + request.column_pool(), end_column); ++c) {
          const std::size_t cell = std::size_t{r} * columns + c;
          if (!(sums[cell] <= largest) && !std::isnan(largest)) largest = sums[cell];  // a NaN stays
          sum += sums[cell];
          ++cells;
          is_masked = is_masked && masked[cell] != 0;
        }
      }
      const double value = request.pooling == attention::Pooling::Mean ? sum / cells : largest;
      tile.values.push_back(static_cast<float>(value / heads));
      tile.masked.push_back(is_masked ? 1 : 0);
    }
  }
}

/// Evaluates the mean over sources of their weights, or of weights times norms.
Evaluation mean_of(TileQuery query, EvaluationSubject subject, std::vector<SummedHead> sources) {
  if (sources.empty()) throw Error("there is no head to take the mean of");
  attention::Tile tile;
  tile.request = stage_request(query);
  const bool has_norms = sources.front().norms != nullptr;
  const std::uint32_t column = has_norms ? query.column : 0;
  const std::uint32_t columns = has_norms ? query.columns : subject.shapes.at(query.block).keys;
  for (const SummedHead& source : sources) {
    const auto missing = [&] { return source.norms ? source.norms->missing(column, column + columns) : std::nullopt; };
    while (const auto piece = missing()) {
      Reads reads{.of = subject.of};
      reads.tiles.push_back({.block = source.block,
                             .batch = query.batch,
                             .head = source.head,
                             .stage = attention::Stage::V,
                             .row = piece->first,
                             .rows = piece->count,
                             .columns = subject.shapes.at(source.block).d_v});
      const Answers read = co_await std::move(reads);
      source.norms->take(*piece, read.tiles.front().values);
    }
  }
  const auto heads = static_cast<double>(sources.size());
  for (std::uint32_t row = query.row; row < query.row + query.rows;) {
    Strip strip(tile.request, row, column, columns);
    const std::size_t at_once = std::max<std::size_t>(subject.most_cells / std::max<std::size_t>(strip.sums.size(), 1), 1);
    for (std::size_t first = 0; first < sources.size();) {
      Reads reads{.of = subject.of};
      for (std::size_t at = first; at < std::min(first + at_once, sources.size()); ++at) {
        reads.tiles.push_back({.block = sources[at].block,
                               .batch = query.batch,
                               .head = sources[at].head,
                               .stage = attention::Stage::Weights,
                               .row = row,
                               .rows = strip.rows,
                               .column = column,
                               .columns = columns});
      }
      const Answers read = co_await std::move(reads);
      for (const attention::Tile& head : read.tiles) strip.add(sources[first++], head);
    }
    if (!has_norms) strip.add_row_statistics(heads, tile);
    strip.end(heads, tile);
    row += strip.rows;
  }
  co_return tile;
}

/// Returns the heads that the quantity is the mean of: all of the query's kind or block, or the query's own.
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

Evaluation head_mean_tile(const TileQuery& query, const EvaluationSubject& subject) {
  return mean_of(query, subject, sources_of(query, subject.shapes));
}

Evaluation norms_tile(const TileQuery& query, const EvaluationSubject& subject) {
  const EvaluationSubject::Side& run = subject.run;
  if (!run.network) throw Error("{} need a run", quantity(query.quantity).title);
  std::vector<SummedHead> sources = sources_of(query, subject.shapes);
  for (SummedHead& source : sources) {
    source.gain = std::abs(gain_of(run.interventions, source.block, source.head));
    source.norms = subject.norms->find(run.network, source.block, query.batch, source.head, run.versions.at(source.block),
                                       subject.shapes.at(source.block));
  }
  return mean_of(query, subject, std::move(sources));
}

}  // namespace headlight::app
