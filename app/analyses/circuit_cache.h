#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "model/network.h"

namespace headlight::app {

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
