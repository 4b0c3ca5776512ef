#pragma once

#include "app/analyses/analysis.h"
#include "attribution/head_composition.h"

namespace headlight::app {

/// Asks how much one head composes with every other one, by their weights alone (attribution/head_composition.h). Results of
/// a network's layers are kept for its next runs.
struct CompositionQuestion {
  HeadRef head = {};

  auto operator<=>(const CompositionQuestion&) const = default;
};
/// Asks how much every two heads compose. Results are kept for the network's next runs.
struct CompositionGraphQuestion {
  auto operator<=>(const CompositionGraphQuestion&) const = default;
};
/// Asks whether each head copies, by its weights alone (attribution/ov_copying.h). Results are kept for the network's next
/// runs.
struct OvCopyingQuestion {
  auto operator<=>(const OvCopyingQuestion&) const = default;
};

struct HeadCompositions final : AnalysisResult {
  HeadRef head;                                  ///< that was asked about
  std::vector<attribution::ComposedHead> heads;  ///< those that are known
  std::size_t all_heads = 0;                     ///< that compose with it

  bool is_complete() const { return heads.size() == all_heads; }
};

struct CompositionGraph final : AnalysisResult {
  struct Arc {
    HeadRef writer, reader;
    std::array<float, attribution::kCompositions> scores;  ///< NaN: none
  };
  std::vector<Arc> arcs;
  std::size_t known = 0, all = 0;  ///< heads that are asked what they read

  bool is_complete() const { return known == all; }
};

struct OvCopying final : AnalysisResult {
  std::map<HeadRef, std::optional<double>> heads;  ///< those that are known; none: see attribution::ov_copying()
  std::size_t all_heads = 0;                       ///< of all kinds of attention that can copy

  bool is_complete() const { return heads.size() == all_heads; }
};

/// They report what they know after every 32 heads, the graph after every sixteenth part of them.
Task<HeadCompositions> analyse(CompositionQuestion question, AnalysisSubject subject);
Task<CompositionGraph> analyse(CompositionGraphQuestion question, AnalysisSubject subject);
Task<OvCopying> analyse(OvCopyingQuestion question, AnalysisSubject subject);

/// Returns the question about the selected head.
inline CompositionQuestion composition_query(const Selection& selection) { return {selection.head_ref()}; }

}  // namespace headlight::app
