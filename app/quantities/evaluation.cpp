#include "app/quantities/evaluation.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/error.h"
#include "inference/aligned_run.h"

namespace headlight::app {
namespace {

/// Cells up to which a tile is asked for at once whatever the caller does: what a text of 1,024 tokens has.
constexpr std::size_t kLeastCells = std::size_t{1} << 20;

/// Cells of one submission, where the caller waits for it.
constexpr std::size_t kCellsAtOnce = std::size_t{1} << 21;

/// A tile of a run, of many cells in pieces: rows of squares, and columns of them where one row is too many cells.
class StageEvaluation final : public Evaluation {
 public:
  explicit StageEvaluation(const TileQuery& query) : query_(stage_request(query)), row_(query_.row), column_(query_.column) {
    tile_.request = query_;
  }

  Step next(std::size_t most_cells) override {
    attention::TileRequest piece = query_;
    const std::size_t rows_of_one = query_.sampled_rows > 0 ? query_.pool / query_.sampled_rows : 1;
    const std::size_t most = std::numeric_limits<std::size_t>::max() / rows_of_one;
    const std::size_t cells = std::clamp(most_cells, kLeastCells, most) * rows_of_one;
    const std::uint32_t row_end = query_.row + query_.rows, column_end = query_.column + query_.columns;
    piece.row = row_;
    piece.column = column_;
    piece.rows = std::min(query_.pool, row_end - row_);
    piece.columns = squares_in(cells / piece.rows, query_.column_pool(), column_end - column_);
    const bool is_row = piece.column == query_.column && piece.columns == query_.columns;
    if (is_row) piece.rows = squares_in(cells / piece.columns, query_.pool, row_end - row_);
    return {.of = Of::Run, .requests = {piece}};
  }

  void take(std::vector<attention::Tile> tiles) override {
    attention::Tile& piece = tiles.front();
    const attention::TileRequest& at = piece.request;
    if (at.rows == query_.rows && at.columns == query_.columns) {
      tile_ = std::move(piece);
      tile_.request = query_;
    } else {
      place(piece);
    }
    column_ = at.column + at.columns;
    if (column_ < query_.column + query_.columns) return;
    column_ = query_.column;
    row_ = at.row + at.rows;
  }
  bool is_done() const override { return row_ >= query_.row + query_.rows; }
  attention::Tile result() override { return std::move(tile_); }

 private:
  /// Rows or columns of whole squares of `pool` that `lines` of them have room for, at least one square, at most `rest`.
  static std::uint32_t squares_in(std::size_t lines, std::uint32_t pool, std::uint32_t rest) {
    const std::size_t whole = std::max<std::size_t>(lines / pool, 1) * pool;
    return static_cast<std::uint32_t>(std::min<std::size_t>(whole, rest));
  }

  void place(const attention::Tile& piece) {
    const std::uint32_t width = query_.tile_columns();
    tile_.values.resize(std::size_t{query_.tile_rows()} * width);
    if (!piece.masked.empty()) tile_.masked.resize(tile_.values.size());
    const std::uint32_t first_row = (piece.request.row - query_.row) / query_.pool;
    const std::uint32_t first_column = (piece.request.column - query_.column) / query_.column_pool();
    const std::uint32_t columns = piece.request.tile_columns();
    for (std::uint32_t row = 0; row < piece.request.tile_rows(); ++row) {
      const auto from = static_cast<std::ptrdiff_t>(std::size_t{row} * columns);
      const auto to = static_cast<std::ptrdiff_t>(std::size_t{first_row + row} * width + first_column);
      std::copy_n(piece.values.begin() + from, columns, tile_.values.begin() + to);
      if (!piece.masked.empty()) std::copy_n(piece.masked.begin() + from, columns, tile_.masked.begin() + to);
    }
    if (piece.request.column != query_.column) return;  // the first piece of a row of squares has brought them
    tile_.row_max.insert(tile_.row_max.end(), piece.row_max.begin(), piece.row_max.end());
    tile_.row_sum.insert(tile_.row_sum.end(), piece.row_sum.begin(), piece.row_sum.end());
  }

  attention::TileRequest query_;
  attention::Tile tile_;
  std::uint32_t row_, column_;  ///< where the next piece begins
};

EvaluationSubject::Side side_of(const inference::Run& run) {
  EvaluationSubject::Side side{.network = run.inputs().network, .interventions = run.inputs().interventions};
  for (const model::BlockRef block : run.blocks()) side.versions[block] = run.version(block);
  if (const auto* aligned = dynamic_cast<const inference::AlignedRun*>(&run)) side.pairs = aligned->pairs();
  return side;
}

}  // namespace

std::unique_ptr<Evaluation> begin_stage(const TileQuery& query, const EvaluationSubject& /*subject*/) {
  return std::make_unique<StageEvaluation>(query);
}

EvaluationSubject subject_of(const Runs& runs) {
  EvaluationSubject subject{.shapes = shapes_of(runs.run), .run = side_of(runs.run), .norms = runs.norms};
  if (runs.reference != nullptr) subject.reference = side_of(*runs.reference);
  if (!subject.norms) subject.norms = std::make_shared<HeadNormsCache>();
  return subject;
}

attention::Tile evaluate(const Runs& runs, const TileQuery& query, const EvaluationObserver& observe) {
  return std::move(evaluate(runs, std::span(&query, 1), observe).front());
}

std::vector<attention::Tile> evaluate(const Runs& runs, std::span<const TileQuery> queries,
                                      const EvaluationObserver& observe) {
  const EvaluationSubject subject = subject_of(runs);
  std::vector<std::unique_ptr<Evaluation>> evaluations;
  for (const TileQuery& query : queries) {
    if (!is_inside(query, subject.shapes)) throw Error("the run has no such tile of {}", quantity(query.quantity).title);
    evaluations.push_back(quantity(query.quantity).begin(query, subject));
  }
  std::size_t cells = 0;
  while (true) {
    if (observe) observe(cells);
    bool is_done = true;
    for (const Evaluation::Of of : {Evaluation::Of::Run, Evaluation::Of::Reference}) {
      std::vector<attention::TileRequest> requests;
      std::vector<std::pair<Evaluation*, std::size_t>> asked;  // of how many requests
      for (const auto& evaluation : evaluations) {
        if (evaluation->is_done()) continue;
        is_done = false;
        const Evaluation::Step step = evaluation->next(kCellsAtOnce / evaluations.size());
        if (step.of != of) continue;
        for (const attention::TileRequest& request : step.requests) cells += request.cells();
        asked.emplace_back(evaluation.get(), step.requests.size());
        std::ranges::copy(step.requests, std::back_inserter(requests));
      }
      if (requests.empty()) continue;
      const inference::Run* run = of == Evaluation::Of::Run ? &runs.run : runs.reference;
      if (run == nullptr) throw Error("{} need a run to compare with", quantity(queries.front().quantity).title);
      std::vector<attention::Tile> tiles = run->evaluate(requests);
      auto next = std::make_move_iterator(tiles.begin());
      for (const auto& [evaluation, count] : asked) {
        const auto end = next + static_cast<std::ptrdiff_t>(count);
        evaluation->take({next, end});
        next = end;
      }
    }
    if (is_done) break;
  }
  std::vector<attention::Tile> results;
  for (const auto& evaluation : evaluations) results.push_back(evaluation->result());
  return results;
}

std::size_t end_of_group(std::span<const TileQuery> queries, std::size_t first) {
  constexpr std::size_t kCellsTogether = std::size_t{1} << 19;  // so that progress is told
  std::size_t end = first, cells = 0;
  while (end < queries.size() && (end == first || cells < kCellsTogether)) {
    cells += std::size_t{queries[end].rows} * queries[end].columns;
    ++end;
  }
  return end;
}

BlockShapes shapes_of(const inference::Run& run) {
  BlockShapes shapes;
  for (const model::BlockRef block : run.blocks()) shapes[block] = run.shape(block);
  return shapes;
}

}  // namespace headlight::app
