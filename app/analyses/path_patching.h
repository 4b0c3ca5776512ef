#pragma once

#include "app/analyses/analysis.h"
#include "app/analyses/patch_effects.h"

namespace headlight::app {

/// Path patching between the run and the baseline (Wang et al. 2022; Goldowsky-Dill et al. 2023): for every head of a kind
/// (a sender) what its output in the other run does to a prediction where only one input of another head (the receiver)
/// learns of it. Two passes a sender. In the first the sender's output z is the other run's; the attention outputs of all
/// blocks between sender and receiver are those of the patched run, and so are the outputs of the MLPs between, unless they
/// are recomputed; norms are. What the receiver's queries, keys or values become there is read. In the second they alone are
/// replaced, in the run that is patched. Passes of senders of one layer are computed together (Reads::passes). Of keys and
/// values several heads may share one KV head: all of them receive then. A sender whose output is the same in both runs, bit
/// by bit, needs no pass.
struct PathQuestion {
  HeadRef receiver = {};
  PathInput input = PathInput::Query;
  model::BlockKind senders = {};  ///< their kind of attention
  bool into_baseline = false;     ///< the run's outputs go into the baseline
  bool recomputes_mlps = false;
  std::optional<std::uint32_t> token = {};  ///< senders are patched at that token alone
  MeasuredToken measured = {};

  auto operator<=>(const PathQuestion&) const = default;
  bool compares() const { return true; }
};
/// Effects of the senders' layers, told sender by sender.
Task<PatchEffects> analyse(PathQuestion question, AnalysisSubject subject);

/// The receiver that is meant: the last layer or head where there is none of that number. None where the run has no
/// attention of the kind.
std::optional<HeadRef> receiver_in(const PathReceiver& receiver, const BlockShapes& shapes);

/// The choices' question.
PathQuestion path_patching_query(const PatchingChoices& choices, const HeadRef& receiver, model::BlockKind senders,
                                 std::uint32_t batch, std::uint32_t position, std::uint32_t token,
                                 std::optional<std::uint32_t> other);

}  // namespace headlight::app
