#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "app/engine/engine_worker.h"
#include "app/engine/gpu_runner.h"
#include "engine/asked_analysis.h"

namespace headlight::app {

using Ids = std::vector<std::uint32_t>;

/// A model with these tokens as its text; an encoder-decoder's target is `target_ids`.
inline State text_at(const std::string& path, const Ids& ids, const Ids& target_ids = {}) {
  State state;
  select_model(state, path, inference::open_model(path)->masks);
  state.model().ids = {ids};
  if (!target_ids.empty()) state.model().target_ids = {target_ids};
  return state;
}
/// Returns the state of a text of a model in tests/golden/models.
inline State text_of(const std::string& model, const Ids& ids, const Ids& target_ids = {}) {
  return text_at(std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + model, ids, target_ids);
}

/// An engine on the device that has a present and perhaps a baseline, and answers queries of both.
class TwoRuns {
 public:
  TwoRuns() { worker_.open(""); }

  EngineResult ask(const State& present, const std::optional<State>& baseline, const std::vector<Query>& queries) {
    worker_.begin({.revision = ++revision_,
                   .inputs = run_inputs(present),
                   .queries = queries,
                   .baseline = baseline ? std::optional(run_inputs(*baseline)) : std::nullopt});
    while (worker_.has_more()) worker_.evaluate_some();
    return worker_.snapshot();
  }

  /// Returns the findings of the analysis; fails the test where there is an error instead.
  template <typename Found>
  Found find(const State& present, const State& baseline, const AnalysisQuery& query) {
    const EngineResult result = ask(present, baseline, {query});
    REQUIRE(result.error == "");
    REQUIRE(result.baseline_error == "");
    REQUIRE(result.analysed(query));
    return found_in<Found>(*result.analysed(query));
  }

 private:
  EngineWorker worker_{{.open = open_gpu_runner,
                        .tile_bytes = kDefaultTileBytes,
                        .models = std::make_shared<ModelCache>(),
                        .watch_load = [](std::size_t, std::size_t) { return true; }}};
  std::uint64_t revision_ = 0;
};

}  // namespace headlight::app
