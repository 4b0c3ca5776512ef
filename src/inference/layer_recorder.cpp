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
    ranges.push_back(tokens.end(item));
  }
  return ranges;
}

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
  // Queries and keys that are normed are clipped after their norm (OLMoE).
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
  const model::TokenBatch& tokens = pass_.input.tokens(block.kind, site);
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
