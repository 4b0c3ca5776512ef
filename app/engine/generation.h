#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/engine.h"
#include "app/engine/predictions.h"
#include "app/state/state.h"
#include "inference/sampling.h"

namespace headlight::app {

/// Continues one line of the text token by token. Each token is one change of the state, and what follows from it – a run,
/// the maps, the next distribution – goes the way of any other change, so that everything on screen follows along.
class Generation {
 public:
  /// Continues the selected line as `state.generation` says; a translation that the model has written becomes the person's
  /// own first. `result` is current and predicts what comes next.
  void start(State& state, const EngineResult& result);
  /// Bytes that are no whole character yet are dropped.
  void stop(State& state, std::string outcome = "stopped");
  bool is_running() const { return sampler_.has_value(); }

  /// The distribution that the next step needs.
  PredictionRequest request(const EngineResult& result) const;
  /// Adds a token when its distribution is there. Call it once a frame, while `result` answers `state`. Ends by itself: when
  /// there are enough tokens, the model says that the text ends, begins a new line, or somebody changed the text meanwhile.
  void step(State& state, const EngineResult& result);

  std::uint32_t count() const { return count_; }           ///< tokens so far
  const std::string& outcome() const { return outcome_; }  ///< why it ended; empty before

 private:
  void take(State& state, const EngineResult& result, std::uint32_t id);
  bool was_changed(const State& state) const;

  std::optional<inference::Sampler> sampler_;
  std::uint32_t item_ = 0;
  std::uint32_t count_ = 0, most_ = 0;
  std::vector<std::uint32_t> before_;   ///< ids that the text has
  std::vector<std::uint32_t> pending_;  ///< ids whose bytes are no whole character yet: they are in the state as ids
  bool result_has_target_ = false;      ///< tokens go to the target instead of the text
  std::string text_;                    ///< as the last step left it
  ModelChoice model_;                   ///< likewise
  std::string outcome_;
};

}  // namespace headlight::app
