#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "app/state/state.h"
#include "attention/stage.h"
#include "inference/run.h"

namespace headlight::app {

/// "none", "layer", "all".
std::string_view to_string(HeadMean mean);

/// Numbers in TileRequest::head that stand for a mean over heads; of weights only. Run knows none of them: HeadMeanTile
/// makes such a tile from the heads' own.
inline constexpr std::uint32_t kMeanOfLayer = 0xFFFF'FFFEU;  ///< over the heads of the block
inline constexpr std::uint32_t kMeanOfKind = 0xFFFF'FFFFU;   ///< over the heads of all blocks of the block's kind

inline bool is_mean(const attention::TileRequest& request) { return request.head >= kMeanOfLayer; }

/// Converts a request for the selected head to one for the selection: the head, or a mean of weights.
attention::TileRequest shown_map(const Selection& selection, attention::TileRequest request);

/// The stage on the big heatmap: a mean is always of weights.
attention::Stage shown_stage(const State& state);

/// Evaluates the exact mean of several heads' weights in steps: strips of whole rows come from the device head by head
/// and are added up in double precision on the host; pooling, by the maximum as for one head, comes last. A head whose row
/// sees no key counts as zeros.
///
/// The tile's row_sum is 1 / the largest mean weight of the whole row, as for one head; row_max is 0. A
/// cell is masked where it is masked in all heads.
class HeadMeanTile {
 public:
  /// `request` has a mean as its head and lies inside its block; `shapes` are of the run that advance() gets.
  HeadMeanTile(const attention::TileRequest& request, const BlockShapes& shapes);

  const attention::TileRequest& request() const { return tile_.request; }
  /// Adds the next heads, at least one, of about `most_cells` cells in all.
  void advance(const inference::Run& run, std::size_t most_cells);
  bool is_done() const { return row_ >= tile_.request.row + tile_.request.rows; }
  /// Once is_done().
  attention::Tile take() { return std::move(tile_); }

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

/// Run::evaluate() for requests among which may be means.
std::vector<attention::Tile> evaluate_with_means(const inference::Run& run,
                                                 const std::vector<attention::TileRequest>& requests);

}  // namespace headlight::app
