#include "app/analyses/changes.h"

#include "app/analyses/analysis.h"
#include "app/analyses/head_metrics.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Cells of one step, of each of both runs.
constexpr std::size_t kStepCells = std::size_t{1} << 17;

/// A head while its rows are compared.
struct ComparedHead {
  ChangedHead found;
  std::uint32_t rows = 0;  ///< that both runs have
};

/// Returns requests for all heads' maps, some rows at a time.
std::vector<attention::TileRequest> parts_of(std::uint32_t batch, const AnalysisSubject& subject) {
  std::vector<attention::TileRequest> parts;
  for (const auto& [block, shape] : subject.shapes) {
    if (batch >= shape.batch) throw Error("this run has {} lines", shape.batch);
    const attention::KeyRange queries = real_tokens(subject.input->queries(block.kind), batch, shape.queries);
    const attention::KeyRange keys = real_tokens(subject.input->keys(block.kind), batch, shape.keys);
    const std::uint32_t columns = keys.end - keys.begin;
    if (columns == 0) continue;
    const std::vector<RowStrip> strips = in_parts(measured_rows(queries, columns), kStepCells / columns);
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      for (const RowStrip& strip : strips) parts.push_back(weights_of({.block = block, .head = head}, batch, strip, keys));
    }
  }
  if (parts.empty()) throw Error("this line has no tokens");
  return parts;
}

void compare(const attention::Tile& now, const attention::Tile& then, ComparedHead& compared) {
  const attention::TileRequest& tile = now.request;
  ChangedHead& head = compared.found;
  for (std::uint32_t row = 0; row < tile.rows; ++row) {
    const auto weights = std::span(then.values).subspan(std::size_t{row} * tile.columns, tile.columns);
    if (std::ranges::all_of(weights, [](float weight) { return std::isnan(weight); }))
      continue;  // a query of this text alone
    ++compared.rows;
    for (std::uint32_t key = 0; key < tile.columns; ++key) {
      const float a = now.at(row, key), b = then.at(row, key);
      const double change = std::abs(double{a} - double{b});
      if (!(change > 0.0)) continue;  // equal, or no number
      head.moved += 0.5 * change;
      if (change <= std::abs(double{head.now} - double{head.then})) continue;
      head.cell = {.query = tile.row + row, .key = tile.column + key};
      head.now = a;
      head.then = b;
    }
  }
}

}  // namespace

Task<ChangedHeads> analyse(ChangedHeadsQuestion question, AnalysisSubject subject) {
  const std::vector<attention::TileRequest> parts = parts_of(question.batch, subject);
  std::map<HeadRef, ComparedHead> heads;
  for (std::size_t first = 0; first < parts.size();) {
    Reads of_run;
    std::size_t cells = 0;
    for (std::size_t at = first; at < parts.size(); ++at) {
      cells += parts[at].cells();
      if (at > first && cells > kStepCells) break;
      of_run.tiles.push_back(parts[at]);
    }
    Reads of_baseline{.of = WhichRun::Baseline, .tiles = of_run.tiles};
    const Answers now = co_await std::move(of_run);
    const Answers then = co_await std::move(of_baseline);
    for (std::size_t i = 0; i < now.tiles.size(); ++i, ++first) {
      const HeadRef head{.block = parts[first].block, .head = parts[first].head};
      compare(now.tiles[i], then.tiles[i], heads.try_emplace(head, ComparedHead{.found = {.head = head}}).first->second);
    }
  }
  ChangedHeads found;
  found.all_heads = heads.size();
  for (const auto& [ref, head] : heads) {
    if (head.found.moved == 0.0) continue;
    found.heads.push_back(head.found);
    found.heads.back().moved /= head.rows;
  }
  std::ranges::stable_sort(found.heads, std::greater(), &ChangedHead::moved);
  co_return found;
}

}  // namespace headlight::app
