#pragma once

#include "app/shapes/quantities/evaluation.h"
#include "app/state/state.h"
#include "attention/mask.h"
#include "attention/stage.h"

namespace headlight::app {

/// The least and the largest of some values; 0 and 0 where there are none.
struct ValueRange {
  float low = 0.0F, high = 0.0F;
};

/// What one query does with its weights.
struct RowStatistics {
  float largest = 0.0F;              ///< weight; 0 in a row without weights, NaN in a row with a NaN
  std::optional<std::uint32_t> key;  ///< the first that has the largest weight; none in such rows
  float entropy = 0.0F;              ///< −Σ w ln w in nats: 0 for one key, ln n for n alike; 0 or NaN in such rows
};

/// Facts about a whole tile that views need in every frame, computed once, when the tile is evaluated.
struct TileFacts {
  float largest_weight = 0.0F;  ///< as largest_weight(), of weights; of a tile of means its largest value
  float high_weight = 0.0F;     ///< chart::high_value(), of weights
  bool has_masked = false;
  bool has_odd = false;           ///< NaN or infinite cells that aren't masked
  bool has_missing = false;       ///< masked cells that are NaN: the capture, or the run that is compared with, has none
  ValueRange range;               ///< as visible_range()
  float concentration = 0.0F;     ///< as concentration() of all rows of weights
  std::vector<float> row_scales;  ///< [tile_rows], as row_normalizers(); of weights

  // Of exact weights only: what a pooled tile says of each square is its largest weight, from which neither follows.
  std::vector<RowStatistics> rows;  ///< [rows], each of the tile's columns: a whole row where the tile has all keys
  /// Σ of the weights of the tile's rows by column [columns]: what all queries together give to a key, where the tile has
  /// all of them. Padding queries count, and a row with NaNs makes its columns NaN.
  std::vector<float> received;

  std::size_t bytes() const;
};
TileFacts make_tile_facts(const attention::Tile& tile);

/// Do the stage's cells come after the mask? Scores and scaled scores come before it.
bool comes_after_mask(attention::Stage stage);

/// The finite values of a tile without its masked cells.
ValueRange visible_range(const attention::Tile& tile);

/// The largest weight of a tile's rows: Tile::largest, else 1/l; 0 when all rows are fully masked.
float largest_weight(const attention::Tile& tile);

/// The colours' range of a head's weights, the same in its map, thumbnail, pair and figure: from 0 to the largest one, or as
/// the user chose to what 98 % of those on screen are at most.
chart::ValueLimits weight_limits(const TileFacts& facts, ColorRange range);

/// Factor of each tile row that makes its largest weight 1: l, of pooled rows the least l; 0 for rows without weights.
std::vector<float> row_normalizers(const attention::Tile& tile);

/// Mean of the `queries` rows' largest weights, 1/l: 1 when every query attends to one key, 1/n when it attends to
/// all equally: HeadMetric::Concentration. Rows without weights are skipped; NaN where a row's aren't numbers. Of longer
/// inputs about `max_rows` evenly spaced rows are sampled.
float concentration(const attention::Tile& tile, attention::KeyRange queries, std::uint32_t max_rows);

/// A tile and the newest run that it shows.
struct EngineTile {
  std::shared_ptr<const attention::Tile> tile;
  std::uint64_t run = 0;               ///< 0 also for a difference from a run that is no longer compared with
  std::uint64_t version = 0;           ///< of what it depends on: the same number, the same values
  std::uint64_t baseline_version = 0;  ///< likewise of the other run of a difference
  std::shared_ptr<const TileFacts> facts = {};
};
EngineTile make_engine_tile(attention::Tile tile, std::uint64_t run, std::uint64_t version = 0);
/// Run::version() of every block.
using BlockVersions = std::map<model::BlockRef, std::uint64_t>;
using EngineTiles = std::map<TileQuery, EngineTile>;

/// Tiles of the current run and, where a block kept its shape, of previous runs, within a budget: the least recently
/// wanted go first, those wanted now never do.
class TileCache {
 public:
  explicit TileCache(std::size_t budget_bytes) : budget_bytes_(budget_bytes) {}

  /// Another forward pass: tiles of blocks that it didn't compute anew are its own too, of the others none is current any
  /// more, and those of blocks whose shape changed are dropped.
  void begin_run(std::uint64_t run, const BlockShapes& before, const BlockShapes& after, BlockVersions versions);

  /// The run that differences are taken from, of the current run's shapes: tiles that were taken from another one are no
  /// longer current. Empty: there is none, and differences are dropped.
  void compare_with(BlockVersions baseline);

  /// Marks `queries` as asked now; returns those without a current tile, in their order and each once.
  std::vector<TileQuery> missing(std::span<const TileQuery> queries);

  void add(const TileQuery& query, attention::Tile tile);
  /// Adds it once it is evaluated.
  Task<void> add_evaluated(TileQuery query, Evaluation evaluation);

  const EngineTiles& tiles() const { return tiles_; }
  std::size_t bytes() const { return bytes_; }
  /// Queries in the cache: those of its tiles and those asked now.
  std::size_t requests() const { return wanted_at_.size(); }

 private:
  void evict();
  bool is_up_to_date(const TileQuery& query, const EngineTile& known) const;
  EngineTiles::iterator drop(EngineTiles::iterator entry);

  std::size_t budget_bytes_;
  std::size_t bytes_ = 0;
  std::uint64_t run_ = 0;
  std::uint64_t clock_ = 0;  ///< counts calls of missing()
  BlockVersions versions_, baseline_versions_;
  EngineTiles tiles_;
  std::map<TileQuery, std::uint64_t> wanted_at_;
};

}  // namespace headlight::app
