#pragma once

#include "app/engine/query_queue.h"

namespace headlight::app {

/// The runs as a task reads of them; they must outlive it.
inline FoundRuns found_runs(const Runs& runs) {
  const auto borrowed = [](const inference::Run* run) {
    return std::shared_ptr<const inference::Run>(std::shared_ptr<const void>(), run);
  };
  FoundRuns found;
  found.run = borrowed(&runs.run);
  found.baseline = borrowed(runs.baseline);
  return found;
}

/// A tile at once.
inline attention::Tile evaluate(const Runs& runs, const TileQuery& query) {
  return answer_at_once(evaluate_together({query}, subject_of(runs), {}), found_runs(runs)).front();
}

}  // namespace headlight::app
