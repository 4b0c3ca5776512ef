#include "capture/captured_run.h"

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>

#include "attention/run.h"
#include "core/error.h"

namespace headlight::capture {
namespace {

using attention::Stage;

/// The distance from 1 that the sum of a row of weights may have: float16 rounds each of some thousand weights by a
/// part in two thousand.
constexpr double kRowTolerance = 0.01;

/// Versions of blocks, unlike those of any run of a session.
std::uint64_t next_version() {
  static std::atomic<std::uint64_t> last{std::uint64_t{1} << 63};
  return ++last;
}

/// Statistics of a whole row of weights.
struct RowFacts {
  double sum = 0.0;             ///< of those that are finite
  float largest = 0.0F;         ///< of those that are finite
  std::uint64_t odd_cells = 0;  ///< NaN or infinite
  bool is_negative = false;
  bool has_hole = false;  ///< a weight of exactly 0 between two others

  explicit RowFacts(std::span<const float> weights) {
    bool has_any = false, is_gap = false;
    for (const float weight : weights) {
      if (!std::isfinite(weight)) {
        ++odd_cells;
        continue;
      }
      sum += double{weight};
      largest = std::max(largest, weight);
      is_negative = is_negative || weight < 0.0F;
      has_hole = has_hole || (is_gap && weight != 0.0F);
      is_gap = has_any && weight == 0.0F;
      has_any = has_any || weight != 0.0F;
    }
  }
};

/// Keys as columns of a request.
attention::KeyRange within(attention::KeyRange keys, const attention::TileRequest& request) {
  const auto column = [&](std::uint32_t key) {
    return std::min(std::max(key, request.column) - request.column, request.columns);
  };
  return {column(keys.begin), column(keys.end)};
}

}  // namespace

CapturedRun::CapturedRun(std::shared_ptr<const CaptureFile> file, inference::Session* session)
    : Run({.network = file->network(), .input = *file->input()}, {}), file_(std::move(file)) {
  if (session != nullptr) parts_ = std::make_unique<DeviceParts>(*session);
  for (const CapturedBlock& captured : file_->blocks()) {
    Block& block = blocks_[captured.ref];
    block.captured = &captured;
    block.version = next_version();
    if (!captured.weights) {
      block.attention = std::make_unique<AttentionOf>(captured.queries, captured.keys, captured.mask, captured.score);
    }
    if (captured.values) block.values = std::make_unique<MixedValues>(captured.values, captured.shape.heads);
  }
}

std::vector<model::BlockRef> CapturedRun::blocks() const {
  std::vector<model::BlockRef> refs;
  for (const auto& [ref, block] : blocks_) refs.push_back(ref);
  return refs;
}

CapturedRun::Block& CapturedRun::block(model::BlockRef ref) const {
  const auto found = blocks_.find(ref);
  if (found == blocks_.end())
    throw Error("the capture has no {} attention in layer {}", to_string(ref.kind), ref.layer.value);
  return found->second;
}

inference::BlockShape CapturedRun::shape(model::BlockRef ref) const { return block(ref).captured->shape; }
std::uint64_t CapturedRun::version(model::BlockRef ref) const { return block(ref).version; }

void CapturedRun::check(const attention::TileRequest& request) const {
  const attention::BlockShape& shape = block(request.block).captured->shape;
  const std::optional<attention::BlockShape::Extent> extent = shape.extent(request.stage);
  if (!extent) throw Error("the capture has no {}", attention::to_string(request.stage));
  const bool is_inside = request.batch < shape.batch && request.head < shape.heads && request.pool > 0 && request.rows > 0 &&
                         request.columns > 0 && std::uint64_t{request.row} + request.rows <= extent->rows &&
                         std::uint64_t{request.column} + request.columns <= extent->columns;
  if (!is_inside) throw Error("the tile lies outside of {}", attention::to_string(request.stage));
}

DeviceParts::Part CapturedRun::part_of(const attention::TileRequest& request) const {
  const CapturedBlock& captured = *block(request.block).captured;
  if (!parts_ || captured.weights) return {};
  return parts_->part(captured, request.batch, request.head);
}

std::vector<attention::Tile> CapturedRun::evaluate(std::span<const attention::TileRequest> requests) const {
  for (const attention::TileRequest& request : requests) check(request);
  std::vector<attention::Tile> tiles;
  tiles.reserve(requests.size());
  while (tiles.size() < requests.size()) {
    const auto rest = requests.subspan(tiles.size());
    const DeviceParts::Part part = part_of(rest.front());
    const bool has_all_heads = part.run && part.heads == block(rest.front().block).captured->shape.heads;
    if (!part.run) {
      tiles.push_back(evaluate_on_host(rest.front()));
      continue;
    }
    if (rest.front().stage == Stage::Merged && !has_all_heads) {
      tiles.push_back(merge_parts(rest.front()));
      continue;
    }
    const auto is_of_part = [&](const attention::TileRequest& request) {
      return request.block == rest.front().block && request.batch == rest.front().batch && request.head >= part.first_head &&
             request.head < part.first_head + part.heads && (has_all_heads || request.stage != Stage::Merged);
    };
    const auto count = std::ranges::find_if_not(rest, is_of_part) - rest.begin();
    for (attention::Tile& tile : evaluate(part, rest.first(static_cast<std::size_t>(count))))
      tiles.push_back(std::move(tile));
  }
  return tiles;
}

std::vector<attention::Tile> CapturedRun::evaluate(const DeviceParts::Part& part,
                                                   std::span<const attention::TileRequest> requests) const {
  std::vector<attention::TileRequest> of_part(requests.begin(), requests.end());
  for (attention::TileRequest& request : of_part) {
    request.batch = 0;
    request.head -= part.first_head;
  }
  std::vector<attention::Tile> tiles = part.run->evaluate(of_part);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    tiles[i].request = requests[i];
    if (attention::is_map(requests[i].stage)) look_at_rows(tiles[i]);
  }
  return tiles;
}

void CapturedRun::look_at_rows(const attention::Tile& tile) const {
  Block& block = this->block(tile.request.block);
  const CapturedMask& mask = block.captured->mask;
  HeadRows& known = block.rows[{tile.request.batch, tile.request.head}];
  known.is_known.resize(block.captured->shape.queries, 0);
  for (std::size_t r = 0; r < tile.row_sum.size(); ++r) {
    const std::uint32_t row = tile.request.row + static_cast<std::uint32_t>(r);
    if (std::exchange(known.is_known[row], std::uint8_t{1}) != 0 || std::isfinite(tile.row_sum[r])) continue;
    // The numbers are finite, but a product of theirs isn't: then none of the row's weights is a number.
    const attention::KeyRange visible = mask.visible(tile.request.batch, row);
    if (mask.has_row(tile.request.batch, row)) odd_cells_ += visible.end - visible.begin;
  }
}

attention::Tile CapturedRun::merge_parts(const attention::TileRequest& request) const {
  constexpr std::uint32_t kRowsAtOnce = 256;
  const std::uint32_t d_v = block(request.block).captured->shape.d_v;
  attention::Tile tile;
  tile.request = request;
  std::vector<float> lines;  // [row, column of the request] of some rows of squares
  const std::uint32_t step = std::max(kRowsAtOnce / request.pool, 1U) * request.pool;
  for (std::uint32_t first = 0; first < request.rows; first += step) {
    const std::uint32_t rows = std::min(step, request.rows - first);
    lines.resize(std::size_t{rows} * request.columns);
    for (std::uint32_t begin = request.column; begin < request.column + request.columns;) {
      attention::TileRequest of_head = request;
      of_head.stage = Stage::Heads;
      of_head.head = begin / d_v;
      of_head.pool = 1;
      of_head.pooled_columns = 0;
      of_head.row = request.row + first;
      of_head.rows = rows;
      of_head.column = begin % d_v;
      of_head.columns = std::min(d_v - of_head.column, request.column + request.columns - begin);
      const attention::Tile outputs = std::move(evaluate(std::span(&of_head, 1)).front());
      for (std::uint32_t r = 0; r < rows; ++r) {
        std::copy_n(outputs.values.data() + std::size_t{r} * of_head.columns, of_head.columns,
                    lines.data() + std::size_t{r} * request.columns + (begin - request.column));
      }
      begin += of_head.columns;
    }
    for (std::uint32_t top = 0; top < rows; top += request.pool) {
      attention::PooledRow pooled(request, false);
      for (std::uint32_t r = top; r < std::min(top + request.pool, rows); ++r) {
        pooled.add(std::span(lines).subspan(std::size_t{r} * request.columns, request.columns), 0, request.columns);
      }
      for (std::uint32_t at = 0; at < request.tile_columns(); ++at) tile.values.push_back(pooled.value(at));
    }
  }
  return tile;
}

attention::Tile CapturedRun::evaluate_on_host(const attention::TileRequest& request) const {
  Block& block = this->block(request.block);
  attention::Tile tile;
  tile.request = request;
  const bool is_map = attention::is_map(request.stage);
  const std::uint32_t width = request.tile_columns();
  tile.values.reserve(std::size_t{request.tile_rows()} * width);
  const bool takes_largest = request.stage == Stage::Weights && request.pooling == attention::Pooling::Max;
  std::vector<float> line(request.columns);
  for (std::uint32_t first = 0; first < request.rows; first += request.pool) {
    attention::PooledRow pooled(request, takes_largest);
    std::vector<std::uint8_t> masked(is_map ? width : 0, 1);
    for (std::uint32_t r = first; r < std::min(first + request.pool, request.rows); ++r) {
      const std::uint32_t query = request.row + r;
      RowScale scale;
      const Rectangle cells{request.batch, request.head, query, 1, request.column, request.columns};
      read(block, request.stage, cells, line.data(), is_map ? &scale : nullptr);
      // Columns that the mask shows. A weight in others that isn't 0 is shown: the file says so too.
      const attention::KeyRange visible = is_map ? within(block.captured->mask.visible(request.batch, query), request)
                                                 : attention::KeyRange(request.columns);
      const std::vector<std::uint8_t> hidden =
          is_map && block.attention ? block.attention->hidden_keys(cells) : std::vector<std::uint8_t>();
      const bool counts_hidden = request.stage != Stage::Masked;  // whose mean is of visible cells
      const bool is_in_sample = request.sampled_rows == 0 || r - first < request.sampled_rows;
      const attention::KeyRange counted = counts_hidden ? attention::KeyRange(request.columns) : visible;
      const auto is_counted = [&](std::uint32_t c) { return counts_hidden || hidden.empty() || hidden[c] == 0; };
      for (std::uint32_t c = counted.begin; is_in_sample && c < counted.end; ++c) {
        const std::uint32_t begin = c;
        while (c < counted.end && is_counted(c)) ++c;
        pooled.add(line, begin, c);
      }
      if (!is_map) continue;
      tile.row_max.push_back(scale.max);
      tile.row_sum.push_back(scale.sum);
      if (!is_in_sample) continue;
      for (std::uint32_t c = 0; c < request.columns; ++c) {
        const bool is_visible = visible.holds(c) && (hidden.empty() || hidden[c] == 0);
        if (is_visible || (request.stage == Stage::Weights && line[c] != 0.0F)) masked[c / request.column_pool()] = 0;
      }
    }
    for (std::uint32_t at = 0; at < width; ++at) {
      tile.values.push_back(pooled.is_empty(at) ? -std::numeric_limits<float>::infinity() : pooled.value(at));
    }
    tile.masked.insert(tile.masked.end(), masked.begin(), masked.end());
  }
  return tile;
}

void CapturedRun::read_vectors(const Block& block, Stage stage, const Rectangle& row, float* to) const {
  const CapturedBlock& captured = *block.captured;
  if (stage == Stage::Q) return captured.queries->read(row, to);
  if (stage == Stage::V) return block.values->read(row, to);
  if (stage == Stage::K) {
    Rectangle of_keys = row;
    of_keys.head = captured.shape.matrix_of(Stage::K, row.head);
    return captured.keys->read(of_keys, to);
  }
  // Outputs of one head, or of all that have components among the columns.
  const std::uint32_t width = block.values->width();
  std::vector<float> weights(captured.shape.keys);
  for (std::uint32_t begin = row.column; begin < row.column + row.columns;) {
    const bool is_merged = stage == Stage::Merged;
    const std::uint32_t head = is_merged ? begin / width : row.head, first = is_merged ? begin % width : begin;
    const std::uint32_t count = std::min(width - first, row.column + row.columns - begin);
    RowScale scale;
    read_weights(block, {row.item, head, row.row, 1, 0, captured.shape.keys}, weights.data(), scale);
    block.values->mix(row.item, head, weights, first, count, to + (begin - row.column));
    begin += count;
  }
}

void CapturedRun::read(Block& block, Stage stage, const Rectangle& row, float* to, RowScale* scale) const {
  const CapturedBlock& captured = *block.captured;
  if (!attention::is_map(stage)) return read_vectors(block, stage, row, to);
  HeadRows& known = block.rows[{row.item, row.head}];
  if (known.is_known.empty()) {
    known.scales.resize(captured.shape.queries);
    known.is_known.resize(captured.shape.queries, 0);
  }
  RowScale& of_row = known.scales[row.row];
  if (known.is_known[row.row] == 0) {
    Rectangle whole = row;
    whole.column = 0;
    whole.columns = captured.shape.keys;
    std::vector<float> weights(whole.columns);
    read_weights(block, whole, weights.data(), of_row);
    look_at_row(captured, whole, weights, of_row);
    known.is_known[row.row] = 1;
    if (stage == Stage::Weights) std::copy_n(weights.begin() + row.column, row.columns, to);
  } else if (stage == Stage::Weights) {
    RowScale same;
    read_weights(block, row, to, same);
  }
  *scale = of_row;
  if (stage != Stage::Weights) block.attention->scores(row, stage != Stage::Scores, to);
}

void CapturedRun::read_weights(const Block& block, const Rectangle& row, float* to, RowScale& scale) const {
  if (block.captured->weights) return block.captured->weights->read(row, to);
  block.attention->weights(row, to, &scale);
}

void CapturedRun::look_at_row(const CapturedBlock& block, const Rectangle& row, std::span<const float> weights,
                              RowScale& scale) const {
  const RowFacts facts(weights);
  const bool is_counted = block.mask.has_row(row.item, row.row);
  if (is_counted) odd_cells_ += facts.odd_cells;
  if (!block.weights) return;
  // Captured weights determine their scores' (m, l) up to a shift: with m = 0 the largest weight is 1/l. A row without
  // weights has m = −∞ and l = 0.
  const bool has_any = facts.largest > 0.0F;
  scale = {.max = has_any ? 0.0F : -std::numeric_limits<float>::infinity(), .sum = has_any ? 1.0F / facts.largest : 0.0F};
  if (!is_counted || facts.odd_cells > 0 || std::abs(facts.sum - 1.0) <= kRowTolerance) return;
  ++odd_rows_;
  dropout_.add(facts.sum, facts.has_hole, facts.is_negative);
  if (std::abs(facts.sum - 1.0) <= std::abs(worst_.sum - 1.0)) return;
  worst_ = {.block = block.ref, .item = row.item, .head = row.head, .row = row.row, .sum = facts.sum};
}

std::string CapturedRun::warning() const {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (odd_cells_ > 0) add(fmt::format("{} cell{} NaN or infinite", odd_cells_, odd_cells_ == 1 ? " is" : "s are"));
  if (odd_rows_ > 0) {
    add(fmt::format("{} row{} not sum to 1, the worst to {:.4g} ({} layer {}, head {}, line {}, query {})", odd_rows_,
                    odd_rows_ == 1 ? " does" : "s do", worst_.sum, to_string(worst_.block.kind), worst_.block.layer.value,
                    worst_.head, worst_.item + 1, worst_.row));
    if (dropout_.is_likely()) text += ", which looks like dropout: call model.eval() before the pass";
  }
  std::uint64_t rounded = 0;
  for (const CapturedBlock& block : file_->blocks()) {
    for (const auto& numbers : {block.weights, block.queries, block.keys, block.values}) {
      rounded += numbers ? numbers->rounded() : 0;
    }
  }
  if (rounded > 0) add("numbers of float64 are rounded to float32");
  return text;
}

}  // namespace headlight::capture
