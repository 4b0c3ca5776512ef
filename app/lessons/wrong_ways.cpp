#include "app/lessons/wrong_ways.h"

#include <limits>

namespace headlight::app {
namespace {

using attention::Stage;
using model::BlockRef;
using model::Linear;
using model::reference::Array;
using model::reference::PassRules;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

model::AttentionLayer& layer_of(model::Layers& layers, model::BlockKind kind) {
  if (kind == model::BlockKind::EncoderSelf) return layers.encoder.front();
  return kind == model::BlockKind::Cross ? layers.decoder.front().cross : *layers.decoder.front().self;
}

const Array& stage_of(const ExerciseStages& stages, Stage stage) {
  return std::ranges::find(stages, stage, &ExerciseStages::value_type::first)->second;
}

void transpose(Linear& linear) {
  const Tensor from = linear.weight.tensor();
  if (linear.in() != linear.out()) return;
  Tensor to(from.shape);
  for (std::uint32_t row = 0; row < linear.out(); ++row) {
    for (std::uint32_t column = 0; column < linear.in(); ++column) to.at({row, column}) = from.at({column, row});
  }
  linear.weight = std::move(to);
}

template <typename Change>
void change_projections(model::AttentionLayer& layer, Change change) {
  if (!layer.weights) return;
  for (Linear* linear : {&layer.weights->query, &layer.weights->key, &layer.weights->value}) change(*linear);
}

template <typename Change>
void change_output(model::AttentionLayer& layer, Change change) {
  if (layer.weights && layer.weights->output) change(*layer.weights->output);
}

void set_scale(model::AttentionLayer& layer, double factor) {
  layer.config.scale = {.kind = model::Scale::Kind::Value, .value = static_cast<float>(factor)};
}

using Cell = std::array<std::uint32_t, 4>;

double at(const Array& map, const Cell& cell) {
  std::size_t index = 0;
  for (std::size_t axis = 0; axis < cell.size(); ++axis) index = index * map.shape[axis] + cell[axis];
  return map.values[index];
}

/// Softmax of a map along an axis, at a cell.
double softmax(const Array& map, std::size_t axis, const Cell& cell) {
  double largest = -kInfinity, sum = 0.0;
  Cell along = cell;
  for (along[axis] = 0; along[axis] < map.shape[axis]; ++along[axis]) largest = std::max(largest, at(map, along));
  for (along[axis] = 0; along[axis] < map.shape[axis]; ++along[axis]) sum += std::exp(at(map, along) - largest);
  return std::exp(at(map, cell) - largest) / sum;
}

double over_queries(const ExerciseStages& right, const Cell& cell) {
  return softmax(stage_of(right, Stage::Masked), 2, cell);
}

double transposed(const ExerciseStages& right, const Cell& cell) {
  return at(stage_of(right, Stage::Weights), {cell[0], cell[1], cell[3], cell[2]});
}

double masked_late(const ExerciseStages& right, const Cell& cell) {
  return at(stage_of(right, Stage::Weights), cell) == 0.0 ? 0.0 : softmax(stage_of(right, Stage::Scaled), 3, cell);
}

/// [batch, token, heads · d], read as if it were [batch, head, token, d].
Array split_by_reshape(const Array& split) {
  Array merged = model::reference::merge_heads(split, model::MergeOrder::Concatenate);
  merged.shape = split.shape;
  return merged;
}

constexpr WrongWay kWays[] = {
    {.says = "the projections' biases are missing",
     .layer = [](model::AttentionLayer& layer) { change_projections(layer, [](Linear& linear) { linear.bias = {}; }); }},
    {.says = "x was multiplied by W instead of its transpose; a Linear computes x \u00B7 W\u1D40 + b",
     .layer = [](model::AttentionLayer& layer) { change_projections(layer, transpose); }},
    {.says = "heads were split by a reshape alone; it is reshape to [batch, token, head, d], then a transpose of tokens and "
             "heads",
     .splits_by_reshape = true},
    {.says = "scores were divided by \u221Ad_k, which this notebook doesn't do",
     .layer = [](model::AttentionLayer& layer) { layer.config.scale = {}; }},
    {.says = "scores weren't divided by \u221Ad_k", .layer = [](model::AttentionLayer& layer) { set_scale(layer, 1.0); }},
    {.says = "scores were divided by d_k instead of its root",
     .layer = [](model::AttentionLayer& layer) { set_scale(layer, 1.0 / layer.config.d_k); }},
    {.says = "scores were divided by \u221Ad_model instead of \u221Ad_k",
     .layer = [](model::AttentionLayer& layer) { set_scale(layer, 1.0 / std::sqrt(layer.config.d_model)); }},
    {.says = "the mask is missing", .shows = [](bool, std::uint32_t, std::uint32_t) { return true; }},
    {.says = "the mask hides what it should show",
     .shows = [](bool is_visible, std::uint32_t, std::uint32_t) { return !is_visible; }},
    {.says = "the mask hides each token from itself",
     .shows = [](bool is_visible, std::uint32_t query, std::uint32_t key) { return is_visible && query != key; }},
    {.says = "masked scores were filled with a finite number instead of -inf", .fill = -1e9},
    {.says = "masked scores were filled with -inf instead of the notebook's number", .fill = -kInfinity},
    {.says = "masked scores were multiplied by 0 instead of filled: e\u2070 is 1, so that they count", .fill = 0.0},
    {.says = "softmax ran over the queries (dim -2) instead of the keys (dim -1)", .weight = over_queries},
    {.says = "weights are transposed: a row is a query, its columns are keys", .weight = transposed},
    {.says = "the mask was applied after softmax, so that rows don't sum to 1", .weight = masked_late},
    {.says = "heads were merged without transposing back: transpose tokens and heads first, then reshape",
     .layer = [](model::AttentionLayer& layer) { layer.config.merge = model::MergeOrder::WithoutTranspose; }},
    {.says = "the output projection's bias is missing",
     .layer = [](model::AttentionLayer& layer) { change_output(layer, [](Linear& linear) { linear.bias = {}; }); }},
    {.says = "merged was multiplied by W_O instead of its transpose",
     .layer = [](model::AttentionLayer& layer) { change_output(layer, transpose); }},
};

/// Calls use(block, x, stages) for each block of the exercise's notebook, changed.
template <typename Use>
void compute(const Exercise& exercise, const WrongWay& way, const ExerciseStages& right, const Use& use) {
  inference::Notebook notebook = exercise.notebook();
  model::Layers layers = *notebook.network->layers;
  if (way.layer) way.layer(layer_of(layers, exercise.kind));
  model::Network network = *notebook.network;
  network.layers = std::make_shared<model::Layers>(std::move(layers));
  PassRules rules = inference::reference_rules(network, notebook.input, notebook.masks, {});
  const BlockRef own{.kind = exercise.kind};
  if (way.fill) rules.fills.fill(*way.fill);
  if (way.shows) {
    rules.is_visible = [sees = std::move(rules.is_visible), &way](BlockRef block, std::uint32_t batch, std::uint32_t head,
                                                                  std::uint32_t query, std::uint32_t key) {
      return way.shows(sees(block, batch, head, query, key), query, key);
    };
  }
  if (way.weight) {
    rules.weight = [&](BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query, std::uint32_t key,
                       double number) {
      return block == own ? way.weight(right, {batch, head, query, key}) : number;
    };
  }
  if (way.splits_by_reshape) {
    rules.edit = [](BlockRef /*block*/, model::Site site, Array& values) {
      if (site <= model::Site::Value) values = split_by_reshape(values);
    };
  }
  rules.take = use;
  model::reference::run(network, notebook.input, rules);
}

}  // namespace

std::span<const WrongWay> wrong_ways() { return kWays; }

ExerciseStages stages_by(const Exercise& exercise, const WrongWay& way, const ExerciseStages& right) {
  ExerciseStages found;
  compute(exercise, way, right, [&](BlockRef block, const Array& /*x*/, model::reference::AttentionStages&& stages) {
    if (block != BlockRef{.kind = exercise.kind}) return;
    for (std::size_t i = static_cast<std::size_t>(Stage::Q); i < attention::kStages; ++i) {
      const auto stage = static_cast<Stage>(i);
      if (!stages[stage].values.empty()) found.emplace_back(stage, std::move(stages[stage]));
    }
  });
  return found;
}

Array input_of(const Exercise& exercise) {
  Array x;
  compute(exercise, {}, {}, [&](BlockRef block, const Array& input, model::reference::AttentionStages&& stages) {
    if (block == BlockRef{.kind = exercise.kind} && !stages[Stage::X].values.empty()) x = input;
  });
  return x;
}

}  // namespace headlight::app
