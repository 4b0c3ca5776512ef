#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "app/engine/engine_worker.h"
#include "core/error.h"
#include "engine/reference_runner.h"

namespace headlight::app {

/// Asks the engine for analyses of a golden model's text, on the reference or another runner.
struct AskedAnalysis {
  explicit AskedAnalysis(const std::string& model, const std::string& text = "the cat sat on the mat",
                         const RunnerFactory& open = open_reference_runner)
      : worker({.open = open,
                .tile_bytes = kDefaultTileBytes,
                .models = std::make_shared<ModelCache>(),
                .watch_load = [](std::size_t, std::size_t) { return true; }}) {
    worker.open("");
    state.text() = text;
    change_to_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + model);
    state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
  }

  Analysed ask(const AnalysisQuery& query) {
    worker.begin({.revision = ++revision, .inputs = run_inputs(state), .queries = {query}});
    while (worker.has_more()) worker.evaluate_some();
    result = worker.snapshot();
    REQUIRE(result.error == "");
    const Analysed* answer = result.analysed(query);
    REQUIRE(answer);
    REQUIRE(answer->is_done);
    return *answer;
  }

  EngineWorker worker;
  State state;
  EngineResult result;
  std::uint64_t revision = 0;
};

/// Returns the findings; throws Error where there are none.
template <typename Result>
const Result& found_in(const Analysed& answer) {
  const Result* found = answer.as<Result>();
  if (!found) throw Error("nothing was found: {}", answer.error);
  return *found;
}

}  // namespace headlight::app
