#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "app/engine/tile_facts.h"
#include "app/state/state.h"
#include "attention/stage.h"

namespace headlight::app {

/// A tile and the newest run that it shows.
struct EngineTile {
  std::shared_ptr<const attention::Tile> tile;
  std::uint64_t run = 0;
  std::uint64_t version = 0;  ///< of what it depends on: the same number, the same values
  std::shared_ptr<const TileFacts> facts = {};
};
EngineTile make_engine_tile(attention::Tile tile, std::uint64_t run, std::uint64_t version = 0);
/// Run::version() of every block.
using BlockVersions = std::map<model::BlockRef, std::uint64_t>;
using EngineTiles = std::map<attention::TileRequest, EngineTile>;

/// Tiles of the current run and, where a block kept its shape, of previous runs, within a budget: the least recently
/// wanted go first, those wanted now never do.
class TileCache {
 public:
  explicit TileCache(std::size_t budget_bytes) : budget_bytes_(budget_bytes) {}

  /// Another forward pass: tiles of blocks that it didn't compute anew are its own too, of the others none is current any
  /// more, and those of blocks whose shape changed are dropped.
  void begin_run(std::uint64_t run, const BlockShapes& before, const BlockShapes& after, BlockVersions versions);

  /// Marks `requests` as requested now; returns those without a current tile, in their order and each once.
  std::vector<attention::TileRequest> missing(std::span<const attention::TileRequest> requests);

  void add(attention::Tile tile);

  const EngineTiles& tiles() const { return tiles_; }
  std::size_t bytes() const { return bytes_; }
  /// Requests in the cache: those of its tiles and those requested now.
  std::size_t requests() const { return wanted_at_.size(); }

 private:
  void evict();
  /// Of what a tile shows; 0: unknown.
  std::uint64_t version_of(const attention::TileRequest& request) const;

  std::size_t budget_bytes_;
  std::size_t bytes_ = 0;
  std::uint64_t run_ = 0;
  std::uint64_t clock_ = 0;  ///< counts calls of missing()
  BlockVersions versions_;
  EngineTiles tiles_;
  std::map<attention::TileRequest, std::uint64_t> wanted_at_;
};

}  // namespace headlight::app
