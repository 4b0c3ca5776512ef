#include "app/shapes/quantities/evaluation.h"

#include <array>
#include <iterator>
#include <limits>

#include "core/error.h"
#include "inference/aligned_run.h"

namespace headlight::app {
namespace {

/// Cells of one submission, where the caller waits for it.
constexpr std::size_t kCellsAtOnce = std::size_t{1} << 21;

/// Returns rows or columns of whole squares of `pool` that `lines` of them have room for, at least one square, at most
/// `rest`.
std::uint32_t squares_in(std::size_t lines, std::uint32_t pool, std::uint32_t rest) {
  const std::size_t whole = std::max<std::size_t>(lines / pool, 1) * pool;
  return static_cast<std::uint32_t>(std::min<std::size_t>(whole, rest));
}

/// Returns the piece of a tile that begins at a row and a column: rows of squares, or some of one row where it has too many
/// cells.
attention::TileRequest piece_at(const attention::TileRequest& whole, std::uint32_t row, std::uint32_t column,
                                std::size_t most_cells) {
  attention::TileRequest piece = whole;
  const std::size_t rows_of_one = whole.sampled_rows > 0 ? whole.pool / whole.sampled_rows : 1;
  const std::size_t cells = std::min(most_cells, std::numeric_limits<std::size_t>::max() / rows_of_one) * rows_of_one;
  const std::uint32_t row_end = whole.row + whole.rows, column_end = whole.column + whole.columns;
  piece.row = row;
  piece.column = column;
  piece.rows = std::min(whole.pool, row_end - row);
  piece.columns = squares_in(cells / piece.rows, whole.column_pool(), column_end - column);
  if (piece.columns == whole.columns) piece.rows = squares_in(cells / piece.columns, whole.pool, row_end - row);
  return piece;
}

void place(const attention::Tile& piece, attention::Tile& tile) {
  const attention::TileRequest& whole = tile.request;
  const std::uint32_t width = whole.tile_columns();
  tile.values.resize(std::size_t{whole.tile_rows()} * width);
  if (!piece.masked.empty()) tile.masked.resize(tile.values.size());
  const std::uint32_t first_row = (piece.request.row - whole.row) / whole.pool;
  const std::uint32_t first_column = (piece.request.column - whole.column) / whole.column_pool();
  const std::uint32_t columns = piece.request.tile_columns();
  for (std::uint32_t row = 0; row < piece.request.tile_rows(); ++row) {
    const auto from = static_cast<std::ptrdiff_t>(std::size_t{row} * columns);
    const auto to = static_cast<std::ptrdiff_t>(std::size_t{first_row + row} * width + first_column);
    std::copy_n(piece.values.begin() + from, columns, tile.values.begin() + to);
    if (!piece.masked.empty()) std::copy_n(piece.masked.begin() + from, columns, tile.masked.begin() + to);
  }
  if (piece.request.column != whole.column) return;  // the first piece of a row of squares has brought them
  tile.row_max.insert(tile.row_max.end(), piece.row_max.begin(), piece.row_max.end());
  tile.row_sum.insert(tile.row_sum.end(), piece.row_sum.begin(), piece.row_sum.end());
}

/// Reads a tile of a run, in pieces where it has many cells.
Evaluation read_in_pieces(attention::TileRequest whole, WhichRun of, std::size_t most_cells) {
  attention::Tile tile;
  tile.request = whole;
  for (std::uint32_t row = whole.row, rows = 0; row < whole.row + whole.rows; row += rows) {
    for (std::uint32_t column = whole.column; column < whole.column + whole.columns;) {
      const attention::TileRequest piece = piece_at(whole, row, column, most_cells);
      Reads reads{.of = of};
      reads.tiles.push_back(piece);
      Answers read = co_await std::move(reads);
      if (piece.rows == whole.rows && piece.columns == whole.columns) {
        tile = std::move(read.tiles.front());
        tile.request = whole;
      } else {
        place(read.tiles.front(), tile);
      }
      rows = piece.rows;
      column += piece.columns;
    }
  }
  co_return tile;
}

/// The head whose largest weight is kept, so that other tiles of it need no further numbers.
struct KeptLargest {
  std::shared_ptr<HeadNormsCache> cache;  ///< null: none is kept
  std::shared_ptr<const model::Network> network;
  HeadNormsCache::Key key;
};

/// Sets Tile::largest. A row whose weight is on one key alone may see others, which the cells of some such rows say.
Evaluation with_largest_weight(Evaluation evaluation, WhichRun of, attention::KeyRange queries, std::uint32_t keys,
                               KeptLargest kept) {
  constexpr float kAlone = 1.0F + 1e-6F;  // the largest l of a row with all of its weight on one key
  constexpr std::size_t kMaxRowsRead = 16;
  attention::Tile tile = co_await std::move(evaluation);
  if (const auto known = kept.cache ? kept.cache->largest(kept.network.get(), kept.key) : std::nullopt) {
    tile.largest = *known;
    co_return tile;
  }
  const attention::TileRequest& request = tile.request;
  const auto part = [&](std::uint32_t row, std::uint32_t rows, std::uint32_t columns) {
    return attention::TileRequest{
        .block = request.block, .batch = request.batch, .head = request.head, .row = row, .rows = rows, .columns = columns};
  };
  attention::Tile column;
  const bool has_rows = request.row <= queries.begin && request.row + request.rows >= queries.end;
  if (!has_rows) {
    Reads reads{.of = of};
    reads.tiles.push_back(part(queries.begin, queries.end - queries.begin, 1));
    Answers read = co_await std::move(reads);
    column = std::move(read.tiles.front());
  }
  const attention::Tile& all = has_rows ? tile : column;
  const auto sees_more = [](std::span<const std::uint8_t> masked) { return std::ranges::count(masked, 0) > 1; };
  float least_sum = std::numeric_limits<float>::infinity();
  std::vector<std::uint32_t>
      unknown;  // rows whose weight is on one key, of which the tile doesn't tell whether they see others
  for (std::uint32_t row = queries.begin; row < queries.end && row - all.request.row < all.row_sum.size(); ++row) {
    const float sum = all.row_sum[row - all.request.row];
    const bool has_cells = request.is_exact() && !tile.masked.empty() && row - request.row < request.rows;
    if (sum > kAlone) {
      least_sum = std::min(least_sum, sum);
    } else if (sum > 0.0F && has_cells &&
               sees_more(
                   std::span(tile.masked).subspan(std::size_t{row - request.row} * request.columns, request.columns))) {
      least_sum = 1.0F;
    } else if (sum > 0.0F && !(has_cells && request.columns == keys)) {
      unknown.push_back(row);
    }
  }
  Reads reads{.of = of};
  const std::size_t step = std::max<std::size_t>(unknown.size() / kMaxRowsRead, 1);
  for (std::size_t i = 0; i < unknown.size() && least_sum > 1.0F; i += step)
    reads.tiles.push_back(part(unknown[i], 1, keys));
  if (!reads.tiles.empty()) {
    const Answers read = co_await std::move(reads);
    for (const attention::Tile& row : read.tiles) least_sum = sees_more(row.masked) ? 1.0F : least_sum;
  }
  tile.largest = 1.0F / least_sum;
  if (kept.cache) kept.cache->keep_largest(kept.network.get(), kept.key, tile.largest);
  co_return tile;
}

EvaluationSubject::Side side_of(const inference::Run& run) {
  EvaluationSubject::Side side{.network = run.inputs().network, .interventions = run.inputs().interventions};
  for (const model::BlockRef block : run.blocks()) {
    side.versions[block] = run.version(block);
    const model::TokenBatch& tokens = run.inputs().input.queries(block.kind);
    std::vector<attention::KeyRange>& queries = side.queries[block.kind];
    for (std::uint32_t item = static_cast<std::uint32_t>(queries.size()); item < tokens.lengths.size(); ++item)
      queries.emplace_back(tokens.start(item), tokens.end(item));
  }
  if (const auto* aligned = dynamic_cast<const inference::AlignedRun*>(&run)) side.pairs = aligned->pairs();
  return side;
}

}  // namespace

Evaluation stage_tile(const TileQuery& query, const EvaluationSubject& subject) {
  Evaluation tile = read_in_pieces(stage_request(query), subject.of, subject.most_cells);
  if (quantity(query.quantity).stage != attention::Stage::Weights || !subject.norms) return tile;
  const inference::BlockShape& shape = subject.shapes.at(query.block);
  attention::KeyRange queries(shape.queries);
  const auto known = subject.run.queries.find(query.block.kind);
  if (known != subject.run.queries.end() && query.batch < known->second.size()) queries = known->second[query.batch];
  if (queries.begin >= queries.end || queries.end > shape.queries) queries = shape.queries;
  KeptLargest kept;
  if (const auto version = subject.run.versions.find(query.block);
      version != subject.run.versions.end() && !subject.own_pass) {
    kept = {.cache = subject.norms,
            .network = subject.run.network,
            .key = {.block = query.block, .batch = query.batch, .head = query.head, .version = version->second}};
  }
  return with_largest_weight(std::move(tile), subject.of, queries, shape.keys, std::move(kept));
}

EvaluationSubject subject_of(const Runs& runs) {
  EvaluationSubject subject{.shapes = shapes_of(runs.run), .run = side_of(runs.run), .norms = runs.norms};
  if (runs.baseline != nullptr) subject.baseline = side_of(*runs.baseline);
  if (!subject.norms) subject.norms = std::make_shared<HeadNormsCache>();
  return subject;
}

EvaluationSubject baseline_of(const EvaluationSubject& subject) {
  EvaluationSubject baseline = subject;
  baseline.run = subject.baseline;
  baseline.of = WhichRun::Baseline;
  return baseline;
}

Task<std::vector<attention::Tile>> evaluate_together(std::vector<TileQuery> queries, EvaluationSubject subject,
                                                     EvaluationObserver observe) {
  constexpr std::array kRuns = {WhichRun::Newest, WhichRun::Baseline};
  subject.most_cells = std::max(subject.most_cells, kCellsAtOnce / std::max<std::size_t>(queries.size(), 1));
  std::vector<Evaluation> evaluations;
  for (const TileQuery& query : queries) {
    if (!is_inside(query, subject.shapes)) throw Error("the run has no such tile of {}", quantity(query.quantity).title);
    evaluations.push_back(quantity(query.quantity).evaluate(query, subject));
  }
  std::size_t cells = 0;
  for (bool is_done = false; !is_done;) {
    if (observe) observe(cells);
    is_done = true;
    for (const WhichRun of : kRuns) {
      Reads together{.of = of, .own_pass = subject.own_pass};
      std::vector<std::pair<Evaluation*, std::size_t>> asked;  // of how many tiles
      for (Evaluation& evaluation : evaluations) {
        if (evaluation.is_done()) continue;
        is_done = false;
        const Reads& reads = evaluation.reads();
        if (reads.of != of) continue;
        for (const attention::TileRequest& request : reads.tiles) cells += request.cells();
        asked.emplace_back(&evaluation, reads.tiles.size());
        std::ranges::copy(reads.tiles, std::back_inserter(together.tiles));
      }
      if (asked.empty()) continue;
      Answers answers = co_await std::move(together);
      auto next = std::make_move_iterator(answers.tiles.begin());
      for (const auto& [evaluation, count] : asked) {
        const auto end = next + static_cast<std::ptrdiff_t>(count);
        evaluation->take({.tiles = {next, end}});
        next = end;
      }
    }
  }
  std::vector<attention::Tile> results;
  for (const Evaluation& evaluation : evaluations) results.push_back(evaluation.answer());
  co_return results;
}

std::size_t end_of_group(std::span<const TileQuery> queries, std::size_t first) {
  constexpr std::size_t kCellsTogether = std::size_t{1} << 19;  // so that progress is reported
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
