#include "app/analyses/residual_sizes.h"

#include "core/error.h"

namespace headlight::app {

Task<ResidualSizes> analyse(ResidualSizesQuestion question, AnalysisSubject subject) {
  const bool is_encoder = question.kind == model::BlockKind::EncoderSelf;
  const model::BlockKind kind = is_encoder ? model::BlockKind::EncoderSelf : model::BlockKind::DecoderSelf;
  const auto first = subject.shapes.find({.kind = kind, .layer = {}});
  if (first == subject.shapes.end() || question.batch >= first->second.batch) throw Error("this run has no such layers");
  if (!first->second.has_input) throw Error("attention alone has no residual stream");
  ResidualSizes found;
  const auto layers = static_cast<std::uint32_t>(
      std::ranges::count(subject.shapes, kind, [](const auto& shape) { return shape.first.kind; }));
  // A last layer without an output projection leaves its heads as they are, and no state.
  const bool ends_in_state = subject.shapes.at({.kind = kind, .layer = {layers - 1}}).d_output > 0;
  found.layers = ends_in_state ? layers : layers - 1;
  if (found.layers == 0) throw Error("without an output projection nothing is added to the token vectors");
  found.tokens = first->second.queries;
  for (std::uint32_t layer = 0; layer <= found.layers; ++layer) {
    Reads reads;
    reads.residuals.push_back({.stack = is_encoder ? inference::Stack::Encoder : inference::Stack::Decoder,
                               .layer = layer,
                               .batch = question.batch,
                               .first = 0,
                               .count = found.tokens});
    const Answers read = co_await std::move(reads);
    const std::span<const float> states = read.residuals.front().values;
    const std::size_t width = states.size() / found.tokens;
    for (std::size_t token = 0; token < found.tokens; ++token) {
      double sum = 0.0;
      for (const float x : states.subspan(token * width, width)) sum += double{x} * double{x};
      found.lengths.push_back(static_cast<float>(std::sqrt(sum)));
    }
    co_yield found;
  }
  co_return found;
}

}  // namespace headlight::app
