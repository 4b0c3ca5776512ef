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

/// [query] the keys of a pattern.
using PatternCells = std::vector<std::vector<std::uint32_t>>;

/// The user's own metrics over the texts of a shard, of the self-attention of one stack. The cells of a pattern are computed
/// once for all heads of a text, but where they depend on the head.
class OwnMeters {
 public:
  OwnMeters(const CorpusMeasures& measures, attention::ExpressionMap stack,
            std::span<const std::vector<std::uint32_t>> lines, std::span<const TokenRepeats> repeats)
      : stack_(stack), lines_(lines), repeats_(repeats) {
    for (const CorpusMetric& metric : measures.metrics) {
      if (!metric.is_own()) {
        patterns_.emplace_back();
        continue;
      }
      patterns_.emplace_back(OwnPattern(metric.pattern));
    }
    cells_.resize(patterns_.size() * lines.size());
  }

  /// The cells of the i-th metric, which is the user's own.
  const PatternCells& cells(std::size_t i, std::uint32_t layer, std::uint32_t head, std::size_t line) {
    std::optional<PatternCells>& known = cells_[i * lines_.size() + line];
    if (!known || patterns_[i]->depends_on_head()) {
      stack_.layer = layer;
      stack_.head = head;
      known = patterns_[i]->cells(lines_[line], repeats_[line], stack_);
    }
    return *known;
  }
  /// Returns the metric's value of a map whose weights are finite.
  static std::optional<double> value(const WeightMap& map, const PatternCells& cells) {
    PatternMeter meter;
    for (std::uint32_t query = 0; query < map.size; ++query) {
      meter.add(map.row(query), 0.0, cells[query]);
    }
    const std::optional<PatternMatch> match = meter.match();
    return match ? std::optional(match->mass) : std::nullopt;
  }

 private:
  attention::ExpressionMap stack_;  ///< how many layers and heads it has
  std::span<const std::vector<std::uint32_t>> lines_;
  std::span<const TokenRepeats> repeats_;
  std::vector<std::optional<OwnPattern>> patterns_;  ///< [metric]; none: a HeadMetric
  std::vector<std::optional<PatternCells>> cells_;   ///< [metric][line]
};

/// The cell of a map that shows a metric best: of a pattern its largest weight, of a sink the largest on the first token,
/// else the largest that is neither there nor on the token itself, where idle heads rest, of cross-attention the largest of
/// all. A map without one of them, as of a token or two, shows the largest of its last query, of a sink the first token's
/// own. The first of equal ones.
class ShownCells {
 public:
  /// `repeats`: null of cross-attention.
  ShownCells(const WeightMap& map, const TokenRepeats* repeats) : map_(map), repeats_(repeats) {}

  void show(const PatternCells& cells, HeadExample& example) const {
    example.weight = kUnseen;
    for (std::uint32_t query = 0; query < map_.size; ++query) {
      for (const std::uint32_t key : cells[query]) look_at(query, key, example);
    }
  }
  void show(HeadMetric metric, HeadExample& example) {
    if (is_of_pattern(metric) || metric == HeadMetric::Sink) return look_for(metric, example);
    if (!elsewhere_) look_for(metric, elsewhere_.emplace());  // the same of all other metrics
    example.weight = elsewhere_->weight;
    example.query = elsewhere_->query;
    example.key = elsewhere_->key;
  }

 private:
  void look_at(std::uint32_t query, std::uint32_t key, HeadExample& example) const {
    if (map_.at(query, key) <= example.weight) return;
    example.weight = map_.at(query, key);
    example.query = query;
    example.key = key;
  }
  void look_for(HeadMetric metric, HeadExample& example) const {
    example.weight = is_of_pattern(metric) ? kUnseen : 0.0;
    for (std::uint32_t query = 0; query < map_.size; ++query) {
      if (is_of_pattern(metric)) {
        for (const std::uint32_t key : repeats_->keys(metric, query)) look_at(query, key, example);
      } else if (metric == HeadMetric::Sink) {
        if (query > 0 || map_.is_cross()) look_at(query, 0, example);
      } else {
        const std::span<const double> row = map_.row(query);
        double most = example.weight;
        for (std::uint32_t key = map_.is_cross() ? 0 : 1; key < row.size(); ++key) {
          if (row[key] <= most || (key == query && !map_.is_cross())) continue;
          most = row[key];
          look_at(query, key, example);
        }
      }
    }
    if (example.weight > 0.0 || is_of_pattern(metric)) return;
    const bool is_sink = metric == HeadMetric::Sink;
    example.weight = kUnseen;
    for (std::uint32_t key = 0; key < (is_sink ? 1 : map_.keys()); ++key) look_at(is_sink ? 0 : map_.size - 1, key, example);
  }

  static constexpr double kUnseen = -1.0;  ///< less than any weight: cells of weight 0 are shown where there are no others

  const WeightMap& map_;
  const TokenRepeats* repeats_;
  std::optional<HeadExample> elsewhere_;
};

}  // namespace

CorpusMeasures corpus_measures(const inference::LanguageModel& model, std::vector<CorpusMetric> metrics,
                               std::uint32_t most_tokens, std::uint32_t top, std::uint32_t samples, bool has_targets) {
  if (!model.tokenizer) throw Error("{}; texts can't be read without it", model.tokenizer_problem);
  if (has_targets && !model.target_tokenizer) throw Error("{}; targets can't be read without it", model.tokenizer_problem);
  for (const auto& embedding : {model.network->source_embedding, model.network->target_embedding}) {
    const std::uint32_t limit = inference::position_limit(model, embedding.get());
    if (limit > 0 && (has_targets || embedding == model.network->source_embedding))
      most_tokens = std::min(most_tokens, limit);
  }
  return {.layout = {.layers = model.description.layers,
                     .heads = model.description.heads,
                     .decoder_layers = has_targets ? model.description.decoder_layers : 0,
                     .decoder_heads = has_targets ? model.description.decoder_heads : 0},
          .metrics = std::move(metrics),
          .most_tokens = most_tokens,
          .top = top,
          .samples = samples};
}

std::vector<std::uint32_t> corpus_ids(const inference::LanguageModel& model, const CorpusMeasures& measures,
                                      const std::string& text) {
  if (!measures.is_chat) return text_ids(model, text);
  std::vector<std::uint32_t> ids;
  try {
    const auto tokens = inference::chat_template(model).encode(*model.tokenizer, text, measures.thinking).tokens;
    if (!text::has_own_token(tokens)) return {};
    for (const text::Token& token : tokens) ids.push_back(token.id);
  } catch (const Error&) {  // a text without a turn, or one that the template takes no chat of
    return {};
  }
  return ids;
}

CorpusRows corpus_rows(const inference::LanguageModel& model, const CorpusMeasures& measures,
                       std::span<const CorpusText> texts) {
  CorpusRows rows;
  for (const CorpusText& text : texts) {
    std::vector<std::uint32_t> ids = corpus_ids(model, measures, text.text);
    const bool is_pair = measures.layout.has_kinds();
    std::vector<std::uint32_t> target = is_pair ? inference::target_ids(model, text.target) : std::vector<std::uint32_t>();
    if (ids.empty() || (is_pair && target.size() < 2)) {  // the start token alone
      ++rows.skipped;
      continue;
    }
    if (measures.packs && !rows.ids.empty() && rows.ids.back().size() < measures.most_tokens) {
      rows.ids.back().insert(rows.ids.back().end(), ids.begin(), ids.end());
    } else {
      rows.ids.push_back(std::move(ids));
      rows.offsets.push_back(text.offset);
    }
    if (std::max(rows.ids.back().size(), target.size()) > measures.most_tokens) ++rows.cut;
    for (auto* side : {&rows.ids.back(), &target}) {
      if (side->size() > measures.most_tokens) side->resize(measures.most_tokens);
    }
    if (is_pair) rows.targets.push_back(std::move(target));
  }
  return rows;
}

CorpusStatistics survey_corpus(inference::Session& session, const inference::LanguageModel& model,
                               const CorpusMeasures& measures, std::span<const CorpusText> texts,
                               ShardActivations* activations) {
  const Clock::time_point began = Clock::now();
  CorpusStatistics found(measures);
  const CorpusRows rows = corpus_rows(model, measures, texts);
  const std::vector<std::vector<std::uint32_t>>& lines = rows.ids;
  found.cut = rows.cut;
  found.skipped = rows.skipped;
  found.texts = lines.size();
  for (const auto& ids : lines) found.tokens += ids.size();
  const std::vector<TokenRepeats> repeats(lines.begin(), lines.end());
  const std::vector<TokenRepeats> target_repeats(rows.targets.begin(), rows.targets.end());
  std::vector<std::uint8_t> is_odd(lines.size(), 0);
  const HeadLayout& layout = measures.layout;
  ProfileMeter profiles(layout.count(), lines, rows.targets);
  OwnMeters own(measures, {.layers = layout.layers, .heads = layout.heads}, lines, repeats);
  OwnMeters target_own(measures, {.layers = layout.decoder_layers, .heads = layout.decoder_heads}, rows.targets,
                       target_repeats);
  const auto visit = [&](model::BlockRef block, std::uint32_t head, std::size_t line, const WeightMap& map) {
    const bool is_decoder = block.kind == model::BlockKind::DecoderSelf;
    const TokenRepeats* of_line = map.is_cross() ? nullptr : is_decoder ? &target_repeats[line] : &repeats[line];
    const std::size_t place = layout.find(block, head);
    const HeadMetrics metrics = measure_map(map, of_line);
    // Entropy is a sum over all weights, and isn't finite where one of them is not.
    const bool is_finite = metrics.value(HeadMetric::Entropy).has_value();
    if (is_finite) {
      profiles.add(place, line, map, block.kind);
    } else {
      is_odd[line] = 1;
    }
    ShownCells cells(map, of_line);
    for (std::size_t i = 0; i < measures.metrics.size(); ++i) {
      const CorpusMetric& metric = measures.metrics[i];
      if (metric.is_own() && map.is_cross()) continue;
      const PatternCells* pattern =
          metric.is_own() ? &(is_decoder ? target_own : own).cells(i, block.layer.value, head, line) : nullptr;
      std::optional<double> value;
      if (!pattern) value = metrics.value(metric.metric);
      if (pattern && is_finite) value = OwnMeters::value(map, *pattern);
      if (!value) continue;
      const std::size_t cell = i * layout.count() + place;
      found.metrics[cell].add(*value, measures.histogram_top(metric));
      KeptExamples &best = found.examples[cell], &sample = found.samples[cell];
      if (!best.may_enter(*value, rows.offsets[line]) && !sample.may_enter(*value, rows.offsets[line])) continue;
      HeadExample example{.value = *value, .offset = rows.offsets[line]};
      if (pattern) {
        cells.show(*pattern, example);
      } else {
        cells.show(metric.metric, example);
      }
      best.add(example);
      sample.add(example);
    }
  };
  std::optional<ActivationKeeper> keeper;
  RunVisitor keep;
  if (activations && !measures.activations.sites.empty()) {
    keeper.emplace(model, measures.activations, lines, rows.offsets, *activations);
    keep = [&](const inference::Run& run, std::span<const std::size_t> batch) { keeper->keep(run, batch); };
  }
  found.device_seconds = visit_maps(session, model, lines, visit, {}, keep, rows.targets);
  found.profiles = profiles.take();
  found.odd = static_cast<std::uint64_t>(std::ranges::count(is_odd, std::uint8_t{1}));
  found.busy_seconds = std::chrono::duration<double>(Clock::now() - began).count();
  return found;
}

}  // namespace headlight::evaluation
