// The feed-forward of a layer, dense or of experts.
#include <algorithm>
#include <vector>

#include "inference/layer_recorder.h"
#include "ops/experts.h"
#include "ops/linear.h"

namespace headlight::inference {

using attention::Stage;

Hidden LayerRecorder::inner_layer(const LayerPosition& place, const DeviceFeedForward& weights, const Hidden& read,
                                  StreamStages* stages) {
  const ops::Rows rows = place.rows;
  const auto inner_tensor = [&](Role role) {
    return tensor({place.ref.kind, 0, role}, place.capacity, weights.width, rows, "a feed-forward layer");
  };
  Hidden inner = inner_tensor(Role::Inner);
  if (weights.gate) {
    const Hidden gate = inner_tensor(Role::Gate);
    ops::linear(stream_, kernels_, *read, *weights.gate, *gate, {.activation = weights.activation, .rows = rows});
    ops::linear(stream_, kernels_, *read, weights.in, *inner,
                {.combine = ops::Combine::Multiply, .other = gate.get(), .rows = rows});
  } else {
    ops::linear(stream_, kernels_, *read, weights.in, *inner, {.activation = weights.activation, .rows = rows});
  }
  const auto show = [&](Stage stage, Role role, const ops::PackedLinear& linear) {  // before the activation
    if (!is_wanted(stages, stage)) return;
    const Hidden plain = inner_tensor(role);
    ops::linear(stream_, kernels_, *read, linear, *plain, {.rows = rows});
    keep(stages, stage, plain);
  };
  show(Stage::FfnHidden, Role::PlainInner, weights.in);
  if (weights.gate) show(Stage::FfnGate, Role::PlainGate, *weights.gate);
  return inner;
}

void LayerRecorder::apply_experts(const LayerPosition& place, const DeviceExperts& experts, const Hidden& read,
                                  const Hidden& result, StreamStages* stages) {
  const ops::Rows rows = place.rows;
  const DeviceFeedForward& weights = experts.experts;
  const ops::ExpertCounts& counts = experts.counts;
  const auto of_tokens = [&](Role role, std::uint32_t width) {
    return tensor({place.ref.kind, 0, role}, place.capacity, width, rows, "the choice of experts");
  };
  const Hidden logits = of_tokens(Role::Router, counts.experts), gates = of_tokens(Role::Gates, counts.experts);
  ops::linear(stream_, kernels_, *read, experts.router, *logits, {.rows = rows});
  keep(stages, Stage::FfnRouter, logits);
  keep(stages, Stage::FfnGates, gates);
  ops::SharedExpert shared;
  Hidden shared_result, shared_gate;
  if (experts.shared && result) {
    shared_result = of_tokens(Role::SharedOutput, result->width);
    ops::linear(stream_, kernels_, *inner_layer(place, *experts.shared, read), experts.shared->out, *shared_result,
                {.rows = rows});
    shared.result = shared_result.get();
  }
  if (experts.shared_gate && result) {
    shared_gate = of_tokens(Role::SharedGate, 1);
    ops::linear(stream_, kernels_, *read, *experts.shared_gate, *shared_gate, {.rows = rows});
    shared.gate = shared_gate.get();
  }
  const std::uint32_t out_width = weights.out.width;
  const std::uint32_t most = ops::pairs_at_once(counts.per_token, weights.width, out_width);
  const std::vector<ops::ExpertRows> parts = ops::expert_parts(read->items, rows, counts.per_token, most);
  std::uint32_t pairs = 0;
  for (const ops::ExpertRows& part : parts) pairs = std::max(pairs, part.count() * counts.per_token);
  const auto of_pairs = [&](Role role, std::uint32_t width) {
    return tensors_.scratch.get(stream_, {place.ref.kind, 0, role}, {1, 1, pairs, width}, "the results of experts");
  };
  const auto words = static_cast<std::uint32_t>(ops::routing_numbers(counts, pairs));
  const Hidden routing =
      tensors_.scratch.get(stream_, {place.ref.kind, 0, Role::Routing}, {1, 1, 1, words}, "the choice of experts");
  for (const ops::ExpertRows& part : parts) {
    ops::route(stream_, kernels_, *logits, counts, part, *gates, routing->buffer());
    if (!result) continue;
    const Hidden inner = of_pairs(Role::ExpertInner, weights.width), gate = of_pairs(Role::ExpertGate, weights.width);
    const auto layer = [&](const ops::PackedLinear& weight, ops::Activation activation,
                           const Hidden& factor) -> ops::ExpertLinear {
      return {weight, counts, routing->buffer(), activation, factor.get()};
    };
    if (weights.gate) {
      ops::linear_of_tokens(stream_, kernels_, *read, part, layer(*weights.gate, weights.activation, nullptr), *gate);
      ops::linear_of_tokens(stream_, kernels_, *read, part, layer(weights.in, ops::Activation::None, gate), *inner);
    } else {
      ops::linear_of_tokens(stream_, kernels_, *read, part, layer(weights.in, weights.activation, nullptr), *inner);
    }
    const Hidden results = of_pairs(Role::ExpertOutput, out_width);
    ops::linear_of_pairs(stream_, kernels_, *inner, part, layer(weights.out, ops::Activation::None, nullptr), *results);
    ops::sum_experts(stream_, kernels_, *results, part, counts, routing->buffer(), shared, *result);
  }
}

Hidden LayerRecorder::feed_forward(const LayerPosition& place, const DeviceLayer& device, const Hidden& input,
                                   const Hidden& residual, StreamStages* stages) {
  const auto scratch = [&](Role role) { return TensorKey{place.ref.kind, 0, role}; };
  const ops::Rows rows = place.rows;
  Hidden read, inner;
  if (rows.count > 0) {
    read = device.feed_forward_norms.before
               ? normed(scratch(Role::NormedState), input, *device.feed_forward_norms.before, rows)
               : input;
    keep(stages, Stage::FfnInput, read);
    if (device.feed_forward) {
      inner = inner_layer(place, *device.feed_forward, read, stages);
      intervene(place, model::Site::Inner, inner);
      keep(stages, Stage::FfnActive, inner);
    }
  }
  const bool needs_choice_alone = device.experts && stages != nullptr && rows.count > 0 &&
                                  std::ranges::none_of(*stages, [](const auto& one) { return one.first > Stage::FfnGates; });
  if (needs_choice_alone) {
    apply_experts(place, *device.experts, read, nullptr, stages);
    return nullptr;
  }
  Branch branch{.input = inner,
                .linear = device.feed_forward ? &device.feed_forward->out : nullptr,
                .norms = device.feed_forward_norms,
                .residual = residual,
                .plain = scratch(Role::Branch),
                .keeps_plain = stages != nullptr || device.experts,
                .result = place.result,
                .site = model::Site::FeedForward,
                .sum = scratch(Role::FeedForwardSum),
                .sum_stage = Stage::FfnSum,
                .stages = stages};
  if (device.experts) {
    branch.width = device.experts->experts.out.width;
    branch.compute = [&](const Hidden& result) { apply_experts(place, *device.experts, read, result, stages); };
  }
  const auto [state, output] = end_branch(place, branch);
  keep(stages, Stage::FfnOutput, output);
  keep(stages, Stage::Next, state);
  return state;
}

}  // namespace headlight::inference
