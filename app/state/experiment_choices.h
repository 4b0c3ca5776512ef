#pragma once

#include <cstdint>
#include <optional>

#include "model/config.h"

namespace headlight::app {

// The settings of the views that change a run, or put two next to each other: parts of State.

/// What the what-if view tells of each head: how much knocking it out changes the logit of a token (or its difference from
/// another token's), the token's probability, or the mean loss of the text.
enum class KnockoutMeasure : std::uint8_t { Logit, Probability, Loss };
/// What a head's output becomes in it: 0; its mean over the tokens of the text, which keeps what the head gives
/// everywhere; or its mean over those of the baseline.
enum class Ablation : std::uint8_t { Zero, Mean, BaselineMean };

/// The what-if view's own settings. Its tokens are the logits view's.
struct WhatIfChoices {
  KnockoutMeasure measure = KnockoutMeasure::Logit;
  Ablation ablation = Ablation::Zero;
  bool is_sorted = true;  ///< the list begins with the head that matters most; else by layer and head

  bool operator==(const WhatIfChoices&) const = default;
};

/// Where the patching view takes activations from one run to the other, cell by cell: the residual stream before each layer,
/// what attention or the feed-forward network adds, each for every layer and token; what single heads give; or what single
/// heads give to one input of another head, the receiver, and to nothing else (path patching).
enum class PatchMap : std::uint8_t { Residual, AttentionOutput, FeedForward, Heads, Paths };
/// Is a cell of the map a head?
constexpr bool is_of_heads(PatchMap map) { return map == PatchMap::Heads || map == PatchMap::Paths; }
/// What is measured of a patched run: the logit of a token (or its difference from another token's), its probability, or its
/// loss −ln p.
enum class PatchMeasure : std::uint8_t { Logit, Probability, Loss };

/// What of the receiver's attention a path ends in.
enum class PathInput : std::uint8_t { Query, Key, Value };
/// The last layer, whichever number it has; of a PathReceiver: none was chosen.
inline constexpr std::uint32_t kLastLayer = 0xffff'fffeU;
/// The head in which the paths of path patching end, and how they get there. Until one is chosen the view looks for a strong
/// head into which visible paths lead, and for its input (find_receiver()). Beyond the last layer or head: the last one.
struct PathReceiver {
  model::BlockKind kind = model::BlockKind::EncoderSelf;
  std::uint32_t layer = kLastLayer, head = 0;
  PathInput input = PathInput::Query;
  bool recomputes_mlps = true;  ///< paths lead through MLPs as well; else they are baseline, as all other heads are

  bool operator==(const PathReceiver&) const = default;
};

/// The patching view's own settings. Its tokens are the logits view's.
struct PatchingChoices {
  PatchMap map = PatchMap::Residual;
  PatchMeasure measure = PatchMeasure::Logit;
  bool into_baseline = false;  ///< the present run's activations go into the baseline; else the baseline's into the present
  std::optional<std::uint32_t> token = {};  ///< the selected row of the map
  bool at_token = false;                    ///< heads are patched at that token alone; else at all
  PathReceiver receiver = {};               ///< of PatchMap::Paths

  bool operator==(const PatchingChoices&) const = default;
};

/// What the side-by-side view shows beside the selected head.
enum class SideMap : std::uint8_t {
  OtherHead,  ///< another head of the same kind of attention, in this run
  Baseline,   ///< the same head in the baseline
  LayerMean,  ///< the mean of the heads of its layer
};
struct SideBySideChoices {
  SideMap right = SideMap::OtherHead;
  bool is_chosen = false;             ///< the other head; else it is the one that attends least like the selected one
  std::uint32_t layer = 0, head = 1;  ///< of the other head; beyond the last one: the last one is shown

  bool operator==(const SideBySideChoices&) const = default;
};

}  // namespace headlight::app
