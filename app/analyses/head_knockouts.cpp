#include "app/analyses/head_knockouts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "app/analyses/log_sum_exp.h"
#include "app/analyses/patch_place.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Logits that are read at once: reading and adding up more would take longer than a step may.
constexpr std::size_t kStepLogits = std::size_t{1} << 21;
/// Heads of a layer that are offered to be knocked out together, each in a pass of its own.
constexpr std::size_t kMostPasses = 32;
/// Numbers of heads' outputs that are read at once.
constexpr std::size_t kStepOutputs = std::size_t{1} << 18;
/// Passes that steps leave room for, where a text's logits don't fit into one step.
constexpr std::size_t kUsualPasses = 8;

class HeadKnockoutsTask final : public AnalysisTask {
 public:
  HeadKnockoutsTask(const AnalysisQuery& query, const AnalysisSubject& subject);

  Reads next(std::size_t most_cells) override;
  void take(const Answers& answers) override;
  bool is_done() const override { return pass_ > heads_.size(); }
  std::shared_ptr<const AnalysisResult> result() const override;

 private:
  /// A state whose logits are read, and the token of which they say something.
  struct Reading {
    inference::StateRef state;
    std::uint32_t token = 0;
  };
  void list_readings(const AnalysisQuery& query, const AnalysisSubject& subject);
  std::size_t readings_at_once() const;
  /// Heads from the next one on that are of its layer.
  std::span<const HeadRef> offered() const;
  /// Does the layer's mean of each head have to be read first?
  bool needs_means() const;
  /// All tokens of the line, of a head.
  PatchPlace place_of(const HeadRef& head) const;
  inference::Intervention ablated(const HeadRef& head) const;
  void read(const Reading& reading, std::span<const float> logits, PredictedNumbers& numbers) const;
  void end_passes();

  bool measures_loss_;
  Ablation ablation_;
  std::uint32_t batch_;
  std::optional<std::uint32_t> other_;
  std::size_t vocabulary_ = 0;
  std::vector<HeadRef> heads_;
  BlockShapes shapes_;
  std::shared_ptr<const model::ModelInput> input_;
  std::vector<Reading> readings_;
  std::size_t pass_ = 0;                         ///< 0: the run as it is; then heads_[pass_ - 1] is knocked out
  std::size_t reading_ = 0;                      ///< the next of the passes
  std::vector<PredictedNumbers> numbers_;        ///< of the passes that are read: from pass_ on
  std::map<HeadRef, std::vector<float>> means_;  ///< [token, d_v] of the baseline, of the layer's heads
  HeadKnockouts found_;
};

HeadKnockoutsTask::HeadKnockoutsTask(const AnalysisQuery& query, const AnalysisSubject& subject)
    : measures_loss_(query.options[0] == static_cast<std::uint32_t>(KnockoutMeasure::Loss)),
      ablation_(static_cast<Ablation>(query.options[1])),
      batch_(query.batch),
      shapes_(subject.shapes),
      input_(subject.input) {
  if (!subject.has_logits) throw Error("this network predicts no tokens");
  vocabulary_ = subject.network->layers->unembedding->linear.out();
  if (query.tokens[1] != query.tokens[0]) other_ = query.tokens[1];
  if (query.tokens[0] >= vocabulary_ || other_.value_or(0) >= vocabulary_) throw Error("this run has no such prediction");
  for (const model::BlockRef block : subject.network->blocks()) {
    const model::AttentionLayer& layer = subject.network->layer(block);
    for (std::uint32_t head = 0; head < layer.config.heads; ++head) heads_.push_back({.block = block, .head = head});
  }
  found_.all_heads = heads_.size();
  list_readings(query, subject);
}

void HeadKnockoutsTask::list_readings(const AnalysisQuery& query, const AnalysisSubject& subject) {
  const model::TokenBatch& tokens = subject.input->target ? *subject.input->target : subject.input->source;
  const model::Layers& layers = *subject.network->layers;
  const auto last = static_cast<std::uint32_t>(layers.decoder.empty() ? layers.encoder.size() : layers.decoder.size());
  if (query.batch >= tokens.batch) throw Error("this run has {} lines", tokens.batch);
  if (!measures_loss_) {
    if (query.query >= tokens.length) throw Error("this run has no such prediction");
    readings_.push_back({.state = {.batch = query.batch, .token = query.query, .layer = last}, .token = query.tokens[0]});
    return;
  }
  const std::uint32_t first = tokens.start(query.batch), end = first + tokens.lengths[query.batch];
  const bool has_ids = tokens.vectors.is_empty() && tokens.ids.size() >= std::size_t{query.batch + 1} * tokens.length;
  if (!has_ids || end < first + 2) throw Error("a loss needs a text of two tokens or more");
  for (std::uint32_t token = first; token + 1 < end; ++token) {
    const std::uint32_t next = tokens.ids[std::size_t{query.batch} * tokens.length + token + 1];
    if (next >= vocabulary_) throw Error("token {} isn't one that the model predicts", token + 1);
    readings_.push_back({.state = {.batch = query.batch, .token = token, .layer = last}, .token = next});
  }
}

std::size_t HeadKnockoutsTask::readings_at_once() const {
  const std::size_t passes = pass_ == 0 ? 1 : std::min(offered().size(), kUsualPasses);
  const std::size_t most = std::max<std::size_t>(kStepLogits / vocabulary_ / passes, 1);
  return std::min(most, readings_.size() - reading_);
}

std::span<const HeadRef> HeadKnockoutsTask::offered() const {
  const std::span<const HeadRef> rest = std::span(heads_).subspan(pass_ - 1);
  const bool reads_means = ablation_ == Ablation::BaselineMean;
  std::size_t most = std::min(rest.size(), kMostPasses);
  if (reads_means) {
    const PatchPlace place = place_of(rest.front());
    const std::size_t numbers = std::size_t{place.count} * shapes_.at(place.block).d_v;
    most = std::clamp<std::size_t>(kStepOutputs / std::max<std::size_t>(numbers, 1), 1, most);
  }
  const bool has_means = means_.contains(rest.front());
  std::size_t count = 1;
  while (count < most && rest[count].block == rest.front().block) {
    if (reads_means && has_means && !means_.contains(rest[count])) break;  // which are read next
    ++count;
  }
  return rest.first(count);
}

bool HeadKnockoutsTask::needs_means() const {
  return pass_ > 0 && ablation_ == Ablation::BaselineMean && !means_.contains(heads_[pass_ - 1]);
}

PatchPlace HeadKnockoutsTask::place_of(const HeadRef& head) const {
  const model::TokenBatch& tokens = input_->queries(head.block.kind);
  return {.map = PatchMap::Heads,
          .block = head.block,
          .batch = batch_,
          .head = head.head,
          .first = tokens.start(batch_),
          .count = tokens.lengths[batch_]};
}

inference::Intervention HeadKnockoutsTask::ablated(const HeadRef& head) const {
  const PatchPlace place = place_of(head);
  inference::Intervention one = intervention_at(place);
  one.operation = inference::Scale{.gain = 0.0F};
  if (ablation_ == Ablation::Mean) one.operation = inference::Average{};
  if (ablation_ == Ablation::BaselineMean) {
    one.operation = inference::Replace{.item = batch_, .first = place.first, .rows = means_.at(head)};
  }
  return one;
}

AnalysisTask::Reads HeadKnockoutsTask::next(std::size_t /*most_cells*/) {
  Reads reads;
  if (needs_means()) {
    reads.is_of_reference = true;
    for (const HeadRef& head : offered()) read_place(place_of(head), shapes_.at(head.block), reads);
    return reads;
  }
  const std::size_t count = readings_at_once();
  for (std::size_t i = 0; i < count; ++i) reads.logits.push_back(readings_[reading_ + i].state);
  if (pass_ == 0) return reads;
  for (const HeadRef& head : offered()) reads.passes.push_back({ablated(head)});
  return reads;
}

void HeadKnockoutsTask::take(const Answers& answers) {
  if (needs_means()) {
    means_.clear();
    const std::span<const HeadRef> heads = offered();
    for (std::size_t i = 0; i < heads.size(); ++i) {
      std::vector<float>& rows = means_[heads[i]];
      rows = std::move(answers.tiles[i].values);
      spread_mean(rows, shapes_.at(heads[i].block).d_v);
    }
    return;
  }
  // What was read of a pass stays right where it is computed again beside fewer or more others: the first ones go on, those
  // that are left out begin again with the next ones.
  const std::size_t count = answers.logits.size() / vocabulary_ / answers.passes;
  numbers_.resize(reading_ == 0 ? answers.passes : std::min(answers.passes, numbers_.size()));
  for (std::size_t i = 0; i < count * numbers_.size(); ++i) {
    read(readings_[reading_ + i % count], answers.logits.subspan(i * vocabulary_, vocabulary_), numbers_[i / count]);
  }
  reading_ += count;
  if (reading_ == readings_.size()) end_passes();
}

void HeadKnockoutsTask::read(const Reading& reading, std::span<const float> logits, PredictedNumbers& numbers) const {
  const double logit = static_cast<double>(logits[reading.token]);
  const double log_probability = logit - log_sum_exp(logits);
  if (measures_loss_) {
    numbers.loss -= log_probability;
    return;
  }
  numbers.logit = logit - (other_ ? static_cast<double>(logits[*other_]) : 0.0);
  numbers.probability = std::exp(log_probability);
}

void HeadKnockoutsTask::end_passes() {
  for (PredictedNumbers& numbers : numbers_) {
    if (measures_loss_) numbers.loss /= static_cast<double>(readings_.size());
    if (pass_ == 0) {
      found_.present = numbers;
    } else {
      found_.without.emplace(heads_[pass_ - 1], numbers);
    }
    ++pass_;
  }
  numbers_.clear();
  reading_ = 0;
}

std::shared_ptr<const AnalysisResult> HeadKnockoutsTask::result() const {
  if (pass_ == 0) return nullptr;
  return std::make_shared<const HeadKnockouts>(found_);
}

std::unique_ptr<AnalysisTask> begin_head_knockouts(const AnalysisQuery& query, const AnalysisSubject& subject) {
  return std::make_unique<HeadKnockoutsTask>(query, subject);
}

}  // namespace

constexpr Analysis kHeadKnockouts{
    .id = "head-knockouts", .title = "what knocking out heads changes", .begin = &begin_head_knockouts};
constexpr Analysis kReferenceAblations{.id = "reference-ablations",
                                       .title = "what heads change that give their mean over the baseline",
                                       .begin = &begin_head_knockouts,
                                       .compares = true};

AnalysisQuery knockout_query(const WhatIfChoices& choices, std::uint32_t batch, std::uint32_t position, std::uint32_t token,
                             std::optional<std::uint32_t> other) {
  const bool is_of_baseline_mean = choices.ablation == Ablation::BaselineMean;
  AnalysisQuery query{.analysis = is_of_baseline_mean ? &kReferenceAblations : &kHeadKnockouts, .batch = batch};
  query.options[1] = static_cast<std::uint32_t>(choices.ablation);
  if (choices.measure == KnockoutMeasure::Loss) {
    query.options[0] = static_cast<std::uint32_t>(choices.measure);
    return query;
  }
  query.query = position;
  query.tokens = {token, other.value_or(token)};
  return query;
}

double PredictedNumbers::of(KnockoutMeasure measure) const {
  switch (measure) {
    case KnockoutMeasure::Logit:
      return logit;
    case KnockoutMeasure::Probability:
      return probability;
    case KnockoutMeasure::Loss:
      break;
  }
  return loss;
}

std::optional<double> HeadKnockouts::change(const HeadRef& head, KnockoutMeasure measure) const {
  const auto found = without.find(head);
  if (found == without.end()) return std::nullopt;
  return found->second.of(measure) - present.of(measure);
}

}  // namespace headlight::app
