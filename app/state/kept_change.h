#pragma once

#include <cstddef>
#include <string>

#include "core/shared_value.h"
#include "inference/intervention.h"

namespace headlight::app {

/// A change of the pass that the user keeps: numbers of another run, as a patch (Replace) or a steering vector (Add), or a
/// head's mean over the text (Average), or another run's attention pattern (ReplacePattern). Numbers are part of the state,
/// so that a session has them and repeats the run.
struct KeptChange {
  std::string name;  ///< for lists: "residual stream of \u201Ca cat\u201D, L3 token 2"
  SharedValue<inference::Intervention> intervention;
  float strength = 1.0F;  ///< factor of a steering vector

  bool operator==(const KeptChange&) const = default;
};
using KeptChanges = std::vector<KeptChange>;

inline constexpr std::size_t kMaxKeptChanges = 64;
inline constexpr float kMaxStrength = 100.0F;

/// Returns the change's intervention with its strength.
inference::Intervention intervention_of(const KeptChange& change);

}  // namespace headlight::app
