#include "app/engine/head_mean.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace headlight::app {
namespace {

/// Cells of one strip: 2 MiB of sums.
constexpr std::uint32_t kStripCells = 1U << 18;

}  // namespace

std::string_view to_string(HeadMean mean) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "layer", "all"};
  return kNames[static_cast<std::size_t>(mean)];
}

attention::TileRequest shown_map(const Selection& selection, attention::TileRequest request) {
  if (selection.mean == HeadMean::None || request.stage != attention::Stage::Weights) return request;
  request.head = selection.mean == HeadMean::Layer ? kMeanOfLayer : kMeanOfKind;
  if (selection.mean == HeadMean::Kind) request.block.layer = LayerIndex{0};  // the same for every layer
  return request;
}

attention::Stage shown_stage(const State& state) {
  return state.selection.mean == HeadMean::None ? state.view.heatmap_stage : attention::Stage::Weights;
}

HeadMeanTile::HeadMeanTile(const attention::TileRequest& request, const BlockShapes& shapes) {
  if (request.stage != attention::Stage::Weights) throw Error("only weights have a mean over heads");
  tile_.request = request;
  for (const auto& [block, shape] : shapes) {
    const bool counts = request.head == kMeanOfKind ? block.kind == request.block.kind : block == request.block;
    for (std::uint32_t head = 0; counts && head < shape.heads; ++head) sources_.push_back({.block = block, .head = head});
  }
  if (sources_.empty()) throw Error("there is no head to take the mean of");
  keys_ = shapes.at(request.block).keys;
  row_ = request.row;
  begin_strip();
}

void HeadMeanTile::begin_strip() {
  const attention::TileRequest& request = tile_.request;
  const std::uint32_t pools = std::max(kStripCells / std::max(keys_, 1U) / request.pool, 1U);
  rows_ = std::min(pools * request.pool, request.row + request.rows - row_);
  added_ = 0;
  sums_.assign(std::size_t{rows_} * keys_, 0.0);
  masked_.assign(sums_.size(), 1);
}

void HeadMeanTile::advance(const inference::Run& run, std::size_t most_cells) {
  if (is_done()) return;
  std::vector<attention::TileRequest> heads;
  const std::size_t count =
      std::clamp<std::size_t>(most_cells / std::max<std::size_t>(sums_.size(), 1), 1, sources_.size() - added_);
  for (const Source& source : std::span(sources_).subspan(added_, count)) {
    heads.push_back({.block = source.block,
                     .batch = tile_.request.batch,
                     .head = source.head,
                     .stage = attention::Stage::Weights,
                     .row = row_,
                     .rows = rows_,
                     .column = 0,
                     .columns = keys_,
                     .pool = 1});
  }
  for (const attention::Tile& head : run.evaluate(heads)) add(head);
  added_ += count;
  if (added_ < sources_.size()) return;
  end_strip();
  row_ += rows_;
  if (!is_done()) begin_strip();
}

void HeadMeanTile::add(const attention::Tile& head) {
  for (std::size_t cell = 0; cell < sums_.size(); ++cell) {
    sums_[cell] += double{head.values[cell]};
    if (head.masked.empty() || head.masked[cell] == 0) masked_[cell] = 0;
  }
}

void HeadMeanTile::end_strip() {
  const attention::TileRequest& request = tile_.request;
  const auto heads = static_cast<double>(sources_.size());
  for (std::uint32_t row = 0; row < rows_; ++row) {
    const auto begin = sums_.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * keys_);
    const double largest = *std::max_element(begin, begin + keys_) / heads;
    tile_.row_max.push_back(0.0F);
    tile_.row_sum.push_back(largest > 0.0 ? static_cast<float>(1.0 / largest) : 0.0F);
  }
  const std::uint32_t end_column = request.column + request.columns;
  for (std::uint32_t row = 0; row < rows_; row += request.pool) {
    for (std::uint32_t column = request.column; column < end_column; column += request.pool) {
      double largest = 0.0;
      bool is_masked = true;
      for (std::uint32_t r = row; r < std::min(row + request.pool, rows_); ++r) {
        for (std::uint32_t c = column; c < std::min(column + request.pool, end_column); ++c) {
          const std::size_t cell = std::size_t{r} * keys_ + c;
          largest = std::max(largest, sums_[cell]);
          is_masked = is_masked && masked_[cell] != 0;
        }
      }
      tile_.values.push_back(static_cast<float>(largest / heads));
      tile_.masked.push_back(is_masked ? 1 : 0);
    }
  }
}

std::vector<attention::Tile> evaluate_with_means(const inference::Run& run,
                                                 const std::vector<attention::TileRequest>& requests) {
  constexpr std::size_t kCellsAtOnce = std::size_t{1} << 21;
  std::vector<attention::Tile> tiles;
  BlockShapes shapes;
  for (const attention::TileRequest& request : requests) {
    if (!is_mean(request)) {
      tiles.push_back(std::move(run.evaluate({&request, 1}).front()));
      continue;
    }
    if (shapes.empty()) {
      for (const model::BlockRef block : run.blocks()) shapes[block] = run.shape(block);
    }
    HeadMeanTile mean(request, shapes);
    while (!mean.is_done()) mean.advance(run, kCellsAtOnce);
    tiles.push_back(mean.take());
  }
  return tiles;
}

}  // namespace headlight::app
