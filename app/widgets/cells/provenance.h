#pragma once

#include "app/engine/engine.h"
#include "app/state/state.h"
#include "app/state/transient.h"

namespace headlight::app {

/// The provenance of a number on screen, in lines of words.
struct Provenance {
  struct Line {
    std::string name;  ///< "weight", "computed by"
    std::string text;
  };
  std::string title;  ///< "attention weights of layer 0, head 3"
  std::vector<Line> lines;
};

// Names that NumberRef::of may have besides the ids of quantities():
inline constexpr std::string_view kQueryWeight = "w_q";   ///< [d_model, d_k] of the head
inline constexpr std::string_view kKeyWeight = "w_k";     ///< [d_model, d_k], of its KV head
inline constexpr std::string_view kValueWeight = "w_v";   ///< [d_model, d_v], of its KV head
inline constexpr std::string_view kOutputWeight = "w_o";  ///< [heads·d_v, d_model]
inline constexpr std::string_view kMemoryNumber = "memory";
inline constexpr std::string_view kGateWeight = "w_gate", kHiddenWeight = "w_1",
                                  kFfnWeight = "w_2";          ///< of the feed-forward
inline constexpr std::string_view kRouterWeight = "w_router";  ///< [d_model, experts]
/// The weights are in the order of LayerWeight.
inline constexpr std::array kWeightNumbers = {kQueryWeight, kKeyWeight,    kValueWeight, kOutputWeight,
                                              kGateWeight,  kHiddenWeight, kFfnWeight,   kRouterWeight};
inline constexpr std::string_view kExpertLoad = "expert-load";    ///< column: the expert
inline constexpr std::string_view kLogitNumber = "logit";         ///< row: token, column: id in the vocabulary
inline constexpr std::string_view kLogitPart = "logit-part";      ///< what a layer writes, times the token's direction
inline constexpr std::string_view kLogitOther = "logit-other";    ///< what no layer writes, times the token's direction
inline constexpr std::string_view kLogitHead = "logit-head";      ///< what one head writes, times the token's direction
inline constexpr std::string_view kLogitSource = "logit-source";  ///< what heads bring from one source token (`row`)
inline constexpr std::string_view kProbability = "probability";   ///< like kLogitNumber
inline constexpr std::string_view kLensProbability = "lens-probability";  ///< like kLogitNumber, after the block's layer
inline constexpr std::string_view kFlowShare = "flow-share";              ///< of an edge; row: to, column: from
inline constexpr std::string_view kMlpShare = "mlp-share";                ///< row: the token, after the block's layer
inline constexpr std::string_view kRolloutShare = "rollout-share";        ///< like kFlowShare
inline constexpr std::string_view kMaximumFlow = "maximum-flow";          ///< like kFlowShare
inline constexpr std::string_view kLargestFlow = "largest-flow";          ///< like kFlowShare, over all layers
inline constexpr std::string_view kKnockoutChange = "knockout-change";    ///< row and column like kLogitNumber
inline constexpr std::string_view kPatchRecovery = "patch-recovery";      ///< row and column like kLogitNumber
inline constexpr std::string_view kPathRecovery = "path-recovery";        ///< row and column like kLogitNumber
inline constexpr std::string_view kHeadDifference = "head-difference";    ///< the notes name the other head
inline constexpr std::string_view kAttentionMass = "attention-mass";      ///< the notes name queries and keys
inline constexpr std::string_view kPatternMatch = "pattern-match";        ///< the notes name the pattern
inline constexpr std::string_view kComposition = "composition";           ///< the notes name the other head
inline constexpr std::string_view kCopying = "copying";

/// NumberRef::column of a number that is of no token of the vocabulary.
inline constexpr std::uint32_t kNoToken = UINT32_MAX;
/// The name of a note that says how much of the run was looked at.
inline constexpr std::string_view kSampledNote = "exact or sampled";

/// Reads headers of the model's files, some milliseconds. A number of something that the run doesn't have gets a title and
/// no lines.
Provenance provenance_of(const EngineResult& result, const NumberRef& number);

/// Returns the title, the value and the lines as text for the clipboard. `value`: as the panel shows it; may be empty.
std::string write_provenance(const Provenance& provenance, const std::string& value);

}  // namespace headlight::app
