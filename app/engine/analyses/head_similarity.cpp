#include "app/engine/analyses/head_similarity.h"

#include "core/error.h"
#include "evaluation/head_divergence.h"

namespace headlight::app {
namespace {

/// Cells of tiles that are read in one step, and cells of pairs that are compared in one: some 10 ms each.
constexpr std::size_t kReadCells = std::size_t{1} << 17;
constexpr std::size_t kSimilarityStepCells = std::size_t{1} << 18;
/// Cells of all heads together that are kept: 2 MiB.
constexpr std::size_t kKeptCells = std::size_t{1} << 19;

/// Cells of a part's tile.
constexpr std::size_t kPartCells = std::size_t{1} << 16;
constexpr std::uint32_t kSimilarityStrips = 16;

/// Returns rectangles that are the same in every head's map; heads are compared in one after the other.
std::vector<attention::TileRequest> parts_of(const LineMaps& maps, std::uint32_t batch, const std::vector<RowStrip>& rows) {
  const std::size_t most = std::min(kKeptCells / maps.heads.size(), kPartCells);
  const auto columns = static_cast<std::uint32_t>(std::min<std::size_t>(maps.columns(), most));
  std::vector<attention::TileRequest> parts;
  for (const RowStrip& strip : in_parts(rows, most / columns)) {
    for (std::uint32_t first = maps.keys.begin; first < maps.keys.end; first += columns) {
      parts.push_back(weights_of({}, batch, strip, {first, std::min(first + columns, maps.keys.end)}));
    }
  }
  return parts;
}

}  // namespace

Task<HeadSimilarity> analyse(SimilarityQuestion question, AnalysisSubject subject) {
  const LineMaps maps = maps_of(question.kind, question.batch, subject);
  HeadSimilarity found;
  found.heads = maps.heads;
  if (found.heads.size() == 1) throw Error("there is one head only, and nothing to compare it with");
  if (found.heads.size() > kMaxComparedHeads) {
    throw Error("of at most {} heads every two can be compared; here are {}", kMaxComparedHeads, found.heads.size());
  }
  found.queries = maps.queries.end - maps.queries.begin;
  if (found.queries == 0 || maps.columns() == 0) throw Error("this line has no tokens");
  const auto heads = static_cast<std::uint32_t>(found.heads.size());
  const std::vector<RowStrip> rows = compared_rows(maps.queries, maps.columns(), heads);
  for (const RowStrip& strip : rows) found.compared_queries += strip.count;
  const std::vector<attention::TileRequest> parts = parts_of(maps, question.batch, rows);
  evaluation::HeadDivergence divergence(heads);
  for (const attention::TileRequest& part : parts) {
    std::vector<float> weights;  // [head][cell]
    const std::size_t at_once = std::max<std::size_t>(kReadCells / part.cells(), 1);
    for (std::size_t head = 0; head < heads; head += at_once) {
      Reads reads;
      for (std::size_t at = head; at < std::min<std::size_t>(head + at_once, heads); ++at) {
        attention::TileRequest& tile = reads.tiles.emplace_back(part);
        tile.block = found.heads[at].block;
        tile.head = found.heads[at].head;
      }
      const Answers read = co_await std::move(reads);
      for (const attention::Tile& tile : read.tiles) weights.insert(weights.end(), tile.values.begin(), tile.values.end());
    }
    divergence.begin(std::move(weights));
    do {
      co_await read_nothing();
    } while (!divergence.go_on(kSimilarityStepCells));
  }
  found.divergences = divergence.means(found.compared_queries);
  const bool is_finite = std::ranges::all_of(found.divergences, [](float value) { return std::isfinite(value); });
  if (is_finite) found.order = evaluation::order_by_similarity(found.divergences, heads);
  co_return found;
}

std::vector<RowStrip> compared_rows(attention::KeyRange queries, std::uint32_t keys, std::uint32_t heads) {
  const std::uint32_t count = queries.end - queries.begin;
  const std::size_t pairs = std::max<std::size_t>(std::size_t{heads} * (heads - 1) / 2, 1);
  const std::size_t most = std::max<std::size_t>(kMaxComparedCells / (pairs * std::max(keys, 1U)), 1);
  if (count <= most) return {{.first = queries.begin, .count = count}};
  const std::uint32_t strips = std::min(kSimilarityStrips, static_cast<std::uint32_t>(most));
  const auto rows = static_cast<std::uint32_t>(most / strips);
  std::vector<RowStrip> compared;
  for (std::uint32_t strip = 1; strip <= strips; ++strip) {
    const std::uint64_t behind = strips == 1 ? count - rows : std::uint64_t{count - rows} * (strip - 1) / (strips - 1);
    compared.push_back({.first = queries.begin + static_cast<std::uint32_t>(behind), .count = rows});
  }
  return compared;
}

SimilarityQuestion similarity_query(const Selection& selection) {
  return {.kind = selection.block.kind, .batch = selection.batch};
}

}  // namespace headlight::app
