#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/analyses/head_knockouts.h"
#include "app/state/state.h"

namespace headlight::app {

/// A head, and what knocking it out changes.
struct KnockoutEffect {
  HeadRef head;
  double change = 0.0;  ///< of a probability in percentage points, else as it is

  bool operator==(const KnockoutEffect&) const = default;
};

/// The heads of a kind of attention that are known, by layer and head, or sorted: the largest change of either sign first.
std::vector<KnockoutEffect> knockout_effects(const HeadKnockouts& found, model::BlockKind kind,
                                             const WhatIfChoices& choices);

/// Percentage points of probabilities, nats of losses; empty: logits.
std::string_view unit_of(KnockoutMeasure measure);

/// All numbers of the heads that are known as CSV with a header line: kind, layer, head, then logit and probability, or
/// the loss, without the head and less the present ones.
std::string knockout_csv(const HeadKnockouts& found, KnockoutMeasure measure);

}  // namespace headlight::app
