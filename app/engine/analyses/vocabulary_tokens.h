#pragma once

#include "app/engine/analyses/analysis.h"
#include "attribution/vocabulary_circuits.h"

namespace headlight::app {

/// Asks which tokens of the whole vocabulary a head's circuit (attribution/vocabulary_circuits.h) gives the largest and
/// smallest numbers beside one token. Results of a network's layers are kept for its next runs.
struct VocabularyQuestion {
  HeadRef head = {};
  attribution::TokenCircuit circuit = attribution::TokenCircuit::Written;
  std::uint32_t token = 0;
  std::optional<attribution::CircuitPositions> positions = {};  ///< of Keys and Queries

  auto operator<=>(const VocabularyQuestion&) const = default;
};

inline constexpr std::size_t kListedTokens = 30;

struct VocabularyTokens final : AnalysisResult {
  struct Entry {
    std::uint32_t id = 0;
    double value = 0.0;

    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> highest, lowest;  ///< at most kListedTokens each, the farthest first, equal ones by id
  std::size_t known = 0, all = 0;      ///< tokens of the vocabulary
  std::optional<double> own;           ///< of the token itself

  bool is_complete() const { return known == all; }
};

/// Computes a chunk of the vocabulary a step, on the run's device. Throws Error where the head has no such circuit.
Task<VocabularyTokens> analyse(VocabularyQuestion question, AnalysisSubject subject);

}  // namespace headlight::app
