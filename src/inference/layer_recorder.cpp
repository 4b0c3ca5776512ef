#include "inference/layer_recorder.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "attention/mask_words.h"
#include "inference/apply_operation.h"
#include "inference/prompt.h"
#include "inference/run.h"

namespace headlight::inference {
namespace {

using attention::Stage;

/// [batch, 2]: first real token and one past the last.
std::vector<std::uint32_t> token_ranges(const model::TokenBatch& tokens) {
  std::vector<std::uint32_t> ranges;
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    ranges.push_back(tokens.start(item));
    ranges.push_back(tokens.start(item) + tokens.lengths[item]);
  }
  return ranges;
}

/// Of stages with a key for it.
void keep(StreamStages* stages, Stage stage, const Hidden& tensor) {
  if (stages == nullptr) return;
  if (const auto wanted = stages->find(stage); wanted != stages->end()) wanted->second = tensor;
}

bool is_wanted(const StreamStages* stages, Stage stage) { return stages != nullptr && stages->contains(stage); }

/// Numbers of blocks, never given twice.
std::uint64_t next_version() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

Hidden LayerRecorder::tensor(const TensorKey& key, std::uint32_t capacity, std::uint32_t width, ops::Rows rows,
                             std::string_view purpose) {
  const TensorSize size{pass_.input.source.batch, 1, capacity, width};
  return is_scratch(key.role) ? tensors_.scratch.get(stream_, key, size, purpose)
                              : tensors_.run.get(stream_, key, size, rows, purpose);
}

Hidden LayerRecorder::normed(const TensorKey& key, const Hidden& x, const ops::DeviceNorm& norm, ops::Rows rows) {
  Hidden result = tensor(key, x->tokens, x->width, rows, "a normalised state");
  if (rows.count > 0) ops::norm(stream_, kernels_, *x, norm, *result, {.rows = rows});
  return result;
}

Hidden LayerRecorder::layer(const LayerPosition& place, const model::AttentionLayer& layer, const DeviceLayer& device,
                            const Hidden& x, const Hidden& memory) {
  const model::BlockRef ref = place.ref;
  const Hidden read =
      device.norms.before ? normed({ref.kind, ref.layer.value, Role::Normed}, x, *device.norms.before, place.rows) : x;
  attention::BlockRun block = begin_block(place, layer, read);
  project(place, block, device, memory);
  const auto intervene_in = [&](model::Site site, const Hidden& tensor, ops::Rows rows) {
    intervene(ref, site, {tensor->heads, tensor->width}, rows,
              [&](std::uint32_t head) { return ops::head_slot(*tensor, head); });
  };
  intervene_in(model::Site::Query, block.q, place.rows);
  intervene_in(model::Site::Weights, block.q, place.rows);  // a uniform pattern's queries are 0
  intervene_in(model::Site::Key, block.k, place.key_rows);
  intervene_in(model::Site::Value, block.v, place.key_rows);
  relate(place, block, device);
  attend(place, block);
  const TensorKey attended{ref.kind, 0, Role::Attended};
  Hidden y = finish(place, block, device, x, device.has_feed_forward() ? attended : place.result);
  if (device.has_feed_forward()) y = feed_forward(place, device, layer.is_parallel ? x : y, y);
  forward_.run.blocks.push_back(std::move(block));
  return y;
}

Hidden LayerRecorder::edited_input(const LayerPosition& place, const Hidden& x) {
  if (!x || !is_changed(place.ref, model::Site::Residual)) return x;
  const TensorKey key{place.ref.kind, place.ref.layer.value, Role::Edited};
  Hidden result = tensor(key, x->tokens, x->width, place.rows, "a changed residual stream");
  if (place.rows.count > 0) ops::copy_rows(stream_, kernels_, *x, *result, place.rows);
  intervene(place, model::Site::Residual, result);
  return result;
}

void LayerRecorder::stream_stages(const LayerPosition& place, const model::AttentionLayer& layer, const DeviceLayer& device,
                                  attention::BlockRun block, const Hidden& x, StreamStages& stages) {
  keep(&stages, Stage::Residual, x);
  const Hidden y = finish(place, block, device, x, {place.ref.kind, 0, Role::Attended}, &stages);
  keep(&stages, Stage::Attended, y);
  const bool needs_more = std::ranges::any_of(stages, [](const auto& stage) { return stage.first > Stage::Attended; });
  if (device.has_feed_forward() && needs_more) feed_forward(place, device, layer.is_parallel ? x : y, y, &stages);
}

attention::BlockRun LayerRecorder::begin_block(const LayerPosition& place, const model::AttentionLayer& layer,
                                               const Hidden& x) {
  const model::BlockRef ref = place.ref;
  const model::TokenBatch& queries = pass_.input.queries(ref.kind);
  const model::TokenBatch& keys = pass_.input.keys(ref.kind);
  const model::AttentionConfig& config = layer.config;
  attention::BlockRun block;
  block.ref = ref;
  block.config = config;
  block.x = x;
  block.shape = shape_of(layer, ref.kind, pass_.input);
  block.shape.has_input = x != nullptr;
  if (const attention::BlockRun* same = same_block(place, block.shape)) {
    block.mask = same->mask;
    block.version = same->version;
  } else {
    std::vector<std::uint32_t> bias;
    if (config.position_bias) {
      bias = attention::position_bias_words(pass_.network->layers->position_biases[*config.position_bias],
                                            std::max(queries.length, keys.length), token_ranges(keys));
    }
    if (config.distances) {
      bias = attention::distance_words(pass_.network->layers->distances[*config.distances], config, queries.batch,
                                       queries.length, keys.length);
    }
    const attention::MaskSpec mask = attention::in_layer(pass_.masks[ref.kind], config);
    const auto patterns = patterns_of(pass_.interventions, ref, config.heads);
    const MaskTokens tokens(*pass_.network, pass_.input, ref.kind, mask);
    block.mask = std::make_shared<const attention::DeviceMask>(
        attention::upload_mask(stream_, mask,
                               {ref.layer.value, queries.batch, config.heads, queries.length, keys.length,
                                layer_count(*pass_.network, ref.kind), patterns, weight_dropout(pass_.interventions, ref)},
                               token_ranges(keys), bias, tokens.all()));
    block.version = next_version();
  }
  const auto of_heads = [&](Role role, const TensorSize& size, ops::Rows rows, const char* purpose) {
    return tensors_.run.get(stream_, {ref.kind, ref.layer.value, role}, size, rows, purpose);
  };
  const std::uint32_t kv_heads = config.kv_head_count();
  block.q = of_heads(Role::Query, {queries.batch, config.heads, place.capacity, config.d_k}, place.rows, "the queries");
  block.k = of_heads(Role::Key, {queries.batch, kv_heads, place.key_capacity, config.d_k}, place.key_rows, "the keys");
  block.v = of_heads(Role::Value, {queries.batch, kv_heads, place.key_capacity, config.d_v}, place.key_rows, "the values");
  return block;
}

const attention::BlockRun* LayerRecorder::same_block(const LayerPosition& place, const attention::BlockShape& shape) const {
  if (tensors_.base == nullptr || place.rows.count > 0 || place.key_rows.count > 0) return nullptr;
  const auto& blocks = tensors_.base->blocks;
  const auto found = std::ranges::find(blocks, place.ref, &attention::BlockRun::ref);
  return found != blocks.end() && found->shape == shape ? &*found : nullptr;
}

void LayerRecorder::project(const LayerPosition& place, const attention::BlockRun& block, const DeviceLayer& device,
                            const Hidden& memory) {
  const bool is_self = place.ref.kind != model::BlockKind::Cross;
  const ops::Rows key_rows = is_self ? place.rows : place.key_rows;
  // What is normed is cut after its norm (OLMoE).
  const bool norms_heads = device.query_norm && device.key_norm;
  const float clip = norms_heads ? -block.config.clip : block.config.clip;
  if (!device.projections) {
    block.q->upload(stream_, pass_.input.qkv->query);
    block.k->upload(stream_, pass_.input.qkv->key);
    block.v->upload(stream_, pass_.input.qkv->value);
    return;
  }
  if (is_self && place.rows.count > 0) {
    ops::project_heads(stream_, kernels_, *block.x, *device.projections, block.q.get(), block.k.get(), block.v.get(),
                       place.rows, clip);
  } else if (!is_self) {
    if (place.rows.count > 0) {
      ops::project_heads(stream_, kernels_, *block.x, *device.projections, block.q.get(), nullptr, nullptr, place.rows,
                         clip);
    }
    if (key_rows.count > 0) {
      ops::project_heads(stream_, kernels_, *memory, *device.projections, nullptr, block.k.get(), block.v.get(), key_rows,
                         clip);
    }
  }
  if (device.query_norm && place.rows.count > 0) {
    ops::norm(stream_, kernels_, *block.q, *device.query_norm, *block.q, {.rows = place.rows, .clip = block.config.clip});
  }
  if (device.key_norm && key_rows.count > 0) {
    ops::norm(stream_, kernels_, *block.k, *device.key_norm, *block.k, {.rows = key_rows, .clip = block.config.clip});
  }
  rotate(block, place, key_rows, is_self);
}

void LayerRecorder::rotate(const attention::BlockRun& block, const LayerPosition& place, ops::Rows key_rows, bool is_self) {
  if (!block.config.rotary || !is_self || place.rows.count == 0) return;
  const ops::RotaryAngles table = angles(*block.config.rotary, pass_.input.queries(place.ref.kind));
  ops::rotate(stream_, kernels_, *block.q, table, place.rows);
  ops::rotate(stream_, kernels_, *block.k, table, key_rows);
}

ops::RotaryAngles LayerRecorder::angles(std::uint32_t number, const model::TokenBatch& tokens) {
  const auto found = angles_.find({number, &tokens});
  if (found != angles_.end()) return found->second;
  const model::Rotary& rotary = pass_.network->layers->rotaries[number];
  // A table for each set of frequencies that lines have, one after the other.
  const std::uint32_t count = tokens.position_count();
  std::vector<float> table;
  std::map<std::uint32_t, std::uint32_t> first_rows;
  std::vector<std::uint32_t> positions;
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    const std::uint32_t length = tokens.position_count(item);
    const auto rows = static_cast<std::uint32_t>(first_rows.size()) * count;
    const auto [first, is_new] = first_rows.try_emplace(rotary.regime(length), rows);
    if (is_new) {
      const Tensor angles = rotary.angles(count, length);
      table.insert(table.end(), angles.values.begin(), angles.values.end());
    }
    for (std::uint32_t token = 0; token < tokens.length; ++token)
      positions.push_back(first->second + tokens.position(item, token));
  }
  const auto upload = [&]<typename T>(const std::vector<T>& values, const char* purpose) -> const gpu::Buffer& {
    auto buffer =
        std::make_shared<const gpu::Buffer>(stream_.context(), values.size() * sizeof(T), gpu::Memory::Transient, purpose);
    stream_.upload(*buffer, 0, std::span<const T>(values));
    forward_.buffers.push_back(buffer);
    return *buffer;
  };
  const gpu::Buffer& angle_buffer = upload(table, "the angles of rotary positions");
  const gpu::Buffer& position_buffer = upload(positions, "the positions of tokens");
  const ops::RotaryAngles result{.angles = angle_buffer,
                                 .positions = position_buffer,
                                 .tokens = tokens.length,
                                 .pairs = rotary.dimensions / 2,
                                 .is_interleaved = rotary.is_interleaved};
  angles_.emplace(std::pair(number, &tokens), result);
  return result;
}

template <typename SlotOf>
void LayerRecorder::intervene(model::BlockRef block, model::Site site, const SiteHeads& of, ops::Rows rows,
                              const SlotOf& slot_of) {
  if (rows.count == 0) return;
  const bool is_of_keys = site == model::Site::Key || site == model::Site::Value;
  const model::TokenBatch& tokens = is_of_keys ? pass_.input.keys(block.kind) : pass_.input.queries(block.kind);
  for (const Intervention& one : pass_.interventions) {
    if (one.site != site || !one.scope.covers(block)) continue;
    for (std::uint32_t head = 0; head < of.heads; ++head) {
      if (one.scope.head.value_or(head) != head) continue;
      ops::HeadSlot slot = slot_of(head);
      if (one.scope.item) {
        slot.first_item = *one.scope.item;
        slot.items = 1;
      }
      apply_operation(one.operation, {.place = {block, site, head},
                                      .slot = slot,
                                      .width = of.width,
                                      .rows = rows,
                                      .stream = stream_,
                                      .kernels = kernels_,
                                      .tokens = tokens,
                                      .item = one.scope.item,
                                      .buffers = forward_.buffers});
    }
  }
}

void LayerRecorder::intervene(const LayerPosition& place, model::Site site, const Hidden& values) {
  intervene(place.ref, site, {1, values->width}, place.rows,
            [&](std::uint32_t head) { return ops::head_slot(*values, head); });
}

bool LayerRecorder::is_changed(model::BlockRef block, model::Site site) const {
  return std::ranges::any_of(of_block(pass_.interventions, block),
                             [&](const Intervention& one) { return one.site == site; });
}

void LayerRecorder::attend(const LayerPosition& place, attention::BlockRun& block) {
  const attention::BlockShape& shape = block.shape;
  const model::BlockRef ref = place.ref;
  const std::uint32_t d_v4 = block.v->width4();
  block.layout = block.config.merge == model::MergeOrder::Concatenate ? ops::concatenated(shape.heads, d_v4)
                                                                      : ops::without_transpose(shape.queries, d_v4);
  block.merged = tensor({ref.kind, ref.layer.value, Role::Merged}, place.capacity, shape.heads * d_v4 * 4, place.rows,
                        "the merged heads");
  // The shader indexes pairs without gaps between items: to the tensor it is one long row.
  block.stats = tensors_.run.get(stream_, {ref.kind, ref.layer.value, Role::Stats},
                                 {1, 1, 1, shape.batch * shape.heads * place.capacity * 2}, place.rows,
                                 "the rows' softmax statistics");
  if (place.rows.count == 0) return;
  const ops::AttentionScratch* scratch =
      ops::needs_scratch(ops::attention_kernel(kernels_, block.mask->data))
          ? tensors_.scratch.attention(stream_.context(), shape.heads, place.capacity, place.key_capacity, shape.batch)
          : nullptr;
  ops::attention(stream_, kernels_, block.inputs(place.rows), {*block.merged, *block.stats, block.layout}, scratch);
  intervene(ref, model::Site::HeadOutput, {shape.heads, shape.d_v}, place.rows,
            [&](std::uint32_t head) { return ops::head_slot(*block.merged, block.layout, head, d_v4); });
}

Hidden LayerRecorder::finish(const LayerPosition& place, attention::BlockRun& block, const DeviceLayer& device,
                             const Hidden& x, const TensorKey& result, StreamStages* stages) {
  const bool has_output = device.output.has_value();
  if (!has_output && !device.unpad) return nullptr;
  const TensorKey plain{place.ref.kind, place.ref.layer.value, Role::Output};
  const auto [state, output] = end_branch(place, {.input = block.merged,
                                                  .linear = has_output ? &*device.output : &*device.unpad,
                                                  .norms = device.norms,
                                                  .residual = x,
                                                  .plain = plain,
                                                  .keeps_plain = has_output,
                                                  .result = result,
                                                  .site = model::Site::AttentionOutput,
                                                  .sum = {place.ref.kind, 0, Role::AttentionSum},
                                                  .sum_stage = Stage::AttentionSum,
                                                  .stages = stages});
  if (has_output) block.output = output;
  return state;
}

Hidden LayerRecorder::inner_layer(const LayerPosition& place, const DeviceFeedForward& weights, const Hidden& read,
                                  StreamStages* stages) {
  const ops::Rows rows = place.rows;
  const auto inner_tensor = [&](Role role) {
    return tensor({place.ref.kind, 0, role}, place.capacity, weights.width, rows, "a feed-forward layer");
  };
  const Hidden inner = inner_tensor(Role::Inner);
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

std::pair<Hidden, Hidden> LayerRecorder::end_branch(const LayerPosition& place, const Branch& branch) {
  const ops::Rows rows = place.rows;
  const std::uint32_t width = branch.linear != nullptr ? branch.linear->width : branch.width;
  const DeviceBranchNorms& norms = branch.norms;
  const auto run_linear = [&](const Hidden& y, ops::LinearOptions options) {
    if (rows.count == 0) return;
    if (branch.linear == nullptr) return branch.compute(y);
    options.rows = rows;
    ops::linear(stream_, kernels_, *branch.input, *branch.linear, *y, options);
  };
  const auto run_norm = [&](const Hidden& x, const ops::DeviceNorm& norm, const Hidden& y, ops::NormOptions options) {
    if (rows.count == 0) return;
    options.rows = rows;
    ops::norm(stream_, kernels_, *x, norm, *y, options);
  };
  const bool is_edited = is_changed(place.ref, branch.site);
  const auto edit = [&](const Hidden& values) {
    if (is_edited) intervene(place, branch.site, values);
  };
  const Hidden result = tensor(branch.result, place.capacity, width, rows, "a hidden state");
  if (norms.is_empty()) {  // no residual either: the branch is the state
    const Hidden state =
        branch.keeps_plain ? tensor(branch.plain, place.capacity, width, rows, "a linear layer's output") : result;
    run_linear(state, {});
    edit(state);
    return {state, state};
  }
  if (!norms.inside && !norms.after && !branch.keeps_plain && !is_edited) {
    run_linear(result, {.combine = ops::Combine::Add, .other = branch.residual.get(), .scale = norms.scale});
    return {result, nullptr};
  }
  const Hidden plain = tensor(branch.plain, place.capacity, width, rows, "a linear layer's output");
  const bool is_summed = norms.after && is_wanted(branch.stages, branch.sum_stage);
  const Hidden sum = is_summed ? tensor(branch.sum, place.capacity, width, rows, "a sum before its norm") : nullptr;
  keep(branch.stages, branch.sum_stage, sum);
  if (norms.inside) {
    run_linear(plain, {});
    edit(plain);
    run_norm(plain, *norms.inside, result, {.y = branch.residual.get(), .adds_after = true});
    if (norms.after) {
      if (rows.count > 0 && is_summed) ops::copy_rows(stream_, kernels_, *result, *sum, rows);
      run_norm(result, *norms.after, result, {});
    }
  } else if (norms.after) {
    run_linear(plain, {});
    edit(plain);
    if (rows.count > 0 && is_summed) ops::add_rows(stream_, kernels_, *plain, *branch.residual, *sum, rows);
    run_norm(branch.residual, *norms.after, result, {.y = plain.get()});
  } else {
    run_linear(
        plain,
        {.combine = ops::Combine::AddBeside, .other = branch.residual.get(), .sum = result.get(), .scale = norms.scale});
    edit(plain);
    const bool is_added = branch.linear != nullptr && !is_edited;
    if (!is_added && rows.count > 0) ops::add_rows(stream_, kernels_, *plain, *branch.residual, *result, rows, norms.scale);
  }
  return {result, plain};
}

}  // namespace headlight::inference
