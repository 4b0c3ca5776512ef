#include "app/engine/analyses/residual_sizes.h"

#include "core/error.h"

namespace headlight::app {
namespace {

/// The stream that a question is about.
struct ResidualStack {
  inference::Stack stack = {};
  std::uint32_t layers = 0, tokens = 0;
};

ResidualStack stack_of(const ResidualSizesQuestion& question, const AnalysisSubject& subject) {
  const bool is_encoder = question.kind == model::BlockKind::EncoderSelf;
  const model::BlockKind kind = is_encoder ? model::BlockKind::EncoderSelf : model::BlockKind::DecoderSelf;
  const auto first = subject.shapes.find({.kind = kind, .layer = {}});
  if (first == subject.shapes.end() || question.batch >= first->second.batch) throw Error("this run has no such layers");
  if (!first->second.has_input) throw Error("attention alone has no residual stream");
  const auto layers = static_cast<std::uint32_t>(
      std::ranges::count(subject.shapes, kind, [](const auto& shape) { return shape.first.kind; }));
  // A last layer without an output projection leaves its heads as they are, and no state.
  const bool ends_in_state = subject.shapes.at({.kind = kind, .layer = {layers - 1}}).d_output > 0;
  const ResidualStack stack{.stack = is_encoder ? inference::Stack::Encoder : inference::Stack::Decoder,
                            .layers = ends_in_state ? layers : layers - 1,
                            .tokens = first->second.queries};
  if (stack.layers == 0) throw Error("without an output projection nothing is added to the token vectors");
  return stack;
}

Reads states_of(const ResidualStack& stack, std::uint32_t layer, std::uint32_t batch, attention::KeyRange tokens) {
  Reads reads;
  reads.residuals.push_back(
      {.stack = stack.stack, .layer = layer, .batch = batch, .first = tokens.begin, .count = tokens.end - tokens.begin});
  return reads;
}

}  // namespace

Task<ResidualSizes> analyse(ResidualSizesQuestion question, AnalysisSubject subject) {
  const ResidualStack stack = stack_of(question, subject);
  ResidualSizes found;
  found.layers = stack.layers;
  found.tokens = stack.tokens;
  for (std::uint32_t layer = 0; layer <= found.layers; ++layer) {
    const Answers read = co_await states_of(stack, layer, question.batch, {stack.tokens});
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

LayerActivations largest_activations(std::span<const float> states, std::size_t width, std::uint32_t first) {
  LayerActivations found;
  const auto add_to_top = [&found](const Activation& x) {
    if (found.top.size() == LayerActivations::kTop && x.size() <= found.top.back().size()) return;
    found.top.insert(std::ranges::upper_bound(found.top, x.size(), std::greater(), &Activation::size), x);
    if (found.top.size() > LayerActivations::kTop) found.top.pop_back();
  };
  std::vector<float> sizes;
  sizes.reserve(states.size());
  for (std::size_t at = 0; at < states.size(); ++at) {
    const Activation x{.token = first + static_cast<std::uint32_t>(at / width),
                       .dimension = static_cast<std::uint32_t>(at % width),
                       .value = states[at]};
    if (!std::isfinite(x.value)) throw Error("the residual stream has a number that isn't finite at token {}", x.token);
    if (x.dimension == 0) found.largest.push_back(x);
    if (x.size() > found.largest.back().size()) found.largest.back() = x;
    add_to_top(x);
    sizes.push_back(x.size());
  }
  if (sizes.empty()) return found;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) / 2);
  std::ranges::nth_element(sizes, middle);
  found.median = *middle;
  return found;
}

Task<LargestActivations> analyse(LargestActivationsQuestion question, AnalysisSubject subject) {
  const ResidualStack stack = stack_of(question, subject);
  const attention::KeyRange real = real_tokens(subject.input->queries(question.kind), question.batch, stack.tokens);
  if (real.begin == real.end) throw Error("this line has no tokens");
  LargestActivations found;
  found.layers = stack.layers;
  found.first = real.begin;
  for (std::uint32_t layer = 0; layer <= found.layers; ++layer) {
    const Answers read = co_await states_of(stack, layer, question.batch, real);
    const std::span<const float> states = read.residuals.front().values;
    found.states.push_back(largest_activations(states, states.size() / (real.end - real.begin), real.begin));
    co_yield found;
  }
  co_return found;
}

}  // namespace headlight::app
