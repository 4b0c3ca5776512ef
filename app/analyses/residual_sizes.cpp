#include "app/analyses/residual_sizes.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace headlight::app {
namespace {

class ResidualSizesTask final : public AnalysisTask {
 public:
  ResidualSizesTask(inference::Stack stack, std::uint32_t batch, const ResidualSizes& nothing_yet)
      : stack_(stack), batch_(batch), found_(nothing_yet) {}

  Reads next(std::size_t /*most_cells*/) override {
    return {.residuals = {{.stack = stack_, .layer = next_layer_, .batch = batch_, .first = 0, .count = found_.tokens}}};
  }
  void take(const Answers& answers) override {
    const Tensor& states = answers.residuals.front();
    const std::size_t width = states.values.size() / found_.tokens;
    for (std::size_t token = 0; token < found_.tokens; ++token) {
      double sum = 0.0;
      for (const float x : std::span(states.values).subspan(token * width, width)) sum += double{x} * double{x};
      found_.lengths.push_back(static_cast<float>(std::sqrt(sum)));
    }
    ++next_layer_;
  }
  bool is_done() const override { return next_layer_ > found_.layers; }
  std::shared_ptr<const AnalysisResult> result() const override { return std::make_shared<const ResidualSizes>(found_); }

 private:
  inference::Stack stack_;
  std::uint32_t batch_;
  std::uint32_t next_layer_ = 0;
  ResidualSizes found_;
};

std::unique_ptr<AnalysisTask> begin_residual_sizes(const AnalysisQuery& query, const AnalysisSubject& subject) {
  const bool is_encoder = query.block.kind == model::BlockKind::EncoderSelf;
  const model::BlockKind kind = is_encoder ? model::BlockKind::EncoderSelf : model::BlockKind::DecoderSelf;
  const auto first = subject.shapes.find({.kind = kind, .layer = {}});
  if (first == subject.shapes.end() || query.batch >= first->second.batch) throw Error("this run has no such layers");
  if (!first->second.has_input) throw Error("attention alone has no residual stream");
  ResidualSizes nothing_yet;
  const auto layers = static_cast<std::uint32_t>(
      std::ranges::count(subject.shapes, kind, [](const auto& shape) { return shape.first.kind; }));
  // A last layer without an output projection leaves its heads as they are, and no state.
  const bool ends_in_state = subject.shapes.at({.kind = kind, .layer = {layers - 1}}).d_output > 0;
  nothing_yet.layers = ends_in_state ? layers : layers - 1;
  if (nothing_yet.layers == 0) throw Error("without an output projection nothing is added to the token vectors");
  nothing_yet.tokens = first->second.queries;
  return std::make_unique<ResidualSizesTask>(is_encoder ? inference::Stack::Encoder : inference::Stack::Decoder, query.batch,
                                             nothing_yet);
}

}  // namespace

constexpr Analysis kResidualSizes{
    .id = "residual-sizes", .title = "sizes of the residual stream", .begin = &begin_residual_sizes};

}  // namespace headlight::app
