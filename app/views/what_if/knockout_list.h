#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/analyses/head_knockouts.h"
#include "app/state/state.h"

namespace headlight::app {

/// A head, and what knocking it out changes.
struct KnockoutEffect {
  HeadRef head;
  double change = 0.0;                  ///< of a probability in percentage points, else as it is
  std::optional<double> baseline = {};  ///< the same in the baseline; none: nothing is compared

  /// What is drawn: the change, or by how much it differs from the baseline's.
  double shown() const { return change - baseline.value_or(0.0); }
  bool operator==(const KnockoutEffect&) const = default;
};

/// What the view shows: the run's Δ-map, and where differences are shown the baseline's.
struct ShownKnockouts {
  const HeadKnockouts& now;
  const HeadKnockouts* baseline = nullptr;

  /// None: it isn't known yet, of the baseline either where there is one.
  std::optional<KnockoutEffect> effect(const HeadRef& head, KnockoutMeasure measure) const;
};

/// The heads of a kind of attention that are known, by layer and head, or sorted: the largest number of either sign first.
std::vector<KnockoutEffect> knockout_effects(const ShownKnockouts& found, model::BlockKind kind,
                                             const WhatIfChoices& choices);

/// Percentage points of probabilities, nats of losses; empty: logits.
std::string_view unit_of(KnockoutMeasure measure);

/// All numbers of the heads that are known as CSV with a header line: kind, layer, head, then logit and probability, or
/// the loss, without the head and less the present ones; where there is a baseline, each change there as well.
std::string knockout_csv(const ShownKnockouts& found, KnockoutMeasure measure);

}  // namespace headlight::app
