#include "app/analyses/head_knockouts.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "app/analyses/log_sum_exp.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Logits that are read at once: reading and adding up more would take longer than a step may.
constexpr std::size_t kStepLogits = std::size_t{1} << 21;

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
  void read(const Reading& reading, std::span<const float> logits);
  void end_pass();

  bool measures_loss_;
  inference::Operation ablation_;
  std::optional<std::uint32_t> other_;
  std::size_t vocabulary_ = 0;
  std::vector<HeadRef> heads_;
  std::vector<Reading> readings_;
  std::size_t pass_ = 0;     ///< 0: the run as it is; then heads_[pass_ - 1] is knocked out
  std::size_t reading_ = 0;  ///< the next of the pass
  PredictedNumbers numbers_;
  HeadKnockouts found_;
};

HeadKnockoutsTask::HeadKnockoutsTask(const AnalysisQuery& query, const AnalysisSubject& subject)
    : measures_loss_(query.options[0] == static_cast<std::uint32_t>(KnockoutMeasure::Loss)),
      ablation_(query.options[1] == static_cast<std::uint32_t>(Ablation::Mean)
                    ? inference::Operation(inference::Average{})
                    : inference::Operation(inference::Scale{.gain = 0.0F})) {
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
  const std::size_t most = std::max<std::size_t>(kStepLogits / vocabulary_, 1);
  return std::min(most, readings_.size() - reading_);
}

AnalysisTask::Reads HeadKnockoutsTask::next(std::size_t /*most_cells*/) {
  Reads reads;
  const std::size_t count = readings_at_once();
  for (std::size_t i = 0; i < count; ++i) reads.logits.push_back(readings_[reading_ + i].state);
  if (pass_ > 0) {
    const HeadRef& head = heads_[pass_ - 1];
    reads.changes.push_back({model::Site::HeadOutput, inference::scope_of(head.block, head.head), ablation_});
  }
  return reads;
}

void HeadKnockoutsTask::take(const Answers& answers) {
  const std::size_t count = answers.logits.size() / vocabulary_;
  for (std::size_t i = 0; i < count; ++i) {
    read(readings_[reading_ + i], answers.logits.subspan(i * vocabulary_, vocabulary_));
  }
  reading_ += count;
  if (reading_ == readings_.size()) end_pass();
}

void HeadKnockoutsTask::read(const Reading& reading, std::span<const float> logits) {
  const double logit = static_cast<double>(logits[reading.token]);
  const double log_probability = logit - log_sum_exp(logits);
  if (measures_loss_) {
    numbers_.loss -= log_probability;
    return;
  }
  numbers_.logit = logit - (other_ ? static_cast<double>(logits[*other_]) : 0.0);
  numbers_.probability = std::exp(log_probability);
}

void HeadKnockoutsTask::end_pass() {
  if (measures_loss_) numbers_.loss /= static_cast<double>(readings_.size());
  if (pass_ == 0) {
    found_.present = numbers_;
  } else {
    found_.without.emplace(heads_[pass_ - 1], numbers_);
  }
  numbers_ = {};
  reading_ = 0;
  ++pass_;
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

AnalysisQuery knockout_query(const WhatIfChoices& choices, std::uint32_t batch, std::uint32_t position, std::uint32_t token,
                             std::optional<std::uint32_t> other) {
  AnalysisQuery query{.analysis = &kHeadKnockouts, .batch = batch};
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
