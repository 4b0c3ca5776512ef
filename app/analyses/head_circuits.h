#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "app/analyses/analysis.h"
#include "attribution/head_composition.h"

namespace headlight::app {

/// How much one head composes with every other one, by their weights alone (attribution/head_composition.h). Heeds `block`
/// and `head`. What is known of a network's layers is kept for its next runs.
extern const Analysis kHeadCompositions;

/// Does each head copy, by its weights alone (attribution/ov_copying.h)? Heeds nothing; likewise kept.
extern const Analysis kOvCopying;

struct HeadCompositions final : AnalysisResult {
  HeadRef head;                                  ///< that was asked about
  std::vector<attribution::ComposedHead> heads;  ///< those that are known
  std::size_t all_heads = 0;                     ///< that compose with it

  bool is_complete() const { return heads.size() == all_heads; }
};

struct OvCopying final : AnalysisResult {
  std::map<HeadRef, std::optional<double>> heads;  ///< those that are known; none: see attribution::ov_copying()
  std::size_t all_heads = 0;                       ///< of all kinds of attention that can copy

  bool is_complete() const { return heads.size() == all_heads; }
};

/// The question about the selected head.
AnalysisQuery composition_query(const Selection& selection);

}  // namespace headlight::app
