#include "app/cells/step_values.h"

#include <algorithm>
#include <utility>

namespace headlight::app {
namespace {

using Other = StepMatrix::Other;

/// The linear layer behind a weight matrix, and which of its outputs are the matrix' columns.
struct Columns {
  const model::Linear* linear = nullptr;
  std::uint32_t first = 0, count = 0;
};

Columns columns_of(StepMatrix matrix, const StepLayer& layer) {
  if (!layer.layer) return {};
  const auto whole = [](const model::Linear& linear) {
    return Columns{.linear = &linear, .first = 0, .count = linear.out()};
  };
  if (const auto& ffn = layer.layer->feed_forward) {
    if (matrix == Other::GateWeight && ffn->gate) return whole(*ffn->gate);
    if (matrix == Other::HiddenWeight) return whole(ffn->in);
    if (matrix == Other::FfnWeight) return whole(ffn->out);
  }
  if (!layer.layer->weights) return {};
  const model::AttentionWeights& weights = *layer.layer->weights;
  const model::AttentionConfig& config = layer.layer->config;
  // Several heads may share one KV head.
  const std::uint32_t kv_head = layer.head / std::max(config.heads / std::max(config.kv_head_count(), 1U), 1U);
  if (matrix == Other::QueryWeight) return {.linear = &weights.query, .first = layer.head * layer.d_k, .count = layer.d_k};
  if (matrix == Other::KeyWeight) return {.linear = &weights.key, .first = kv_head * layer.d_k, .count = layer.d_k};
  if (matrix == Other::ValueWeight) return {.linear = &weights.value, .first = kv_head * layer.d_v, .count = layer.d_v};
  if (matrix == Other::OutputWeight && weights.output) return whole(*weights.output);
  return {};
}

/// Is the window inside the matrix? Another network may have smaller ones than that for which it was chosen.
bool holds(const Columns& columns, const MatrixWindow& window) {
  return window.row + window.rows <= columns.linear->in() && window.column + window.columns <= columns.count &&
         columns.first + columns.count <= columns.linear->out();
}

/// linear.weight is [out, in]; the matrix of X · W is its transpose.
std::vector<float> weight_window(const Columns& columns, const MatrixWindow& window) {
  const std::uint32_t in = columns.linear->in();
  std::vector<float> rows(std::size_t{window.columns} * in);
  columns.linear->weight.read(columns.first + window.column, window.columns, rows);
  std::vector<float> values(std::size_t{window.rows} * window.columns);
  for (std::uint32_t row = 0; row < window.rows; ++row) {
    for (std::uint32_t column = 0; column < window.columns; ++column) {
      values[std::size_t{row} * window.columns + column] = rows[std::size_t{column} * in + window.row + row];
    }
  }
  return values;
}

std::vector<float> memory_window(const Frame& frame, const MatrixWindow& window) {
  std::vector<float> values;
  for (std::uint32_t row = window.row; row < window.row + window.rows; ++row) {
    const std::span<const float> numbers = memory_row(frame, row);
    if (numbers.size() < window.column + window.columns) return {};
    const std::span<const float> part = numbers.subspan(window.column, window.columns);
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

}  // namespace

std::optional<MatrixSize> size_of(StepMatrix matrix, const StepLayer& layer, std::uint32_t keys) {
  if (matrix == Other::Memory) {
    if (!layer.layer || !layer.layer->weights) return std::nullopt;
    return MatrixSize{.rows = keys, .columns = layer.layer->weights->key.in()};
  }
  const Columns columns = columns_of(matrix, layer);
  if (!columns.linear) return std::nullopt;
  return MatrixSize{.rows = columns.linear->in(), .columns = columns.count};
}

std::span<const float> memory_row(const Frame& frame, std::uint32_t row) {
  const std::shared_ptr<const Tensor>& memory = frame.result.memory;
  if (!memory || memory->shape.size() != 3) return {};
  const std::uint32_t batch = frame.state.selection.batch;
  if (batch >= memory->axis(0) || row >= memory->axis(1)) return {};
  const std::size_t width = memory->axis(2);
  return std::span(memory->values).subspan((std::size_t{batch} * memory->axis(1) + row) * width, width);
}

const StepValues::Known* StepValues::find(Frame& frame, StepMatrix matrix, const StepLayer& layer,
                                          const MatrixWindow& window) {
  const bool is_memory = matrix == Other::Memory;
  if (is_memory) frame.ask(MemoryQuery());
  const void* source = is_memory ? static_cast<const void*>(frame.result.memory.get()) : layer.layer;
  const Key key{source, is_memory ? frame.result.run : 0, frame.state.selection.batch, layer.head, window};
  const auto found = entries_.find(matrix);
  if (found != entries_.end() && found->second.key == key) return &found->second.known;
  const Columns columns = columns_of(matrix, layer);
  if (!is_memory && (!columns.linear || !holds(columns, window))) return nullptr;
  std::vector<float> values = is_memory ? memory_window(frame, window) : weight_window(columns, window);
  if (values.empty()) return nullptr;
  Entry& entry = entries_.insert_or_assign(matrix, Entry{.key = key, .known = {}}).first->second;
  attention::Tile& tile = entry.known.tile;
  tile.request = {.stage = attention::Stage::X,
                  .row = window.row,
                  .rows = window.rows,
                  .column = window.column,
                  .columns = window.columns,
                  .pool = 1};
  tile.values = std::move(values);
  entry.known.facts = make_tile_facts(tile);
  entry.known.revision = ++revisions_;
  return &entry.known;
}

}  // namespace headlight::app
