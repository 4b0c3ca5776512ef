#pragma once

#include <cstddef>
#include <cstdint>

#include "app/engine/analyses/analysis_query.h"
#include "app/engine/predictions.h"
#include "app/shapes/quantities/tile_query.h"

namespace headlight::app {

/// Asks for EngineResult::memory, from which cross-attention's keys and values are projected.
struct MemoryQuery {
  auto operator<=>(const MemoryQuery&) const = default;
};

/// A task that is of no request (Engine::ask).
struct TaskQuery {
  std::uint64_t number = 0;
  auto operator<=>(const TaskQuery&) const = default;
};

/// One question about the newest run. Those that name nothing in the run are ignored: the caller may lay out a run that it
/// hasn't seen.
using Query = std::variant<TileQuery, PredictionQuery, MemoryQuery, AnalysisQuery, TaskQuery>;

/// How far something is.
struct Progress {
  std::size_t done = 0, total = 0;
};

}  // namespace headlight::app
