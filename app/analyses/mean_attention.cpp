#include "app/analyses/head_metrics.h"
#include "app/analyses/token_flow.h"
#include "attribution/rollout.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Edges that carry less are never drawn.
constexpr double kMinShare = static_cast<double>(kMinFlowThreshold);
/// Cells of one take(): some 10 ms.
constexpr std::size_t kMaxCells = std::size_t{1} << 21;

/// Pipes of a flow at most.
constexpr double kMaxPipes = static_cast<double>(std::size_t{1} << 22);

/// Returns the mean over heads of rows of a layer's weights [row, key].
std::vector<double> mean_rows(std::span<const attention::Tile> heads) {
  std::vector<double> mean(heads.front().values.size());
  for (const attention::Tile& head : heads) {
    for (std::size_t cell = 0; cell < mean.size(); ++cell) mean[cell] += double{head.values[cell]};
  }
  for (double& weight : mean) weight /= static_cast<double>(heads.size());
  return mean;
}

/// Returns the reads of all heads' rows of one layer from `row` on, some that are reached.
Reads rows_from(model::BlockRef block, const inference::BlockShape& shape, std::uint32_t batch, std::uint32_t row,
                const std::function<bool(std::uint32_t)>& is_reached) {
  const std::size_t most = std::max<std::size_t>(kMaxCells / (std::size_t{shape.heads} * shape.keys), 1);
  std::uint32_t end = row + 1;
  while (end < shape.queries && end - row < most && is_reached(end)) ++end;
  Reads reads;
  for (std::uint32_t head = 0; head < shape.heads; ++head) {
    reads.tiles.push_back(weights_of({.block = block, .head = head}, batch, {.first = row, .count = end - row}, shape.keys));
  }
  return reads;
}

/// Callbacks that receive the mean weights of each layer, from the last one down.
struct LayerWalk {
  std::function<bool(std::uint32_t query)> is_reached;  ///< after the layer; other rows aren't read
  std::function<void(std::uint32_t layer, std::uint32_t query, std::span<const double> weights)> take_row;
  std::function<void()> end_layer;
};

/// Reads the mean over heads of every layer's weights, in strips of those rows that are reached.
Task<void> read_means(std::uint32_t batch, BlockShapes shapes, LayerWalk walk) {
  auto layer = static_cast<std::uint32_t>(shapes.size());
  for (auto at = shapes.rbegin(); at != shapes.rend(); ++at) {
    const auto& [block, shape] = *at;
    --layer;
    for (std::uint32_t row = 0; row < shape.queries;) {
      if (!walk.is_reached(row)) {
        ++row;
        continue;
      }
      const Answers read = co_await rows_from(block, shape, batch, row, walk.is_reached);
      const std::vector<double> mean = mean_rows(read.tiles);
      for (std::size_t first = 0; first < mean.size(); first += shape.keys, ++row) {
        walk.take_row(layer, row, std::span(mean).subspan(first, shape.keys));
      }
    }
    walk.end_layer();
  }
}

void check(const FlowQuestion& question, const AnalysisSubject& subject, std::uint32_t most_tokens) {
  const model::Layers& layers = *subject.network->layers;
  if (layers.encoder.empty() || !layers.decoder.empty()) throw Error("only models with one stack are followed");
  const inference::BlockShape& shape = subject.shapes.begin()->second;
  if (question.batch >= shape.batch || question.position >= shape.queries) throw Error("this run has no such token");
  if (shape.queries != shape.keys) throw Error("queries and keys are different texts here");
  if (shape.keys > most_tokens) {
    throw Error("the text has {} tokens, and this is computed of at most {}", shape.keys, most_tokens);
  }
}

TokenFlowFound nothing_yet(const FlowQuestion& question, const AnalysisSubject& subject) {
  TokenFlowFound found;
  found.layers = static_cast<std::uint32_t>(subject.network->layers->encoder.size());
  found.start = question.position;
  found.inputs.resize(subject.shapes.begin()->second.keys);
  return found;
}

}  // namespace

std::uint32_t most_flow_tokens(std::uint32_t layers) {
  const double between = std::max(static_cast<double>(layers) - 2.0, 1.0);
  return std::min(static_cast<std::uint32_t>(std::sqrt(kMaxPipes / between)), kMaxRolloutTokens);
}

Task<TokenFlowFound> attention_rollout(FlowQuestion question, AnalysisSubject subject) {
  check(question, subject, kMaxRolloutTokens);
  const double residual_weight = static_cast<double>(question.residual_weight) / 1000.0;
  TokenFlowFound found = nothing_yet(question, subject);
  std::vector<double> masses(found.inputs.size()), below(found.inputs.size());  // [token] after and before the layer
  masses[question.position] = 1.0;
  const auto take_row = [&](std::uint32_t layer, std::uint32_t query, std::span<const double> weights) {
    attribution::roll_down(masses[query], layer, query, weights, residual_weight, kMinShare, below, found.edges);
  };
  LayerWalk walk{.is_reached = [&](std::uint32_t query) { return masses[query] != 0.0; },
                 .take_row = take_row,
                 .end_layer = [&] { masses = std::exchange(below, std::vector<double>(below.size())); }};
  co_await read_means(question.batch, subject.shapes, std::move(walk));
  found.inputs = masses;
  co_return found;
}

Task<TokenFlowFound> attention_flow(FlowQuestion question, AnalysisSubject subject) {
  check(question, subject, most_flow_tokens(static_cast<std::uint32_t>(subject.network->layers->encoder.size())));
  const double residual_weight = static_cast<double>(question.residual_weight) / 1000.0;
  TokenFlowFound found = nothing_yet(question, subject);
  const auto tokens = static_cast<std::uint32_t>(found.inputs.size()), source = std::min(question.source, tokens - 1);
  attribution::LargestFlow flow(found.layers, tokens, question.position, source);
  const auto take_row = [&](std::uint32_t /*layer*/, std::uint32_t query, std::span<const double> weights) {
    std::vector<double> capacities(weights.begin(), weights.end());
    for (double& capacity : capacities) capacity *= 1.0 - residual_weight;
    capacities[query] += residual_weight;
    flow.add(query, capacities);
  };
  LayerWalk walk{.is_reached = [&](std::uint32_t query) { return flow.is_reached(query); },
                 .take_row = take_row,
                 .end_layer = [&] { flow.end_layer(); }};
  co_await read_means(question.batch, subject.shapes, std::move(walk));
  do {
    co_await read_nothing();
  } while (!flow.step());
  attribution::TokenFlow largest = flow.result(kMinShare);
  found.inputs[source] = largest.value;
  found.edges = std::move(largest.edges);
  co_return found;
}

Task<TokenFlowFound> analyse(FlowQuestion question, AnalysisSubject subject) {
  const auto of = question.method == FlowMethod::Routes    ? flow_routes
                  : question.method == FlowMethod::Rollout ? attention_rollout
                                                           : attention_flow;
  return of(question, std::move(subject));
}

}  // namespace headlight::app
