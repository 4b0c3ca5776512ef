#include "evaluation/head_survey.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "core/error.h"
#include "evaluation/head_maps.h"
#include "evaluation/head_meter.h"
#include "evaluation/head_scores.h"
#include "inference/prompt.h"

namespace headlight::evaluation {
namespace {

using Ids = std::vector<std::uint32_t>;

/// Means over texts of the scores that `measure(map, ids, score)` adds to.
template <typename Measure>
std::vector<HeadScore> survey(inference::Session& session, const inference::LanguageModel& model, std::span<const Ids> lines,
                              const Measure& measure, const Progress& progress) {
  const std::uint32_t layers = model.description.layers, heads = model.description.heads;
  std::vector<HeadScore> scores;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    for (std::uint32_t head = 0; head < heads; ++head) scores.push_back({.layer = layer, .head = head});
  }
  const auto visit = [&](std::uint32_t layer, std::uint32_t head, std::size_t line, const WeightMap& map) {
    measure(map, line, scores[std::size_t{layer} * heads + head]);
  };
  visit_maps(session, model, lines, visit, progress);
  const auto count = static_cast<double>(lines.size());
  for (HeadScore& score : scores) {
    for (double* sum : {&score.previous_token, &score.duplicate_token, &score.induction, &score.spread.entropy,
                        &score.spread.relative_entropy, &score.spread.sink_share, &score.spread.distance}) {
      *sum /= count;
    }
  }
  return scores;
}

void add_spread(const HeadMetrics& metrics, HeadScore& score) {
  score.spread.entropy += metrics.number(HeadMetric::Entropy);
  score.spread.relative_entropy += metrics.number(HeadMetric::RelativeEntropy);
  score.spread.sink_share += metrics.number(HeadMetric::Sink);
  score.spread.distance += metrics.number(HeadMetric::Distance);
}

std::set<std::uint32_t> special_ids(const inference::LanguageModel& model) {
  const model::SpecialIds& ids = model.description.ids;
  std::set<std::uint32_t> special(ids.eos.begin(), ids.eos.end());
  for (const auto& id : {ids.bos, ids.pad, ids.decoder_start, ids.mask, ids.separator, ids.classify}) {
    if (id) special.insert(*id);
  }
  if (!model.tokenizer) return special;
  const text::SpecialTokens& named = model.tokenizer->special();
  for (const auto& id :
       {named.beginning, named.end, named.padding, named.unknown, named.mask, named.separator, named.classification}) {
    if (id) special.insert(*id);
  }
  return special;
}

}  // namespace

std::vector<Ids> random_repeats(const inference::LanguageModel& model, const RandomTokens& settings) {
  const std::uint32_t limit = inference::position_limit(model, model.network->source_embedding.get());
  if (settings.sequences == 0 || settings.span < 2) throw Error("random tokens need a sequence and two tokens at least");
  if (limit != 0 && settings.span > limit / 2) {
    throw Error("{} random tokens twice are more than the model's {} positions: choose at most {}", settings.span, limit,
                limit / 2);
  }
  const std::set<std::uint32_t> special = special_ids(model);
  Ids ordinary;
  for (std::uint32_t id = 0; id < model.description.vocabulary; ++id) {
    if (!special.contains(id)) ordinary.push_back(id);
  }
  if (ordinary.empty()) throw Error("the model has no ordinary tokens to draw from");
  std::mt19937_64 generator(settings.seed);
  std::vector<Ids> sequences;
  for (std::uint32_t i = 0; i < settings.sequences; ++i) {
    Ids& ids = sequences.emplace_back();
    for (std::uint32_t t = 0; t < settings.span; ++t) ids.push_back(ordinary[generator() % ordinary.size()]);
    ids.resize(std::size_t{2} * settings.span);
    std::copy_n(ids.begin(), settings.span, ids.begin() + settings.span);
  }
  return sequences;
}

std::vector<HeadScore> survey_random(inference::Session& session, const inference::LanguageModel& model,
                                     const RandomTokens& settings, const Progress& progress) {
  check_has_one_stack(model);
  const std::vector<Ids> sequences = random_repeats(model, settings);
  const std::vector<TokenRepeats> repeats(sequences.begin(), sequences.end());
  const auto measure = [&](const WeightMap& map, std::size_t sequence, HeadScore& score) {
    const StripeScores stripes = stripe_scores(map);
    score.previous_token += stripes.previous_token;
    score.duplicate_token += stripes.duplicate_token;
    score.induction += stripes.induction;
    add_spread(measure_map(model, map, repeats[sequence]), score);
  };
  return survey(session, model, sequences, measure, progress);
}

std::vector<HeadScore> survey_texts(inference::Session& session, const inference::LanguageModel& model,
                                    std::span<const std::string> lines, const PatternScoring& scoring,
                                    const Progress& progress) {
  check_has_one_stack(model);
  if (!model.tokenizer) throw Error("{}; texts can't be read without it", model.tokenizer_problem);
  std::vector<Ids> texts;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    try {
      texts.push_back(text_ids(model, lines[i]));
    } catch (const Error& error) {
      throw Error("line {}: {}", i + 1, error.what());
    }
    if (texts.back().empty()) throw Error("line {} has no token", i + 1);
  }
  if (texts.empty()) throw Error("there is no text: give a line at least");
  const std::vector<TokenRepeats> repeats(texts.begin(), texts.end());
  const auto add = [&](const WeightMap& map, std::size_t line, HeadScore& score) {
    const HeadMetrics metrics = measure_map(model, map, repeats[line]);
    score.previous_token += metrics.number(HeadMetric::PreviousToken, scoring);
    score.duplicate_token += metrics.number(HeadMetric::DuplicateToken, scoring);
    score.induction += metrics.number(HeadMetric::Induction, scoring);
    add_spread(metrics, score);
  };
  return survey(session, model, texts, add, progress);
}

}  // namespace headlight::evaluation
