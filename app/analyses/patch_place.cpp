#include "app/analyses/patch_place.h"

#include <array>

namespace headlight::app {

std::uint32_t patch_width(PatchMap map, const inference::BlockShape& shape) {
  return map == PatchMap::Heads ? shape.d_v : map == PatchMap::AttentionOutput ? shape.d_output : shape.d_model;
}

void read_place(const PatchPlace& place, const inference::BlockShape& shape, AnalysisTask::Reads& reads) {
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

std::vector<float> place_values(const AnalysisTask::Answers& answers) {
  return answers.tiles.empty() ? answers.residuals.front().values : answers.tiles.front().values;
}

inference::Intervention intervention_at(const PatchPlace& place) {
  constexpr std::array kSites = {model::Site::Residual, model::Site::AttentionOutput, model::Site::FeedForward,
                                 model::Site::HeadOutput};
  return {.site = kSites.at(static_cast<std::size_t>(place.map)),
          .scope = inference::scope_of(place.block, place.head),
          .operation = {}};
}

}  // namespace headlight::app
