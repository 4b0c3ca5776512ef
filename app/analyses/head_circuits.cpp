#include "app/analyses/head_circuits.h"

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <utility>

#include "attribution/ov_copying.h"
#include "core/error.h"

namespace headlight::app {
namespace {

using SharedLayers = std::shared_ptr<const model::Layers>;
using SharedResult = std::shared_ptr<const AnalysisResult>;

/// Multiply-adds of one step: some 10 ms.
constexpr std::size_t kStepWork = std::size_t{1} << 23;
/// Heads after which a result is told that isn't complete yet.
constexpr std::size_t kToldHeads = 32;
/// How long a step waits for the thread that computes eigenvalues.
constexpr std::chrono::milliseconds kStepTime{10};

/// Complete results of the layers that were asked about last. Weights don't change, so the next run of the same layers has
/// them at once. Used by the threads of several engines.
class CircuitCache {
 public:
  SharedResult find(const SharedLayers& layers, const Analysis& analysis, const HeadRef& head) {
    const std::lock_guard lock(mutex_);
    if (layers_.lock() != layers) return nullptr;
    const auto known = results_.find({&analysis, head});
    return known == results_.end() ? nullptr : known->second;
  }
  void keep(const SharedLayers& layers, const Analysis& analysis, const HeadRef& head, SharedResult result) {
    const std::lock_guard lock(mutex_);
    if (layers_.lock() != layers) {
      layers_ = layers;
      results_.clear();
    }
    results_.insert_or_assign({&analysis, head}, std::move(result));
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<const model::Layers> layers_;
  std::map<std::pair<const Analysis*, HeadRef>, SharedResult> results_;
};

CircuitCache& cache() {
  static CircuitCache instance;
  return instance;
}

/// What is known already.
class KnownTask final : public AnalysisTask {
 public:
  explicit KnownTask(SharedResult result) : result_(std::move(result)) {}

  Reads next(std::size_t /*most_cells*/) override { return {}; }
  void take(const Answers& /*answers*/) override {}
  bool is_done() const override { return true; }
  SharedResult result() const override { return result_; }

 private:
  SharedResult result_;
};

class CompositionTask final : public AnalysisTask {
 public:
  CompositionTask(const AnalysisQuery& query, const AnalysisSubject& subject)
      : head_{.block = query.block, .head = query.head},
        layers_(subject.network->layers),
        composition_(subject.network, query.block, query.head) {
    is_done_ = composition_.all_heads() == 0;
    tell();
  }

  /// Nothing: weights are no part of a run.
  Reads next(std::size_t /*most_cells*/) override { return {}; }
  void take(const Answers& /*answers*/) override {
    is_done_ = composition_.go_on(kStepWork);
    if (is_done_ || composition_.heads().size() >= told_->heads.size() + kToldHeads) tell();
    if (is_done_) cache().keep(layers_, kHeadCompositions, head_, told_);
  }
  bool is_done() const override { return is_done_; }
  SharedResult result() const override { return told_; }

 private:
  void tell() {
    auto found = std::make_shared<HeadCompositions>();
    found->head = head_;
    found->heads = composition_.heads();
    found->all_heads = composition_.all_heads();
    told_ = std::move(found);
  }

  HeadRef head_;
  SharedLayers layers_;
  attribution::HeadComposition composition_;
  std::shared_ptr<const HeadCompositions> told_;
  bool is_done_ = false;
};

/// One head after the other on a thread of its own: the eigenvalues of a wide head take longer than a step may.
class CopyingTask final : public AnalysisTask {
 public:
  explicit CopyingTask(const AnalysisSubject& subject) : network_(subject.network) {
    std::string why = "it has no attention";
    for (const model::BlockRef& block : network_->blocks()) {
      const model::AttentionLayer& layer = network_->layer(block);
      why = attribution::why_no_copying(layer, block.kind);
      if (!why.empty()) continue;
      for (std::uint32_t head = 0; head < layer.config.heads; ++head) heads_.push_back({.block = block, .head = head});
    }
    if (heads_.empty()) throw Error("whether the heads of this model copy can't be said: {}", why);
    found_.all_heads = heads_.size();
  }

  Reads next(std::size_t /*most_cells*/) override { return {}; }
  void take(const Answers& /*answers*/) override {
    const auto end = std::chrono::steady_clock::now() + kStepTime;
    while (!is_done()) {
      if (!pending_.valid()) {
        const HeadRef head = heads_[found_.heads.size()];
        pending_ = std::async(std::launch::async, [network = network_, head] {
          return attribution::ov_copying(network->layer(head.block), head.head);
        });
      }
      if (pending_.wait_until(end) != std::future_status::ready) break;
      found_.heads.emplace(heads_[found_.heads.size()], pending_.get());
    }
    if (!is_done() && (told_ ? found_.heads.size() < told_->heads.size() + kToldHeads : found_.heads.empty())) return;
    told_ = std::make_shared<const OvCopying>(found_);
    if (is_done()) cache().keep(network_->layers, kOvCopying, {}, told_);
  }
  bool is_done() const override { return found_.heads.size() == heads_.size(); }
  SharedResult result() const override { return told_; }

 private:
  std::shared_ptr<const model::Network> network_;
  std::vector<HeadRef> heads_;
  std::future<std::optional<double>> pending_;  ///< of the head behind those that are known
  OvCopying found_;
  std::shared_ptr<const OvCopying> told_;
};

std::unique_ptr<AnalysisTask> begin_composition(const AnalysisQuery& query, const AnalysisSubject& subject) {
  const HeadRef head{.block = query.block, .head = query.head};
  if (SharedResult known = cache().find(subject.network->layers, kHeadCompositions, head)) {
    return std::make_unique<KnownTask>(std::move(known));
  }
  return std::make_unique<CompositionTask>(query, subject);
}

std::unique_ptr<AnalysisTask> begin_copying(const AnalysisQuery& /*query*/, const AnalysisSubject& subject) {
  if (SharedResult known = cache().find(subject.network->layers, kOvCopying, {})) {
    return std::make_unique<KnownTask>(std::move(known));
  }
  return std::make_unique<CopyingTask>(subject);
}

}  // namespace

constexpr Analysis kHeadCompositions{.id = "head-compositions", .title = "which heads compose", .begin = &begin_composition};
constexpr Analysis kOvCopying{.id = "ov-copying", .title = "which heads copy", .begin = &begin_copying};

AnalysisQuery composition_query(const Selection& selection) {
  return {.analysis = &kHeadCompositions, .block = selection.block, .head = selection.head};
}

}  // namespace headlight::app
