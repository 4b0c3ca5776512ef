#pragma once

#include "app/analyses/patch_effects.h"
#include "app/state/state.h"

namespace headlight::app {

/// "residual stream", "attention output", "MLP output", "head outputs", "paths of heads".
std::string patched_thing(PatchMap map);

/// How the two runs are called: the present one and what it is compared with.
struct RunNames {
  std::string present = "the present run", baseline = "the baseline";
};
RunNames run_names(const State& state);

/// The run that is patched and the one that the activations come from.
std::string target_name(const PatchingChoices& choices, const RunNames& names);
std::string source_name(const PatchingChoices& choices, const RunNames& names);

/// The part of the difference from which on a cell is worth a word.
inline constexpr double kVisibleRecovery = 0.05;

/// What a number of the map is of: which run is changed in which way, and what 0 and 1 mean. `receiver`: of paths; `where`:
/// " at all tokens", of heads and paths.
std::string cell_text(const PatchingChoices& choices, const RunNames& names, const std::string& receiver, const char* where);

/// What is concluded from.
struct PatchedMap {
  PatchMap map = PatchMap::Residual;
  std::span<const PatchCell> strongest = {};  ///< first
  std::function<std::string(const PatchCell&)> place = {};
  std::string receiver = {};  ///< of paths
  std::size_t tried = 0;      ///< heads that were tried as receivers; 0: the user chose one
};
/// What a map says, in a sentence.
std::string conclusion_text(const PatchedMap& found);

/// "+1.203", "34 %", "2.418" (nats): a number of what is measured.
std::string measured_text(PatchMeasure measure, const PatchedNumbers& numbers);

/// A recovery as a sentence's beginning: "Goes 0.76 of the way to the baseline", or that it isn't one.
std::string recovery_text(const PatchingChoices& choices, const RunNames& names, double recovery);

/// A sentence where recoveries are large because both runs have nearly the same number; otherwise empty.
/// `largest`: the size of the largest recovery.
std::string scale_note(double largest);

/// All cells that are known as CSV with a header line: layer, token (with its text) or head, logit, probability, loss, and
/// the recovery of each. `label`: a token's text.
std::string patching_csv(const PatchEffects& effects, bool is_heads, const std::function<std::string(std::size_t)>& label);

}  // namespace headlight::app
