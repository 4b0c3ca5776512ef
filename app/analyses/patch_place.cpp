#include "app/analyses/patching.h"

#include "core/error.h"

namespace headlight::app {

std::uint32_t patch_width(PatchMap map, const inference::BlockShape& shape) {
  return map == PatchMap::Heads ? shape.d_v : map == PatchMap::AttentionOutput ? shape.d_output : shape.d_model;
}

void read_place(const PatchPlace& place, const inference::BlockShape& shape, Reads& reads) {
  const bool is_heads = place.map == PatchMap::Heads;
  if (is_heads || place.map == PatchMap::AttentionOutput) {
    reads.tiles.push_back({.block = place.block,
                           .batch = place.batch,
                           .head = place.head,
                           .stage = is_heads ? attention::Stage::Heads : attention::Stage::Output,
                           .row = place.first,
                           .rows = place.count,
                           .columns = patch_width(place.map, shape)});
    return;
  }
  const bool is_encoder = place.block.kind == model::BlockKind::EncoderSelf;
  reads.residuals.push_back(
      {.stack = is_encoder ? inference::Stack::Encoder : inference::Stack::Decoder,
       .layer = place.block.layer.value,
       .batch = place.batch,
       .first = place.first,
       .count = place.count,
       .part = place.map == PatchMap::FeedForward ? inference::StreamPart::FeedForward : inference::StreamPart::State});
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

inference::Intervention replaced(const PatchPlace& place, std::vector<float> rows) {
  inference::Intervention one = intervention_at(place);
  one.operation = inference::Replace{.item = place.batch, .first = place.first, .rows = std::move(rows)};
  return one;
}

inference::Intervention intervention_at(const PatchPlace& place) {
  constexpr std::array kSites = {model::Site::Residual, model::Site::AttentionOutput, model::Site::FeedForward,
                                 model::Site::HeadOutput};
  return {.site = kSites.at(static_cast<std::size_t>(place.map)),
          .scope = inference::scope_of(place.block, place.head),
          .operation = {}};
}

}  // namespace headlight::app
