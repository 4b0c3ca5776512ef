#include "app/quantities/head_mean.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/error.h"

namespace headlight::app {
namespace {

/// Cells of one strip: 2 MiB of sums.
constexpr std::uint32_t kStripCells = 1U << 18;

class MeanOfHeads final : public Evaluation {
 public:
  MeanOfHeads(const TileQuery& query, const BlockShapes& shapes);

  Step next(std::size_t most_cells) override;
  void take(std::vector<attention::Tile> tiles) override;
  bool is_done() const override { return row_ >= tile_.request.row + tile_.request.rows; }
  attention::Tile result() override { return std::move(tile_); }

 private:
  /// One head of one block.
  struct Source {
    model::BlockRef block;
    std::uint32_t head = 0;
  };
  void begin_strip();
  void add(const attention::Tile& head);
  void end_strip();

  attention::Tile tile_;
  std::vector<Source> sources_;
  std::uint32_t keys_ = 0;            ///< columns of the matrix
  std::uint32_t row_ = 0;             ///< first row of the strip that is being added up
  std::uint32_t rows_ = 0;            ///< of the strip
  std::size_t added_ = 0;             ///< sources that are in the sums
  std::vector<double> sums_;          ///< [rows, keys]
  std::vector<std::uint8_t> masked_;  ///< [rows, keys], 1: in all heads so far
};

MeanOfHeads::MeanOfHeads(const TileQuery& query, const BlockShapes& shapes) {
  tile_.request = stage_request(query);
  for (const auto& [block, shape] : shapes) {
    const bool counts = query.quantity == kMeanOfKind ? block.kind == query.block.kind : block == query.block;
    for (std::uint32_t head = 0; counts && head < shape.heads; ++head) sources_.push_back({.block = block, .head = head});
  }
  if (sources_.empty()) throw Error("there is no head to take the mean of");
  keys_ = shapes.at(query.block).keys;
  row_ = query.row;
  begin_strip();
}

void MeanOfHeads::begin_strip() {
  const attention::TileRequest& request = tile_.request;
  const std::uint32_t pools = std::max(kStripCells / std::max(keys_, 1U) / request.pool, 1U);
  rows_ = std::min(pools * request.pool, request.row + request.rows - row_);
  added_ = 0;
  sums_.assign(std::size_t{rows_} * keys_, 0.0);
  masked_.assign(sums_.size(), 1);
}

Evaluation::Step MeanOfHeads::next(std::size_t most_cells) {
  Step step;
  const std::size_t count =
      std::clamp<std::size_t>(most_cells / std::max<std::size_t>(sums_.size(), 1), 1, sources_.size() - added_);
  for (const Source& source : std::span(sources_).subspan(added_, count)) {
    step.requests.push_back({.block = source.block,
                             .batch = tile_.request.batch,
                             .head = source.head,
                             .stage = attention::Stage::Weights,
                             .row = row_,
                             .rows = rows_,
                             .column = 0,
                             .columns = keys_,
                             .pool = 1});
  }
  return step;
}

void MeanOfHeads::take(std::vector<attention::Tile> tiles) {
  for (const attention::Tile& head : tiles) add(head);
  added_ += tiles.size();
  if (added_ < sources_.size()) return;
  end_strip();
  row_ += rows_;
  if (!is_done()) begin_strip();
}

void MeanOfHeads::add(const attention::Tile& head) {
  for (std::size_t cell = 0; cell < sums_.size(); ++cell) {
    sums_[cell] += double{head.values[cell]};
    if (head.masked.empty() || head.masked[cell] == 0) masked_[cell] = 0;
  }
}

void MeanOfHeads::end_strip() {
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
      double largest = 0.0, sum = 0.0;
      std::uint32_t cells = 0;
      bool is_masked = true;
      for (std::uint32_t r = row; r < std::min(row + request.pool, rows_); ++r) {
        for (std::uint32_t c = column; c < std::min(column + request.pool, end_column); ++c) {
          const std::size_t cell = std::size_t{r} * keys_ + c;
          largest = std::max(largest, sums_[cell]);
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

}  // namespace

std::unique_ptr<Evaluation> begin_head_mean(const TileQuery& query, const BlockShapes& shapes) {
  return std::make_unique<MeanOfHeads>(query, shapes);
}

}  // namespace headlight::app
