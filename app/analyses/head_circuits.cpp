#include "app/analyses/head_circuits.h"

#include <chrono>
#include <future>
#include <mutex>

#include "attribution/ov_copying.h"
#include "core/error.h"

namespace headlight::app {
namespace {

using SharedLayers = std::shared_ptr<const model::Layers>;

/// Multiply-adds of one step: some 10 ms.
constexpr std::size_t kStepWork = std::size_t{1} << 23;
/// Heads after which an incomplete result is reported.
constexpr std::size_t kToldHeads = 32;
/// How long a step waits for the thread that computes eigenvalues.
constexpr std::chrono::milliseconds kStepTime{10};

/// Complete results of the layers that were asked about last. Weights don't change, so the next run of the same layers has
/// them at once. Used by the threads of several engines.
template <typename Found>
class CircuitCache {
 public:
  static CircuitCache& instance() {
    static CircuitCache cache;
    return cache;
  }
  std::optional<Found> find(const SharedLayers& layers, const HeadRef& head) {
    const std::lock_guard lock(mutex_);
    const auto known = results_.find(head);
    return layers_.lock() != layers || known == results_.end() ? std::nullopt : std::optional(known->second);
  }
  void keep(const SharedLayers& layers, const HeadRef& head, const Found& result) {
    const std::lock_guard lock(mutex_);
    if (layers_.lock() != layers) results_.clear();
    layers_ = layers;
    results_.insert_or_assign(head, result);
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<const model::Layers> layers_;
  std::map<HeadRef, Found> results_;
};

std::vector<HeadRef> heads_that_can_copy(const model::Network& network) {
  std::vector<HeadRef> heads;
  std::string why = "it has no attention";
  for (const model::BlockRef& block : network.blocks()) {
    const model::AttentionLayer& layer = network.layer(block);
    why = attribution::why_no_copying(layer, block.kind);
    if (!why.empty()) continue;
    for (std::uint32_t head = 0; head < layer.config.heads; ++head) heads.push_back({.block = block, .head = head});
  }
  if (heads.empty()) throw Error("whether the heads of this model copy can't be said: {}", why);
  return heads;
}

}  // namespace

Task<HeadCompositions> analyse(CompositionQuestion question, AnalysisSubject subject) {
  CircuitCache<HeadCompositions>& cache = CircuitCache<HeadCompositions>::instance();
  const SharedLayers layers = subject.network->layers;
  if (const auto known = cache.find(layers, question.head)) co_return *known;
  attribution::HeadComposition composition(subject.network, question.head.block, question.head.head);
  HeadCompositions found;
  found.head = question.head;
  found.all_heads = composition.all_heads();
  for (bool is_done = found.all_heads == 0; !is_done;) {
    co_await read_nothing();  // weights are no part of a run
    is_done = composition.go_on(kStepWork);
    if (!is_done && composition.heads().size() < found.heads.size() + kToldHeads) continue;
    found.heads = composition.heads();
    co_yield found;
  }
  cache.keep(layers, question.head, found);
  co_return found;
}

Task<OvCopying> analyse(OvCopyingQuestion /*question*/, AnalysisSubject subject) {
  CircuitCache<OvCopying>& cache = CircuitCache<OvCopying>::instance();
  const std::shared_ptr<const model::Network> network = subject.network;
  if (const auto known = cache.find(network->layers, {})) co_return *known;
  const std::vector<HeadRef> heads = heads_that_can_copy(*network);
  OvCopying found;
  found.all_heads = heads.size();
  co_await read_nothing();
  auto end = std::chrono::steady_clock::now() + kStepTime;
  for (const HeadRef& head : heads) {
    // On a thread of its own: the eigenvalues of a wide head take longer than a step may.
    auto pending = std::async(std::launch::async,
                              [network, head] { return attribution::ov_copying(network->layer(head.block), head.head); });
    while (pending.wait_until(end) != std::future_status::ready) {
      co_await read_nothing();
      end = std::chrono::steady_clock::now() + kStepTime;
    }
    found.heads.emplace(head, pending.get());
    if (found.heads.size() % kToldHeads == 1) co_yield found;
  }
  cache.keep(network->layers, {}, found);
  co_return found;
}

}  // namespace headlight::app
