#include "evaluation/head_survey.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <utility>

#include "core/error.h"
#include "evaluation/head_maps.h"
#include "evaluation/head_meter.h"
#include "inference/prompt.h"

namespace headlight::evaluation {
namespace {

using Ids = std::vector<std::uint32_t>;

/// Means over texts of what `measure(map, line)` returns, each over those in which it is defined.
template <typename Measure>
std::vector<HeadScore> survey(inference::Session& session, const inference::LanguageModel& model, std::span<const Ids> lines,
                              const Measure& measure, const Progress& progress) {
  struct Sum {
    double sum = 0.0;
    std::size_t texts = 0;
  };
  const std::uint32_t layers = model.description.layers, heads = model.description.heads;
  std::vector<std::array<Sum, kHeadMetrics>> sums(std::size_t{layers} * heads);
  const auto visit = [&](model::BlockRef block, std::uint32_t head, std::size_t line, const WeightMap& map) {
    const MetricValues values = measure(map, line);
    for (std::size_t metric = 0; metric < kHeadMetrics; ++metric) {
      Sum& sum = sums[std::size_t{block.layer.value} * heads + head][metric];
      sum.sum += values[metric].value_or(0.0);
      if (values[metric]) ++sum.texts;
    }
  };
  visit_maps(session, model, lines, visit, progress);
  std::vector<HeadScore> scores;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    for (std::uint32_t head = 0; head < heads; ++head) {
      HeadScore& score = scores.emplace_back(HeadScore{.layer = layer, .head = head});
      std::ranges::transform(sums[std::size_t{layer} * heads + head], score.means.begin(), [](const Sum& sum) {
        return sum.texts > 0 ? std::optional(sum.sum / static_cast<double>(sum.texts)) : std::nullopt;
      });
    }
  }
  return scores;
}

MetricValues values_of(const HeadMetrics& metrics, const PatternScoring& scoring) {
  MetricValues values;
  for (std::size_t metric = 0; metric < kHeadMetrics; ++metric) {
    values[metric] = metrics.value(static_cast<HeadMetric>(metric), scoring);
  }
  return values;
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

std::vector<std::uint32_t> ordinary_ids(const inference::LanguageModel& model) {
  const std::set<std::uint32_t> special = special_ids(model);
  Ids ordinary;
  for (std::uint32_t id = 0; id < model.description.vocabulary; ++id) {
    if (!special.contains(id)) ordinary.push_back(id);
  }
  return ordinary;
}

std::vector<Ids> random_repeats(const inference::LanguageModel& model, const RandomTokens& settings) {
  const std::uint32_t limit = inference::position_limit(model, model.network->source_embedding.get());
  if (settings.sequences == 0 || settings.span < 2) throw Error("random tokens need a sequence and two tokens at least");
  if (limit != 0 && settings.span > limit / 2) {
    throw Error("{} random tokens twice are more than the model's {} positions: choose at most {}", settings.span, limit,
                limit / 2);
  }
  const Ids ordinary = ordinary_ids(model);
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
  const auto measure = [&](const WeightMap& map, std::size_t sequence) {
    MetricValues values = values_of(measure_map(map, &repeats[sequence]), {});
    const StripeScores stripes = stripe_scores(map);
    std::ranges::transform(std::array{stripes.previous_token, stripes.duplicate_token, stripes.induction}, values.begin(),
                           [](double mean) { return std::isfinite(mean) ? std::optional(mean) : std::nullopt; });
    return values;
  };
  return survey(session, model, sequences, measure, progress);
}

std::vector<HeadScore> survey_texts(inference::Session& session, const inference::LanguageModel& model,
                                    std::span<const std::string> lines, const PatternScoring& scoring,
                                    const Progress& progress) {
  check_has_one_stack(model);
  if (!model.tokenizer) throw Error("{}; texts can't be read without it", model.tokenizer_problem);
  const std::uint32_t limit = inference::position_limit(model, model.network->source_embedding.get());
  std::vector<Ids> texts;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Ids ids = text_ids(model, lines[i]);
    if (limit != 0 && ids.size() > limit) {
      throw Error("line {}: {} tokens, but the model has positions for {}: cut it into shorter lines", i + 1, ids.size(),
                  limit);
    }
    if (!ids.empty()) texts.push_back(std::move(ids));
  }
  if (texts.empty()) throw Error("there is no text: give a line at least");
  const std::vector<TokenRepeats> repeats(texts.begin(), texts.end());
  const auto measure = [&](const WeightMap& map, std::size_t line) {
    return values_of(measure_map(map, &repeats[line]), scoring);
  };
  return survey(session, model, texts, measure, progress);
}

}  // namespace headlight::evaluation
