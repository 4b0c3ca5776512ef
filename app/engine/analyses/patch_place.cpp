#include "app/engine/analyses/analysis.h"
#include "app/engine/analyses/patching.h"
#include "attention/layer_graph.h"
#include "core/error.h"

namespace headlight::app {

using model::Site;

Site patched_site(const PatchingChoices& choices) {
  constexpr std::array kSites = {Site::Residual,   Site::AttentionOutput, Site::FeedForward,
                                 Site::HeadOutput, Site::HeadOutput,      Site::Weights};
  return choices.map == PatchMap::Heads ? choices.part : kSites.at(static_cast<std::size_t>(choices.map));
}

const model::TokenBatch& patched_tokens(Site site, model::BlockKind kind, const model::ModelInput& input) {
  return input.tokens(kind, site);
}

std::uint32_t patch_width(Site site, const inference::BlockShape& shape) {
  if (!model::has_heads(site) && site != Site::AttentionOutput) return shape.d_model;
  return shape.extent(attention::stage_of(site)).value_or(inference::BlockShape::Extent()).columns;
}

std::uint32_t patched_heads(Site site, const inference::BlockShape& shape) { return is_of_keys(site) ? shape.group() : 1; }

void read_place(const PatchPlace& place, const inference::BlockShape& shape, Reads& reads) {
  if (model::has_heads(place.site) || place.site == Site::AttentionOutput) {
    reads.tiles.push_back({.block = place.block,
                           .batch = place.batch,
                           .head = place.head,
                           .stage = attention::stage_of(place.site),
                           .row = place.first,
                           .rows = place.count,
                           .columns = patch_width(place.site, shape)});
    return;
  }
  const bool is_encoder = place.block.kind == model::BlockKind::EncoderSelf;
  reads.residuals.push_back(
      {.stack = is_encoder ? inference::Stack::Encoder : inference::Stack::Decoder,
       .layer = place.block.layer.value,
       .batch = place.batch,
       .first = place.first,
       .count = place.count,
       .part = place.site == Site::FeedForward ? inference::StreamPart::FeedForward : inference::StreamPart::State});
}

std::vector<float> place_values(const Answers& answers) {
  std::vector<float> values;
  for (const attention::Tile& tile : answers.tiles) values.insert(values.end(), tile.values.begin(), tile.values.end());
  for (const Tensor& rows : answers.residuals) values.insert(values.end(), rows.values.begin(), rows.values.end());
  return values;
}

std::vector<double> mean_row(std::span<const float> rows, std::size_t width) {
  std::vector<double> mean(width);
  std::size_t count = 0;
  for (std::size_t row = 0; row < rows.size(); row += width) {
    if (std::isnan(rows[row])) continue;
    for (std::size_t at = 0; at < width; ++at) mean[at] += double{rows[row + at]};
    ++count;
  }
  if (count == 0) throw Error("no token here has a counterpart in the other text: choose others");
  for (double& number : mean) number /= static_cast<double>(count);
  return mean;
}

void match_missing(std::span<float> source, std::span<float> target) {
  for (std::size_t at = 0; at < source.size(); ++at) {
    if (std::isnan(source[at])) source[at] = target[at];
    if (std::isnan(target[at])) target[at] = source[at];
  }
}

void spread_mean(std::span<float> rows, std::size_t width) {
  const std::vector<double> mean = mean_row(rows, width);
  for (std::size_t at = 0; at < rows.size(); ++at) rows[at] = static_cast<float>(mean[at % width]);
}

inference::StateRef measured_state(const MeasuredToken& measured, const AnalysisSubject& subject) {
  if (!subject.has_logits) throw Error("this network predicts no tokens");
  const model::TokenBatch& predicted = subject.input->target ? *subject.input->target : subject.input->source;
  const model::Layers& layers = *subject.network->layers;
  const std::size_t vocabulary = layers.unembedding->linear.out();
  if (measured.batch >= predicted.batch) throw Error("this run has {} lines", predicted.batch);
  if (measured.position >= predicted.length || measured.token >= vocabulary || measured.other.value_or(0) >= vocabulary) {
    throw Error("this run has no such prediction");
  }
  const auto last = static_cast<std::uint32_t>(layers.decoder.empty() ? layers.encoder.size() : layers.decoder.size());
  return {.batch = measured.batch, .token = measured.position, .layer = last};
}

Task<PatchedNumbers> prediction_in(WhichRun run, inference::StateRef state, MeasuredToken measured) {
  Reads reads{.of = run};
  reads.logits.push_back(state);
  const Answers read = co_await std::move(reads);
  co_return patched_numbers(read.logits, measured);
}

inference::Intervention replaced(const PatchPlace& place, const inference::BlockShape& shape, std::vector<float> rows) {
  inference::Intervention one = intervention_at(place, shape);
  if (place.site != Site::Weights) {
    one.operation = inference::Replace{.item = place.batch, .first = place.first, .rows = std::move(rows)};
    return one;
  }
  std::vector<attention::Painted<float>> weights;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (!(rows[at] > 0.0F)) continue;
    const attention::Cell cell{.query = place.first + static_cast<std::uint32_t>(at / shape.keys),
                               .key = static_cast<std::uint32_t>(at % shape.keys)};
    weights.emplace_back(cell, std::min(rows[at], attention::kMaxPatternWeight));
  }
  one.operation = inference::ReplacePattern{{attention::FixedPattern::Painted, attention::NumberRuns(std::move(weights))}};
  return one;
}

inference::Intervention intervention_at(const PatchPlace& place, const inference::BlockShape& shape) {
  return {.site = place.site,
          .scope = inference::scope_of(place.block, place.head / patched_heads(place.site, shape)),
          .operation = {}};
}

double PatchedNumbers::of(PatchMeasure measure) const {
  switch (measure) {
    case PatchMeasure::Probability:
      return std::exp(log_probability);
    case PatchMeasure::Loss:
      return -log_probability;
    case PatchMeasure::Logit:
      break;
  }
  return logit;
}

PatchedNumbers patched_numbers(std::span<const float> logits, const MeasuredToken& measured) {
  const auto logit = static_cast<double>(logits[measured.token]);
  if (std::isnan(logit)) throw Error("there is no prediction to measure: the token has no counterpart in the other text");
  const double subtracted =
      measured.other.value_or(measured.token) == measured.token ? 0.0 : static_cast<double>(logits[*measured.other]);
  return {.logit = logit - subtracted, .log_probability = logit - log_sum_exp(logits)};
}

std::optional<double> recovery(PatchMeasure measure, const PatchedNumbers& target, const PatchedNumbers& source,
                               const PatchedNumbers& patched) {
  constexpr double kMin = 1e-4;
  const double from = target.of(measure), to = source.of(measure), gap = to - from;
  const double unit = measure == PatchMeasure::Probability ? std::max(from, to) : 1.0;
  if (!(std::abs(gap) >= kMin * unit) || gap == 0.0) return std::nullopt;
  const double result = (patched.of(measure) - from) / gap;
  return std::isfinite(result) ? std::optional(result) : std::nullopt;
}

const std::optional<PatchedNumbers>& PatchEffects::at(std::size_t row, std::size_t column) const {
  return patched[row * columns + column];
}

std::optional<double> PatchEffects::recovery_at(std::size_t row, std::size_t column, PatchMeasure measure) const {
  const std::optional<PatchedNumbers>& numbers = at(row, column);
  return numbers ? recovery(measure, target, source, *numbers) : std::nullopt;
}

bool PatchEffects::can_recover(PatchMeasure measure) const { return recovery(measure, target, source, target).has_value(); }

std::vector<PatchCell> strongest_patches(const PatchEffects& effects, PatchMeasure measure, std::size_t most) {
  std::vector<PatchCell> cells;
  for (std::size_t row = 0; row < effects.rows(); ++row) {
    for (std::size_t column = 0; column < effects.columns; ++column) {
      const std::optional<double> value = effects.recovery_at(row, column, measure);
      if (value) cells.push_back({.row = row, .column = column, .recovery = *value});
    }
  }
  std::ranges::stable_sort(cells, std::greater(), [](const PatchCell& cell) { return std::abs(cell.recovery); });
  cells.resize(std::min(cells.size(), most));
  return cells;
}

}  // namespace headlight::app
