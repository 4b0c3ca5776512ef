#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "app/engine/tile_facts.h"
#include "app/quantities/evaluation.h"
#include "app/state/state.h"
#include "attention/stage.h"

namespace headlight::app {

/// A tile and the newest run that it shows.
struct EngineTile {
  std::shared_ptr<const attention::Tile> tile;
  std::uint64_t run = 0;                ///< 0 also for a difference from a run that is no longer compared with
  std::uint64_t version = 0;            ///< of what it depends on: the same number, the same values
  std::uint64_t reference_version = 0;  ///< likewise of the other run of a difference
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
  void compare_with(BlockVersions reference);

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
  BlockVersions versions_, reference_versions_;
  EngineTiles tiles_;
  std::map<TileQuery, std::uint64_t> wanted_at_;
};

}  // namespace headlight::app
