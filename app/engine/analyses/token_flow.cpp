#include "app/engine/analyses/token_flow.h"

#include "app/engine/analyses/head_metrics.h"
#include "attribution/additive_stack.h"
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

namespace {

/// Multiply-adds of one take(): some 10 ms.
constexpr std::size_t kWorkAtOnce = std::size_t{8} << 20;

/// Cells that are read at once.
constexpr std::size_t kRoutesCells = std::size_t{1} << 21;

/// Consecutive tokens.
struct TokenRun {
  std::uint32_t first = 0, count = 0;
};

std::vector<TokenRun> runs_of(const std::vector<std::uint32_t>& tokens) {
  std::vector<TokenRun> runs;
  for (const std::uint32_t token : tokens) {
    if (!runs.empty() && runs.back().first + runs.back().count == token) {
      ++runs.back().count;
    } else {
      runs.push_back({.first = token, .count = 1});
    }
  }
  return runs;
}

/// Returns row `index` of a tile or of rows of the residual stream, of such a width.
std::span<const float> row_of(std::span<const float> values, std::size_t index, std::size_t width) {
  return values.subspan(index * width, width);
}

/// The keys of one head that are read together.
struct Piece {
  std::uint32_t head = 0, first = 0, count = 0;
};

/// Returns all keys of all heads of a layer, in steps of what is computed in time for so many reached tokens.
std::vector<std::vector<Piece>> steps_of(const inference::BlockShape& shape, std::size_t reached) {
  const std::size_t cells_per_key = shape.d_v + reached, work_per_key = std::size_t{shape.d_output} * cells_per_key;
  const std::size_t most = std::max<std::size_t>(std::min(kWorkAtOnce / work_per_key, kRoutesCells / cells_per_key), 1);
  std::vector<std::vector<Piece>> steps;
  std::size_t room = 0;
  for (std::uint32_t head = 0; head < shape.heads; ++head) {
    for (std::uint32_t first = 0; first < shape.keys;) {
      if (room == 0) {
        steps.emplace_back();
        room = most;
      }
      const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(room, shape.keys - first));
      steps.back().push_back({.head = head, .first = first, .count = count});
      first += count;
      room -= count;
    }
  }
  return steps;
}

/// Tiles of one layer of one line.
struct LayerTiles {
  model::BlockRef block;
  std::uint32_t batch = 0;

  attention::TileRequest of(attention::Stage stage, std::uint32_t row, std::uint32_t rows, std::uint32_t columns,
                            std::uint32_t head = 0, std::uint32_t column = 0) const {
    return {.block = block,
            .batch = batch,
            .head = head,
            .stage = stage,
            .row = row,
            .rows = rows,
            .column = column,
            .columns = columns};
  }
};

/// Returns the reads of the residual stream around the layer of every token that was reached, and what attention adds to it.
Reads rows_around(const LayerTiles& layer, const std::vector<TokenRun>& runs, std::uint32_t width) {
  Reads reads;
  for (const TokenRun& run : runs) {
    reads.tiles.push_back(layer.of(attention::Stage::Output, run.first, run.count, width));
    for (const std::uint32_t after : {layer.block.layer.value, layer.block.layer.value + 1}) {
      reads.residuals.push_back({.layer = after, .batch = layer.batch, .first = run.first, .count = run.count});
    }
  }
  return reads;
}

std::vector<attribution::TokenRows> token_rows(const Answers& read, const std::vector<TokenRun>& runs, std::size_t width) {
  const auto row = [width](std::span<const float> values, std::size_t index) {
    const std::span<const float> some = row_of(values, index, width);
    return std::vector<float>(some.begin(), some.end());
  };
  std::vector<attribution::TokenRows> tokens;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::uint32_t at = 0; at < runs[i].count; ++at) {
      tokens.push_back({.token = runs[i].first + at,
                        .before = row(read.residuals[2 * i].values, at),
                        .written = row(read.tiles[i].values, at),
                        .after = row(read.residuals[2 * i + 1].values, at)});
    }
  }
  return tokens;
}

/// Reads the values of each piece, and the weights of the reached tokens.
Reads keys_of(const LayerTiles& layer, const std::vector<Piece>& pieces, const std::vector<TokenRun>& runs,
              std::uint32_t d_v) {
  Reads reads;
  for (const Piece& piece : pieces) {
    reads.tiles.push_back(layer.of(attention::Stage::V, piece.first, piece.count, d_v, piece.head));
    for (const TokenRun& run : runs) {
      reads.tiles.push_back(layer.of(attention::Stage::Weights, run.first, run.count, piece.count, piece.head, piece.first));
    }
  }
  return reads;
}

/// Adds what was read of the pieces to the layer's shares. `gain`: the user's of each head, which is applied to its output
/// and so in no value.
void add_keys(std::span<attention::Tile> tiles, const std::vector<Piece>& pieces, std::size_t runs,
              const std::function<float(std::uint32_t)>& gain, attribution::LayerShares& split) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::span<attention::Tile> of_piece = tiles.subspan(i * (1 + runs), 1 + runs);
    for (float& value : of_piece.front().values) value *= gain(pieces[i].head);
    std::vector<std::span<const float>> weights;
    for (const attention::Tile& rows : of_piece.subspan(1)) {
      for (std::uint32_t row = 0; row < rows.request.rows; ++row) {
        weights.push_back(row_of(rows.values, row, rows.request.columns));
      }
    }
    split.add(pieces[i].head, pieces[i].first, of_piece.front().values, weights);
  }
}

}  // namespace

Task<TokenFlowFound> flow_routes(FlowQuestion question, AnalysisSubject subject) {
  const std::string why = attribution::why_not_additive(*subject.network);
  if (!why.empty()) throw Error("this model has no routes: {}", why);
  const inference::BlockShape& first = subject.shapes.at(encoder_block(0));
  if (question.batch >= first.batch || question.position >= first.queries) throw Error("this run has no such token");
  const double least = static_cast<double>(question.least) / 1000.0;
  TokenFlowFound found;
  found.layers = static_cast<std::uint32_t>(subject.network->layers->encoder.size());
  found.start = question.position;
  found.shares.resize(found.layers);
  std::vector<std::uint32_t> reached = {question.position};  // tokens after the layer, in order
  for (std::uint32_t layer = found.layers; layer-- > 0 && !reached.empty();) {
    const LayerTiles tiles{.block = encoder_block(layer), .batch = question.batch};
    const inference::BlockShape& shape = subject.shapes.at(tiles.block);
    const std::vector<TokenRun> runs = runs_of(reached);
    const Answers rows = co_await rows_around(tiles, runs, shape.d_output);
    attribution::LayerShares split(subject.network->layer(tiles.block), shape.keys, token_rows(rows, runs, shape.d_output));
    const auto gain = [&](std::uint32_t head) {
      const auto known = subject.inputs->gains.find({tiles.block, head});
      return known == subject.inputs->gains.end() ? 1.0F : known->second;
    };
    const std::vector<std::vector<Piece>> steps = steps_of(shape, reached.size());
    for (const std::vector<Piece>& pieces : steps) {
      Answers keys = co_await keys_of(tiles, pieces, runs, shape.d_v);
      add_keys(keys.tiles, pieces, runs.size(), gain, split);
    }
    found.shares[layer] = split.shares(least);
    reached = attribution::reached_below(found.shares[layer], least);
  }
  co_return found;
}

}  // namespace headlight::app
