#include "evaluation/corpus_survey.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "core/error.h"
#include "evaluation/head_maps.h"
#include "inference/prompt.h"
#include "text/chat_template.h"

namespace headlight::evaluation {
namespace {

using Clock = std::chrono::steady_clock;

/// The cell of a map that shows a metric best: of a pattern its largest weight, of a sink the largest on the first token,
/// else the largest that is neither there nor on the token itself, where idle heads rest. The first of equal ones.
void show_cell(HeadMetric metric, const WeightMap& map, const TokenRepeats& repeats, HeadExample& example) {
  const auto look_at = [&](std::uint32_t query, std::uint32_t key) {
    if (map.at(query, key) <= example.weight) return;
    example.weight = map.at(query, key);
    example.query = query;
    example.key = key;
  };
  for (std::uint32_t query = 0; query < map.size; ++query) {
    if (is_of_pattern(metric)) {
      for (const std::uint32_t key : repeats.keys(metric, query)) look_at(query, key);
    } else if (metric == HeadMetric::Sink) {
      if (query > 0) look_at(query, 0);
    } else {
      for (std::uint32_t key = 1; key < map.size; ++key) {
        if (key != query) look_at(query, key);
      }
    }
  }
}

/// Would an example of this value be among the best? Its cell is looked for only then.
bool may_enter(const TopExamples& examples, double value, std::uint32_t top) {
  return examples.best().size() < top || value >= examples.best().back().value;
}

}  // namespace

CorpusMeasures corpus_measures(const inference::LanguageModel& model, std::vector<HeadMetric> metrics,
                               std::uint32_t most_tokens, std::uint32_t top) {
  check_has_one_stack(model);
  if (!model.tokenizer) throw Error("{}; texts can't be read without it", model.tokenizer_problem);
  const std::uint32_t limit = inference::position_limit(model, model.network->source_embedding.get());
  return {.layers = model.description.layers,
          .heads = model.description.heads,
          .metrics = std::move(metrics),
          .most_tokens = limit == 0 ? most_tokens : std::min(most_tokens, limit),
          .top = top};
}

std::vector<std::uint32_t> corpus_ids(const inference::LanguageModel& model, const CorpusMeasures& measures,
                                      const std::string& text) {
  if (!measures.is_chat) return text_ids(model, text);
  std::vector<std::uint32_t> ids;
  try {
    for (const text::Token& token : inference::chat_template(model).encode(*model.tokenizer, text, measures.thinks).tokens)
      ids.push_back(token.id);
  } catch (const Error&) {  // a text without a turn, or one that the template takes no chat of
    return {};
  }
  return ids;
}

CorpusStatistics survey_corpus(inference::Session& session, const inference::LanguageModel& model,
                               const CorpusMeasures& measures, std::span<const CorpusText> texts) {
  const Clock::time_point began = Clock::now();
  CorpusStatistics found(measures);
  std::vector<std::vector<std::uint32_t>> lines;
  std::vector<std::uint64_t> offsets;
  for (const CorpusText& text : texts) {
    std::vector<std::uint32_t> ids = corpus_ids(model, measures, text.text);
    if (ids.empty()) {
      ++found.skipped;
      continue;
    }
    if (ids.size() > measures.most_tokens) {
      ++found.cut;
      ids.resize(measures.most_tokens);
    }
    found.tokens += ids.size();
    lines.push_back(std::move(ids));
    offsets.push_back(text.offset);
  }
  found.texts = lines.size();
  const std::vector<TokenRepeats> repeats(lines.begin(), lines.end());
  std::vector<std::uint8_t> is_odd(lines.size(), 0);
  const auto visit = [&](std::uint32_t layer, std::uint32_t head, std::size_t line, const WeightMap& map) {
    const HeadMetrics metrics = measure_map(map, repeats[line]);
    // The mean distance is a sum over all weights, and isn't finite where one of them is not.
    if (!metrics.value(HeadMetric::Distance)) is_odd[line] = 1;
    for (std::size_t i = 0; i < measures.metrics.size(); ++i) {
      const HeadMetric metric = measures.metrics[i];
      const std::optional<double> value = metrics.value(metric);
      if (!value) continue;
      const std::size_t cell = (i * measures.layers + layer) * measures.heads + head;
      found.metrics[cell].add(*value, measures.histogram_top(metric));
      if (!may_enter(found.examples[cell], *value, measures.top)) continue;
      HeadExample example{.value = *value, .offset = offsets[line]};
      show_cell(metric, map, repeats[line], example);
      found.examples[cell].add(example);
    }
  };
  found.device_seconds = visit_maps(session, model, lines, visit);
  found.odd = static_cast<std::uint64_t>(std::ranges::count(is_odd, std::uint8_t{1}));
  found.busy_seconds = std::chrono::duration<double>(Clock::now() - began).count();
  return found;
}

}  // namespace headlight::evaluation
