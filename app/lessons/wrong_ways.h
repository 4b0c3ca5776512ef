#pragma once

#include "app/lessons/exercise.h"
#include "inference/reference_run.h"

namespace headlight::app {

/// A mistake that solutions of exercises have. It is a change of the pass, so that what it gives is computed, not known.
struct WrongWay {
  std::string_view says = {};                             ///< as a clause
  void (*layer)(model::AttentionLayer& layer) = nullptr;  ///< changes weights and sizes
  bool (*shows)(bool is_visible, std::uint32_t query, std::uint32_t key) = nullptr;
  std::optional<double> fill = {};  ///< of masked scores
  /// Returns the weight at [batch, head, query, key] from the right stages.
  double (*weight)(const ExerciseStages& right, const std::array<std::uint32_t, 4>& cell) = nullptr;
  bool splits_by_reshape = false;  ///< without a transpose of tokens and heads
};

std::span<const WrongWay> wrong_ways();

/// The stages of the exercise when it is computed that way, which may be none: {}. `right`: stages_of().
ExerciseStages stages_by(const Exercise& exercise, const WrongWay& way, const ExerciseStages& right);
/// The vectors [batch, token, d_model] that the queries are made of; empty: Q, K and V are given.
model::reference::Array input_of(const Exercise& exercise);

}  // namespace headlight::app
