#include "app/engine/analyses/head_circuits.h"

#include <chrono>
#include <future>

#include "attribution/vocabulary_circuits.h"
#include "core/error.h"

namespace headlight::app {
namespace {

using SharedLayers = std::shared_ptr<const model::Layers>;

/// Multiply-adds of one step: some 10 ms.
constexpr std::size_t kStepWork = std::size_t{1} << 23;
/// Heads after which an incomplete result is reported.
constexpr std::size_t kToldHeads = 32;
/// The time that a step waits for the thread that computes eigenvalues.
constexpr std::chrono::milliseconds kStepTime{10};

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
  CircuitCache<HeadRef, HeadCompositions>& cache = CircuitCache<HeadRef, HeadCompositions>::instance();
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

Task<CompositionGraph> analyse(CompositionGraphQuestion /*question*/, AnalysisSubject subject) {
  constexpr std::size_t kTold = 16;
  auto& cache = CircuitCache<HeadRef, CompositionGraph>::instance();
  const std::shared_ptr<const model::Network> network = subject.network;
  if (const auto known = cache.find(network->layers, {})) co_return *known;
  std::vector<HeadRef> readers;
  for (const auto& entry : subject.shapes) {
    for (std::uint32_t head = 0; head < entry.second.heads; ++head) readers.push_back({.block = entry.first, .head = head});
  }
  CompositionGraph found;
  found.all = readers.size();
  for (const HeadRef& reader : readers) {
    attribution::HeadComposition composition(network, reader.block, reader.head, true);
    bool is_done = composition.all_heads() == 0;
    while (!is_done) {
      co_await read_nothing();
      is_done = composition.go_on(kStepWork);
    }
    for (const attribution::ComposedHead& writer : composition.heads()) {
      CompositionGraph::Arc arc{.writer = {.block = writer.block, .head = writer.head}, .reader = reader, .scores = {}};
      std::ranges::transform(writer.scores, arc.scores.begin(), [](const std::optional<double>& score) {
        return static_cast<float>(score.value_or(std::numeric_limits<double>::quiet_NaN()));
      });
      found.arcs.push_back(arc);
    }
    ++found.known;
    if (found.known % (found.all / kTold + 1) == 0) co_yield found;
  }
  cache.keep(network->layers, {}, found);
  co_return found;
}

Task<OvCopying> analyse(OvCopyingQuestion /*question*/, AnalysisSubject subject) {
  CircuitCache<HeadRef, OvCopying>& cache = CircuitCache<HeadRef, OvCopying>::instance();
  const std::shared_ptr<const model::Network> network = subject.network;
  if (const auto known = cache.find(network->layers, {})) co_return *known;
  const std::vector<HeadRef> heads = heads_that_can_copy(*network);
  OvCopying found;
  found.all_heads = heads.size();
  co_await read_nothing();
  auto end = std::chrono::steady_clock::now() + kStepTime;
  for (const HeadRef& head : heads) {
    // The eigenvalues are computed on a thread of their own: those of a wide head take longer than a step may.
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
