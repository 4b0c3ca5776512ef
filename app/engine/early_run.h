#pragma once

#include "app/engine/query.h"
#include "app/engine/run_source.h"
#include "app/engine/runner.h"
#include "app/engine/tile_cache.h"

namespace headlight::app {

struct EngineResult;

/// The run of a model's first layers while the others are being loaded, so that the first heatmap doesn't wait for the last
/// layer. Only maps of its layers are read of it, which depend on no later layer.
class EarlyRun {
 public:
  /// How many layers suffice for maps of the selected one. 0: nothing can be shown early, or too much would be computed
  /// twice.
  static std::uint32_t layers_for(const RunSource::Source& source, const RunInputs& inputs, model::BlockRef selected);

  /// Computes the pass. `layers`: the first ones alone. Throws what Runner::run throws.
  EarlyRun(Runner& runner, const RunSource::Source& source, const RunInputs& inputs,
           std::shared_ptr<const model::Layers> layers, std::uint64_t number, std::size_t tile_bytes);

  /// Evaluates the maps that are asked for and not there. Returns whether there were any. Throws what Run::evaluate throws.
  bool answer(std::span<const Query> queries);
  /// All of it, as a result of the whole network; what isn't of a run stays.
  void describe(EngineResult& result) const;
  /// Frees the run's memory; tiles stay.
  void end() { run_.reset(); }

  /// Of all layers: they have the same.
  const BlockShapes& shapes() const { return shapes_; }
  TileCache take_tiles() { return std::move(tiles_); }

 private:
  std::shared_ptr<const inference::Run> run_;
  inference::RunTiming timing_;
  RunSource::Source source_;
  std::shared_ptr<const RunInputs> inputs_;
  std::uint32_t layers_;
  std::uint64_t number_;
  BlockShapes shapes_;
  TileCache tiles_;
};

}  // namespace headlight::app
