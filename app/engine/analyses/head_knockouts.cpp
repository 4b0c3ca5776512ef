#include "app/engine/analyses/head_knockouts.h"

#include "app/engine/analyses/patching.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Logits that are read at once: reading and adding up more would take longer than a step may.
constexpr std::size_t kStepLogits = std::size_t{1} << 21;
/// Heads of a layer that are offered to be knocked out together, each in a pass of its own.
constexpr std::size_t kMaxPasses = 32;
/// Likeliest tokens that are kept of each pass.
constexpr std::size_t kKeptCandidates = 40;
/// Numbers of heads' outputs that are read at once.
constexpr std::size_t kStepOutputs = std::size_t{1} << 18;
/// Passes that steps leave room for, where a text's logits don't fit into one step.
constexpr std::size_t kUsualPasses = 8;

/// A state whose logits are read, and the token that they are about.
struct Reading {
  inference::StateRef state;
  std::uint32_t token = 0;
};

std::size_t vocabulary_of(const AnalysisSubject& subject) {
  if (!subject.has_logits) throw Error("this network predicts no tokens");
  return subject.network->layers->unembedding->linear.out();
}

std::vector<Reading> list_readings(const KnockoutsQuestion& question, const AnalysisSubject& subject) {
  const MeasuredToken measured{
      .batch = question.batch, .position = question.position, .token = question.token, .other = question.other};
  inference::StateRef state = measured_state(measured, subject);
  if (!question.measures_loss) return {{.state = state, .token = question.token}};
  const std::size_t vocabulary = vocabulary_of(subject);
  const model::TokenBatch& tokens = subject.input->target ? *subject.input->target : subject.input->source;
  const std::uint32_t first = tokens.start(question.batch), end = first + tokens.lengths[question.batch];
  const bool has_ids = tokens.vectors.is_empty() && tokens.ids.size() >= std::size_t{question.batch + 1} * tokens.length;
  if (!has_ids || end < first + 2) throw Error("a loss needs a text of two tokens or more");
  std::vector<Reading> readings;
  for (std::uint32_t token = first; token + 1 < end; ++token) {
    const std::uint32_t next = tokens.ids[std::size_t{question.batch} * tokens.length + token + 1];
    if (next >= vocabulary) throw Error("token {} isn't one that the model predicts", token + 1);
    state.token = token;
    readings.push_back({.state = state, .token = next});
  }
  return readings;
}

/// Returns the place of a head's output at all tokens of the line.
PatchPlace place_of(const HeadRef& head, std::uint32_t batch, const AnalysisSubject& subject) {
  const model::TokenBatch& tokens = subject.input->queries(head.block.kind);
  return {.site = model::Site::HeadOutput,
          .block = head.block,
          .batch = batch,
          .head = head.head,
          .first = tokens.start(batch),
          .count = tokens.lengths[batch]};
}

/// Replaces each of some heads' outputs [token, d_v] in the baseline by their mean over the tokens.
Task<std::vector<std::vector<float>>> baseline_means(std::vector<PatchPlace> places, BlockShapes shapes) {
  Reads reads{.of = WhichRun::Baseline};
  for (const PatchPlace& place : places) read_place(place, shapes.at(place.block), reads);
  Answers read = co_await std::move(reads);
  std::vector<std::vector<float>> means;
  for (attention::Tile& tile : read.tiles) {
    spread_mean(tile.values, shapes.at(tile.request.block).d_v);
    means.push_back(std::move(tile.values));
  }
  co_return means;
}

/// Returns the changes that take heads out, each a pass; heads of one block.
std::vector<inference::Interventions> ablations(const std::vector<PatchPlace>& places, const BlockShapes& shapes,
                                                Ablation ablation, std::vector<std::vector<float>> means) {
  std::vector<inference::Interventions> passes;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const inference::BlockShape& shape = shapes.at(places[i].block);
    inference::Intervention one = intervention_at(places[i], shape);
    one.operation = inference::Scale{.gain = 0.0F};
    if (ablation == Ablation::Mean) one.operation = inference::Average{};
    if (ablation == Ablation::BaselineMean) one = replaced(places[i], shape, std::move(means[i]));
    passes.push_back({std::move(one)});
  }
  return passes;
}

/// Adds what a row of logits says.
void read(const KnockoutsQuestion& question, const Reading& reading, std::span<const float> logits,
          PredictedNumbers& numbers) {
  const double logit = static_cast<double>(logits[reading.token]);
  const double log_probability = logit - log_sum_exp(logits);
  if (question.measures_loss) {
    numbers.loss -= log_probability;
    return;
  }
  const bool subtracts = question.other.value_or(question.token) != question.token;
  numbers.logit = logit - (subtracts ? static_cast<double>(logits[*question.other]) : 0.0);
  numbers.probability = std::exp(log_probability);
  numbers.likeliest = inference::top_candidates(logits, kKeptCandidates);
}

/// Returns what the first passes predict, as many as are computed together; without passes, what the run as it is predicts.
/// Numbers that were read of a pass stay right where it is computed again beside fewer or more others: the first passes go
/// on, the others are left out.
Task<std::vector<PredictedNumbers>> predicted(KnockoutsQuestion question, std::vector<Reading> readings,
                                              std::size_t vocabulary, std::vector<inference::Interventions> passes) {
  std::vector<PredictedNumbers> numbers;
  const std::size_t together = passes.empty() ? 1 : std::min(passes.size(), kUsualPasses);
  const std::size_t most = std::max<std::size_t>(kStepLogits / vocabulary / together, 1);
  for (std::size_t first = 0; first < readings.size();) {
    const std::size_t count = std::min(most, readings.size() - first);
    Reads reads{.passes = passes};
    for (std::size_t i = 0; i < count; ++i) reads.logits.push_back(readings[first + i].state);
    const Answers answers = co_await std::move(reads);
    numbers.resize(first == 0 ? answers.passes : std::min(answers.passes, numbers.size()));
    for (std::size_t i = 0; i < count * numbers.size(); ++i) {
      read(question, readings[first + i % count], answers.logits.subspan(i * vocabulary, vocabulary), numbers[i / count]);
    }
    first += count;
  }
  for (PredictedNumbers& one : numbers) one.loss /= static_cast<double>(readings.size());
  co_return numbers;
}

/// Returns the first of these heads that are of one block and whose passes are offered together.
std::span<const HeadRef> offered(std::span<const HeadRef> heads, const KnockoutsQuestion& question,
                                 const AnalysisSubject& subject) {
  std::size_t most = std::min(heads.size(), kMaxPasses);
  if (question.ablation == Ablation::BaselineMean) {
    const std::size_t numbers =
        std::size_t{place_of(heads.front(), question.batch, subject).count} * subject.shapes.at(heads.front().block).d_v;
    most = std::clamp<std::size_t>(kStepOutputs / std::max<std::size_t>(numbers, 1), 1, most);
  }
  std::size_t count = 1;
  while (count < most && heads[count].block == heads.front().block) ++count;
  return heads.first(count);
}

}  // namespace

Task<HeadKnockouts> analyse(KnockoutsQuestion question, AnalysisSubject subject) {
  const std::vector<Reading> readings = list_readings(question, subject);
  const std::size_t vocabulary = vocabulary_of(subject);
  std::vector<HeadRef> heads;
  for (const model::BlockRef block : subject.network->blocks()) {
    const model::AttentionLayer& layer = subject.network->layer(block);
    for (std::uint32_t head = 0; head < layer.config.heads; ++head) heads.push_back({.block = block, .head = head});
  }
  HeadKnockouts found;
  found.all_heads = heads.size();
  const std::vector<PredictedNumbers> present = co_await predicted(question, readings, vocabulary, {});
  found.present = present.front();
  co_yield found;
  for (std::size_t known = 0; known < heads.size();) {
    std::vector<PatchPlace> places;
    for (const HeadRef& head : offered(std::span(heads).subspan(known), question, subject)) {
      places.push_back(place_of(head, question.batch, subject));
    }
    std::vector<std::vector<float>> means;
    if (question.ablation == Ablation::BaselineMean) means = co_await baseline_means(places, subject.shapes);
    std::vector<inference::Interventions> passes = ablations(places, subject.shapes, question.ablation, std::move(means));
    while (!passes.empty()) {
      const std::vector<PredictedNumbers> without = co_await predicted(question, readings, vocabulary, passes);
      for (const PredictedNumbers& numbers : without) found.without.emplace(heads[known++], numbers);
      passes.erase(passes.begin(), passes.begin() + static_cast<std::ptrdiff_t>(without.size()));
      co_yield found;
    }
  }
  co_return found;
}

KnockoutsQuestion knockout_query(const Choices& choices, std::uint32_t batch, std::uint32_t position, std::uint32_t token,
                                 std::optional<std::uint32_t> other) {
  if (choices[kWhatIfView.measure] == KnockoutMeasure::Loss) {
    return {.ablation = choices[kWhatIfView.ablation], .measures_loss = true, .batch = batch};
  }
  return {.ablation = choices[kWhatIfView.ablation], .batch = batch, .position = position, .token = token, .other = other};
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
