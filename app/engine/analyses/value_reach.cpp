#include "app/engine/analyses/value_reach.h"

namespace headlight::app {
namespace {

constexpr std::size_t kMaxReachCells = std::size_t{1} << 20;  ///< of all heads
constexpr std::size_t kReachCellsAtOnce = std::size_t{1} << 17;

/// Returns rows of all heads, those of padding aside.
std::vector<attention::TileRequest> rows_to_read(const ValueReachQuestion& question, const AnalysisSubject& subject) {
  std::vector<attention::TileRequest> matrices;
  std::size_t width = 0;
  const bool are_keys = attention::is_of_keys(question.stage);
  const model::TokenBatch& tokens = are_keys ? subject.input->keys(question.kind) : subject.input->queries(question.kind);
  for (const auto& [block, shape] : subject.shapes) {
    const auto extent = shape.extent(question.stage);
    if (block.kind != question.kind || !extent) continue;
    const attention::KeyRange real = real_tokens(tokens, question.batch, extent->rows);
    if (real.begin >= real.end) continue;
    for (std::uint32_t head = 0; head < shape.heads; head += are_keys ? shape.group() : 1) {
      matrices.push_back({.block = block,
                          .batch = question.batch,
                          .head = head,
                          .stage = question.stage,
                          .row = real.begin,
                          .rows = real.end - real.begin,
                          .columns = extent->columns});
      width += extent->columns;
    }
  }
  const std::size_t most_rows = std::max<std::size_t>(kMaxReachCells / std::max<std::size_t>(width, 1), 1);
  if (matrices.empty() || matrices.front().rows <= most_rows) return matrices;
  std::vector<attention::TileRequest> rows;
  for (const attention::TileRequest& matrix : matrices) {
    for (std::size_t i = 0; i < most_rows; ++i) {
      attention::TileRequest& row = rows.emplace_back(matrix);
      row.row += static_cast<std::uint32_t>((i + 1) * matrix.rows / most_rows - 1);
      row.rows = 1;
    }
  }
  return rows;
}

}  // namespace

Task<ValueReach> analyse(ValueReachQuestion question, AnalysisSubject subject) {
  const std::vector<attention::TileRequest> rows = rows_to_read(question, subject);
  ValueReach found;
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    Reads now, before{.of = WhichRun::Baseline};
    for (std::size_t cells = 0; end < rows.size() && (end == first || cells < kReachCellsAtOnce); ++end) {
      now.tiles.push_back(rows[end]);
      cells += rows[end].cells();
    }
    if (question.is_change) before.tiles = now.tiles;
    const Answers of_run = co_await std::move(now);
    Answers of_baseline;
    if (question.is_change) of_baseline = co_await std::move(before);
    for (std::size_t i = 0; i < of_run.tiles.size(); ++i) {
      const attention::Tile& tile = of_run.tiles[i];
      const bool hides = question.stage == attention::Stage::Masked;  // whose masked cells are the fill
      for (std::size_t cell = 0; cell < tile.values.size(); ++cell) {
        const float value = tile.values[cell] - (question.is_change ? of_baseline.tiles[i].values[cell] : 0.0F);
        const bool is_hidden = hides && !tile.masked.empty() && tile.masked[cell] != 0;
        if (std::isfinite(value) && !is_hidden) found.reach = std::max(found.reach, std::abs(value));
      }
    }
  }
  co_return found;
}

std::optional<ValueReachQuestion> reach_question(QuantityId id, model::BlockKind kind, std::uint32_t batch) {
  const attention::Stage stage = quantity(id).stage;
  const bool is_change = id == difference_of(stage);
  const bool has_signs = is_change || (id == QuantityId(stage) && quantity(id).colors == ColorKind::Diverging);
  if (!has_signs || !attention::is_per_head(stage)) return std::nullopt;
  return ValueReachQuestion{.kind = kind, .batch = batch, .stage = stage, .is_change = is_change};
}

}  // namespace headlight::app
