#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "app/engine/analyses/analysis.h"
#include "attribution/head_composition.h"
#include "model/network.h"

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
/// Asks whether each head copies, by its weights alone (attribution/vocabulary_circuits.h). Results are kept for the
/// network's next runs.
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

/// Complete results of the layers that were asked about last. Weights don't change, so the next run of the same layers has
/// them at once. The threads of several engines use the cache.
template <typename Key, typename Found>
class CircuitCache {
 public:
  static CircuitCache& instance() {
    static CircuitCache cache;
    return cache;
  }
  std::optional<Found> find(const std::shared_ptr<const model::Layers>& layers, const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto known = results_.find(key);
    return layers_.lock() != layers || known == results_.end() ? std::nullopt : std::optional(known->second);
  }
  void keep(const std::shared_ptr<const model::Layers>& layers, const Key& key, const Found& result) {
    constexpr std::size_t kMaxResults = 4'096;
    const std::lock_guard lock(mutex_);
    if (layers_.lock() != layers || results_.size() >= kMaxResults) results_.clear();
    layers_ = layers;
    results_.insert_or_assign(key, result);
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<const model::Layers> layers_;
  std::map<Key, Found> results_;
};

}  // namespace headlight::app
