#pragma once

#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include "app/engine/engine.h"
#include "engine/fake_runner.h"

namespace headlight::app {

inline const std::string kModels = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/";

/// A model of tests/golden/models with this text.
inline State model_state(const std::string& model, const std::string& text) {
  State state;
  state.text() = text;
  change_to_model(state, kModels + model);
  return state;
}

/// An engine whose runner computes nothing, and what is asked of it.
struct ModelBench {
  std::shared_ptr<FakeLog> log = std::make_shared<FakeLog>();
  Engine engine{{.open = fake_factory(log), .device = "fake", .wake = {}}};
  std::uint64_t revision = 0;

  void request(const State& state, const std::vector<PredictionQuery>& predictions = {}) {
    engine.request(
        {.revision = ++revision, .inputs = run_inputs(state), .queries = {predictions.begin(), predictions.end()}});
  }
  EngineResult finish() {
    engine.wait_until_idle();
    std::optional<EngineResult> result = engine.poll();
    REQUIRE(result);
    return *result;
  }
  /// Waits until a load is in progress.
  Progress await_progress(std::size_t least_done) {
    for (int patience = 0; patience < 4000; ++patience) {
      const std::optional<Progress> progress = engine.progress().load;
      if (progress && progress->done >= least_done) return *progress;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    FAIL("nothing is being loaded");
    return {};
  }
};

}  // namespace headlight::app
