#include "attention/layer_graph.h"

#include <algorithm>

#include "core/error.h"

namespace headlight::attention {

namespace {

constexpr std::uint32_t kMaxPool = 1u << 20;  // far more than any matrix has rows, and sums with it don't overflow

}  // namespace

void check(const BlockShape& shape, const TileRequest& request) {
  const bool can_sample = request.stage == Stage::Weights && request.pooling == Pooling::Max &&
                          request.pool >= kMinSampledPool && request.sampled_rows < request.pool;
  if (request.sampled_rows != 0 && !can_sample) {
    throw Error(
        "{} of {} rows of a square can't be sampled of stage '{}': ask for the largest weights of squares of at least "
        "{} rows",
        request.sampled_rows, request.pool, to_string(request.stage), kMinSampledPool);
  }
  const auto extent = shape.extent(request.stage);
  if (!extent)
    throw Error("the block {} {} has no stage '{}'", to_string(request.block.kind), request.block.layer.value,
                to_string(request.stage));
  const auto fits = [](std::uint32_t first, std::uint32_t count, std::uint32_t all) {
    return count > 0 && count <= all && first <= all - count;
  };
  const bool is_inside = fits(request.row, request.rows, extent->rows) &&
                         fits(request.column, request.columns, extent->columns) && request.pool > 0 &&
                         request.pool <= kMaxPool && request.pooled_columns <= kMaxPool && request.batch < shape.batch &&
                         (!is_per_head(request.stage) || request.head < shape.heads);
  if (!is_inside) {
    throw Error("a tile of stage '{}' (rows {}+{}, columns {}+{}, batch {}, head {}) lies outside its matrix of {} × {}",
                to_string(request.stage), request.row, request.rows, request.column, request.columns, request.batch,
                request.head, extent->rows, extent->columns);
  }
}

std::optional<BlockShape::Extent> BlockShape::extent(Stage stage) const {
  const LayerGraph graph(*this, model::BlockKind::EncoderSelf);  // sizes are the same of every kind
  const LayerNode* node = graph.find(stage);
  return node != nullptr ? std::optional(node->extent) : std::nullopt;
}

namespace {

const model::Norm* address_of(const std::optional<model::Norm>& norm) { return norm ? &*norm : nullptr; }

/// The residual stream is as wide as what the block adds to it.
BlockShape::Extent stream_of(const BlockShape& shape) {
  return {shape.queries, shape.d_output > 0 ? shape.d_output : shape.d_merged};
}

}  // namespace

LayerGraph::LayerGraph(const BlockShape& shape, model::BlockKind kind, const model::AttentionLayer* layer) : layer_(layer) {
  const BlockShape::Extent stream = stream_of(shape);
  const model::BranchNorms* norms = layer ? &layer->norms : nullptr;
  if (shape.has_residual) add(Stage::Residual, LayerOperation::Given, {}, stream);
  if (shape.has_input) {
    LayerNode& input = add(Stage::X, LayerOperation::Given, {}, {shape.queries, shape.d_model});
    if (shape.has_residual) {
      input.operation = shape.norms_input ? LayerOperation::Norm : LayerOperation::Same;
      input.all_inputs[input.input_count++] = Stage::Residual;
    }
    if (norms) input.norm = address_of(norms->before);
  }
  add_attention(shape, kind == model::BlockKind::Cross);
  if (shape.has_residual) {
    add_sum(shape.norms_sum, Stage::AttentionSum, Stage::Attended, Stage::Residual,
            shape.d_output > 0 ? Stage::Output : Stage::Merged, norms, stream);
  }
  if (shape.has_feed_forward) add_feed_forward(shape);
}

LayerGraph::LayerGraph(model::BlockKind kind, const model::AttentionLayer& layer)
    : LayerGraph(shape_of(layer, 1, 1, 1), kind, &layer) {}

const LayerNode* LayerGraph::find(Stage stage) const {
  const auto found = std::ranges::find(nodes(), stage, &LayerNode::stage);
  return found == nodes().end() ? nullptr : &*found;
}

LayerNode& LayerGraph::add(Stage stage, LayerOperation operation, std::initializer_list<Stage> inputs,
                           BlockShape::Extent extent) {
  LayerNode& node = nodes_.at(count_++);
  node = {.stage = stage, .operation = operation, .extent = extent};
  std::ranges::copy(inputs, node.all_inputs.begin());
  node.input_count = static_cast<std::uint8_t>(inputs.size());
  return node;
}

LayerNode& LayerGraph::add_linear(Stage stage, LayerWeight weight, Stage from, BlockShape::Extent extent) {
  LayerNode& node = add(stage, LayerOperation::Linear, {from}, extent);
  node.weight = weight;
  if (layer_) node.linear = linear_of(*layer_, weight);
  return node;
}

void LayerGraph::add_attention(const BlockShape& shape, bool is_cross) {
  const BlockShape::Extent map{shape.queries, shape.keys};
  const auto project = [&](Stage stage, LayerWeight weight, BlockShape::Extent extent) {
    if (!shape.has_input) return &add(stage, LayerOperation::Given, {}, extent);
    LayerNode& node = add_linear(stage, weight, Stage::X, extent);
    node.reads_memory = is_cross && stage != Stage::Q;
    if (node.reads_memory) node.input_count = 0;
    return &node;
  };
  if (!shape.only_weights) {
    LayerNode* query = project(Stage::Q, LayerWeight::Query, {shape.queries, shape.d_k});
    if (layer_ && layer_->weights) query->norm = address_of(layer_->weights->query_norm);
    LayerNode* key = project(Stage::K, LayerWeight::Key, {shape.keys, shape.d_k});
    if (layer_ && layer_->weights) key->norm = address_of(layer_->weights->key_norm);
  }
  if (shape.has_values) project(Stage::V, LayerWeight::Value, {shape.keys, shape.d_v});
  if (shape.only_weights) {
    add(Stage::Weights, LayerOperation::Given, {}, map);
  } else {
    add(Stage::Scores, LayerOperation::Dot, {Stage::Q, Stage::K}, map);
    if (shape.has_content_position) add(Stage::ContentPosition, LayerOperation::Distance, {Stage::Q}, map);
    if (shape.has_position_content) add(Stage::PositionContent, LayerOperation::Distance, {Stage::K}, map);
    LayerNode& scaled = add(Stage::Scaled, LayerOperation::Scale, {Stage::Scores}, map);
    if (shape.has_content_position) scaled.all_inputs[scaled.input_count++] = Stage::ContentPosition;
    if (shape.has_position_content) scaled.all_inputs[scaled.input_count++] = Stage::PositionContent;
    add(Stage::Masked, LayerOperation::Mask, {Stage::Scaled}, map);
    add(Stage::Weights, LayerOperation::Softmax, {Stage::Masked}, map);
  }
  if (shape.has_values) {
    add(Stage::Heads, LayerOperation::Mix, {Stage::Weights, Stage::V}, {shape.queries, shape.d_v});
    add(Stage::Merged, LayerOperation::Merge, {Stage::Heads}, {shape.queries, shape.d_merged});
  }
  if (shape.d_output > 0) add_linear(Stage::Output, LayerWeight::Output, Stage::Merged, {shape.queries, shape.d_output});
}

void LayerGraph::add_feed_forward(const BlockShape& shape) {
  const BlockShape::Extent stream = stream_of(shape), inner{shape.queries, shape.d_ff},
                           experts{shape.queries, shape.experts};
  const model::BranchNorms* norms = layer_ ? &layer_->feed_forward_norms : nullptr;
  // Without a residual stream the feed-forward reads, and adds to, what attention returns.
  const Stage state = shape.has_residual ? Stage::Attended : shape.d_output > 0 ? Stage::Output : Stage::Merged;
  Stage read = !shape.is_parallel ? state : shape.has_residual ? Stage::Residual : Stage::X;
  if (shape.norms_ffn_input) {
    LayerNode& input = add(Stage::FfnInput, LayerOperation::Norm, {read}, stream);
    if (norms) input.norm = address_of(norms->before);
    read = Stage::FfnInput;
  }
  if (shape.experts > 0) {
    add_linear(Stage::FfnRouter, LayerWeight::Router, read, experts);
    add(Stage::FfnGates, LayerOperation::Route, {Stage::FfnRouter}, experts);
  }
  if (shape.has_gate) add_linear(Stage::FfnGate, LayerWeight::Gate, read, inner);
  if (shape.d_ff > 0) {
    add_linear(Stage::FfnHidden, LayerWeight::Hidden, read, inner);
    if (shape.has_gate) {
      add(Stage::FfnActive, LayerOperation::Activate, {Stage::FfnGate, Stage::FfnHidden}, inner);
    } else {
      add(Stage::FfnActive, LayerOperation::Activate, {Stage::FfnHidden}, inner);
    }
  }
  if (shape.experts > 0) {
    add(Stage::FfnOutput, LayerOperation::Experts, {read, Stage::FfnGates}, stream);
  } else {
    add_linear(Stage::FfnOutput, LayerWeight::Ffn, Stage::FfnActive, stream);
  }
  add_sum(shape.norms_ffn_sum, Stage::FfnSum, Stage::Next, state, Stage::FfnOutput, norms, stream);
}

void LayerGraph::add_sum(bool is_normed, Stage sum, Stage result, Stage stream, Stage branch,
                         const model::BranchNorms* norms, BlockShape::Extent extent) {
  LayerNode& added = add(is_normed ? sum : result, LayerOperation::Add, {stream, branch}, extent);
  if (norms) {
    added.norm = address_of(norms->inside);
    added.factor = norms->scale;
  }
  if (!is_normed) return;
  LayerNode& normed = add(result, LayerOperation::Norm, {sum}, extent);
  if (norms) normed.norm = address_of(norms->after);
}

BlockShape shape_of(const model::AttentionLayer& layer, std::uint32_t batch, std::uint32_t queries, std::uint32_t keys) {
  const model::AttentionConfig& config = layer.config;
  const model::BranchNorms& ffn = layer.feed_forward_norms;
  const bool has_ffn = layer.has_feed_forward(), is_dense = layer.feed_forward.has_value();
  return {.batch = batch,
          .heads = config.heads,
          .queries = queries,
          .keys = keys,
          .d_model = config.d_model,
          .d_k = config.d_k,
          .d_v = config.d_v,
          .kv_heads = config.kv_head_count(),
          .d_merged = config.heads * config.d_v,
          .d_output = layer.weights && layer.weights->output ? layer.weights->output->out() : 0,
          .has_input = layer.weights.has_value(),
          .has_content_position = config.has_content_position,
          .has_position_content = config.has_position_content,
          .has_residual = layer.weights.has_value() && !layer.norms.is_empty(),
          .norms_sum = layer.norms.after.has_value(),
          .norms_input = layer.norms.before.has_value(),
          .has_feed_forward = has_ffn,
          .d_ff = is_dense ? layer.feed_forward->in.out() : 0,
          .experts = layer.experts ? layer.experts->count() : 0,
          .is_parallel = layer.is_parallel,
          .has_gate = is_dense && layer.feed_forward->gate.has_value(),
          .norms_ffn_input = has_ffn && ffn.before.has_value(),
          .norms_ffn_sum = has_ffn && ffn.after.has_value()};
}

Stage stage_of(model::Site site) {
  constexpr Stage kStagesOfSites[] = {Stage::Q,        Stage::K,      Stage::V,         Stage::Weights,  Stage::Heads,
                                      Stage::Residual, Stage::Output, Stage::FfnOutput, Stage::FfnActive};
  return kStagesOfSites[static_cast<std::size_t>(site)];
}

model::HeadWeight columns_of(const model::AttentionLayer& layer, LayerWeight weight, std::uint32_t head) {
  if (weight <= LayerWeight::Value) return model::head_weight(layer, static_cast<model::Projection>(weight), head);
  const model::Linear* linear = linear_of(layer, weight);
  return {.linear = linear, .first = 0, .count = linear == nullptr ? 0 : linear->out()};
}

const model::Linear* linear_of(const model::AttentionLayer& layer, LayerWeight weight) {
  const auto* projections = layer.weights ? &*layer.weights : nullptr;
  const auto* ffn = layer.feed_forward ? &*layer.feed_forward : nullptr;
  switch (weight) {
    case LayerWeight::Query:
      return projections ? &projections->query : nullptr;
    case LayerWeight::Key:
      return projections ? &projections->key : nullptr;
    case LayerWeight::Value:
      return projections ? &projections->value : nullptr;
    case LayerWeight::Output:
      return projections && projections->output ? &*projections->output : nullptr;
    case LayerWeight::Gate:
      return ffn && ffn->gate ? &*ffn->gate : nullptr;
    case LayerWeight::Hidden:
      return ffn ? &ffn->in : nullptr;
    case LayerWeight::Ffn:
      return ffn ? &ffn->out : nullptr;
    case LayerWeight::Router:
      return layer.experts ? &layer.experts->router : nullptr;
  }
  return nullptr;
}

}  // namespace headlight::attention
