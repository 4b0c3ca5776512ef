#include "app/widgets/cells/step_values.h"

#include "inference/embed.h"

namespace headlight::app {
namespace {

using Other = StepMatrix::Other;

std::vector<float> memory_window(const Frame& frame, const chart::Region& window) {
  std::vector<float> values;
  for (std::uint32_t row = window.row; row < window.row + window.rows; ++row) {
    const std::span<const float> numbers = memory_row(frame, row);
    if (numbers.size() < window.column + window.columns) return {};
    const std::span<const float> part = numbers.subspan(window.column, window.columns);
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

std::optional<inference::EmbeddingPart> embedding_part(StepMatrix matrix) {
  if (matrix == Other::TokenVectors) return inference::EmbeddingPart::Tokens;
  if (matrix == Other::PositionVectors) return inference::EmbeddingPart::Positions;
  if (matrix == Other::TypeVectors) return inference::EmbeddingPart::Types;
  if (matrix == Other::EmbeddingSum) return inference::EmbeddingPart::Sum;
  return std::nullopt;
}

bool has_part(const model::Embedding& embedding, inference::EmbeddingPart part) {
  // Parts of other widths than the layer's, or that aren't added up before the norm.
  if (embedding.projection || embedding.adds_positions_last) return false;
  if (part == inference::EmbeddingPart::Positions) return !embedding.positions.is_empty();
  if (part == inference::EmbeddingPart::Types) return !embedding.types.is_empty();
  const bool is_sum = !embedding.positions.is_empty() || !embedding.types.is_empty();
  return is_sum && (part == inference::EmbeddingPart::Tokens || embedding.norm.has_value());
}

std::vector<float> embedding_window(const HeadSubject& subject, std::uint32_t item, inference::EmbeddingPart part,
                                    const chart::Region& window) {
  const Tensor rows = inference::embed_part(*subject.embedding, *subject.tokens, item, {window.row, window.rows}, part);
  const std::uint32_t width = rows.axis(1);
  std::vector<float> values;
  for (std::uint32_t row = 0; row < window.rows; ++row) {
    const auto first = rows.values.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * width + window.column);
    values.insert(values.end(), first, first + window.columns);
  }
  return values;
}

/// The most gates that are read for the experts' load; a longer text shows no load.
constexpr std::uint32_t kMostGates = 1U << 22;

/// Counts the load from the gates of the line's tokens, which are asked for as a tile; empty while they aren't known.
std::vector<float> load_window(Frame& frame, const HeadSubject& subject, const chart::Region& window,
                               std::uint64_t& version) {
  const std::uint32_t batch = frame.state.selection.batch;
  const model::TokenBatch& tokens = frame.result.input->queries(subject.block.kind);
  const std::uint32_t count = std::max(tokens.lengths.empty() ? tokens.length : tokens.lengths[batch], 1U);
  const EngineTile* known = frame.ask(TileQuery{.quantity = attention::Stage::FfnGates,
                                                .block = subject.block,
                                                .batch = batch,
                                                .row = tokens.start(batch),
                                                .rows = count,
                                                .column = window.column,
                                                .columns = window.columns,
                                                .pool = 1});
  if (known == nullptr) return {};
  version = version * 31 + std::hash<const void*>()(known->tile.get());
  std::vector<float> load(window.columns);
  for (std::uint32_t row = 0; row < count; ++row) {
    for (std::uint32_t expert = 0; expert < window.columns; ++expert) {
      if (known->tile->at(row, expert) != 0.0F) load[expert] += 1.0F / static_cast<float>(count);
    }
  }
  return load;
}

/// Returns the heads' columns in the window, asked for as tiles; empty while one isn't known. `version`: of what they are.
std::vector<float> joined_window(Frame& frame, const JoinedHeads& joined, const HeadSubject& subject,
                                 const chart::Region& window, std::uint64_t& version) {
  std::vector<float> values(std::size_t{window.rows} * window.columns);
  const std::uint32_t group = std::max(subject.geometry.shape.heads / std::max(joined.heads, 1U), 1U);
  bool is_known = true;
  for (std::uint32_t head = window.column / joined.width; head * joined.width < window.column + window.columns; ++head) {
    const EngineTile* known = frame.ask(TileQuery{.quantity = joined.stage,
                                                  .block = subject.block,
                                                  .batch = frame.state.selection.batch,
                                                  .head = head * group,
                                                  .row = window.row,
                                                  .rows = window.rows,
                                                  .column = 0,
                                                  .columns = joined.width,
                                                  .pool = 1});
    is_known = is_known && known != nullptr;
    if (!is_known) continue;
    version = version * 31 + std::hash<const void*>()(known->tile.get());
    const std::uint32_t first = std::max(window.column, head * joined.width);
    const std::uint32_t end = std::min(window.column + window.columns, (head + 1) * joined.width);
    for (std::uint32_t row = 0; row < window.rows; ++row) {
      for (std::uint32_t column = first; column < end; ++column) {
        values[std::size_t{row} * window.columns + column - window.column] =
            known->tile->at(row, column - head * joined.width);
      }
    }
  }
  return is_known ? values : std::vector<float>();
}

}  // namespace

model::HeadWeight weight_columns(StepMatrix matrix, const HeadSubject& subject) {
  if (!subject.layer || !matrix.is_weight()) return {};
  model::HeadWeight columns = attention::columns_of(*subject.layer, matrix.weight(), subject.geometry.head);
  if (subject.has_all_heads && columns.linear != nullptr) columns = {columns.linear, 0, columns.linear->out()};
  return columns;
}

JoinedHeads joined_heads(StepMatrix matrix, const inference::BlockShape& shape) {
  using attention::Stage;
  if (matrix == Other::AllQueries) return {.stage = Stage::Q, .heads = shape.heads, .width = shape.d_k};
  if (matrix == Other::AllKeys) return {.stage = Stage::K, .heads = shape.kv_heads, .width = shape.d_k};
  if (matrix == Other::AllValues) return {.stage = Stage::V, .heads = shape.kv_heads, .width = shape.d_v};
  if (matrix == Other::AllHeads) return {.stage = Stage::Heads, .heads = shape.heads, .width = shape.d_v};
  return {};
}

std::optional<inference::BlockShape::Extent> size_of(StepMatrix matrix, const HeadSubject& subject) {
  if (matrix == Other::Memory) {
    if (!subject.layer || !subject.layer->weights) return std::nullopt;
    return inference::BlockShape::Extent{.rows = subject.geometry.shape.keys, .columns = subject.layer->weights->key.in()};
  }
  if (const auto part = embedding_part(matrix)) {
    if (!subject.embedding || !has_part(*subject.embedding, *part)) return std::nullopt;
    return inference::BlockShape::Extent{.rows = subject.tokens->length, .columns = subject.embedding->table.axis(1)};
  }
  if (matrix == Other::ExpertLoad) {
    const inference::BlockShape& shape = subject.geometry.shape;
    if (shape.experts == 0 || shape.queries > kMostGates / shape.experts) return std::nullopt;
    return inference::BlockShape::Extent{.rows = 1, .columns = shape.experts};
  }
  if (const JoinedHeads joined = joined_heads(matrix, subject.geometry.shape); joined.heads > 0) {
    const auto extent = subject.geometry.shape.extent(joined.stage);
    if (!extent) return std::nullopt;
    return inference::BlockShape::Extent{.rows = extent->rows, .columns = joined.heads * joined.width};
  }
  const model::HeadWeight columns = weight_columns(matrix, subject);
  if (!columns.linear) return std::nullopt;
  return inference::BlockShape::Extent{.rows = columns.linear->in(), .columns = columns.count};
}

std::span<const float> memory_row(const Frame& frame, std::uint32_t row) {
  const std::shared_ptr<const Tensor>& memory = frame.result.memory;
  if (!memory || memory->shape.size() != 3) return {};
  const std::uint32_t batch = frame.state.selection.batch;
  if (batch >= memory->axis(0) || row >= memory->axis(1)) return {};
  const std::size_t width = memory->axis(2);
  return std::span(memory->values).subspan((std::size_t{batch} * memory->axis(1) + row) * width, width);
}

const model::Rotary* HeadSubject::rotary(const Frame& frame) const {
  if (!layer || !layer->config.rotary || !frame.result.network || !frame.result.network->layers) return nullptr;
  const std::vector<model::Rotary>& rotaries = frame.result.network->layers->rotaries;
  return *layer->config.rotary < rotaries.size() ? &rotaries[*layer->config.rotary] : nullptr;
}

const StepValues::Known* StepValues::find(Frame& frame, StepMatrix matrix, const HeadSubject& subject,
                                          const chart::Region& window) {
  const std::optional<inference::BlockShape::Extent> size = size_of(matrix, subject);
  const bool is_inside = size && window.row + window.rows <= size->rows && window.column + window.columns <= size->columns;
  if (!is_inside) return nullptr;  // another network may have a smaller one than that for which the window was chosen
  const bool is_memory = matrix == Other::Memory;
  if (is_memory) frame.ask(MemoryQuery());
  const std::optional<inference::EmbeddingPart> part = embedding_part(matrix);
  const JoinedHeads joined = joined_heads(matrix, subject.geometry.shape);
  std::uint64_t version = is_memory || part ? frame.result.run : 0;
  std::vector<float> values;
  const bool is_load = matrix == Other::ExpertLoad;
  if (joined.heads > 0 || is_load) {
    values = is_load ? load_window(frame, subject, window, version) : joined_window(frame, joined, subject, window, version);
    if (values.empty()) return nullptr;
  }
  const void* source = is_memory ? static_cast<const void*>(frame.result.memory.get()) : subject.layer;
  const std::uint32_t batch = frame.state.selection.batch;
  const Key key{source, version, batch, subject.geometry.head, subject.has_all_heads, window};
  const std::pair place{matrix, window.column};
  const auto found = entries_.find(place);
  if (found != entries_.end() && found->second.key == key) return &found->second.known;
  if (is_memory) {
    values = memory_window(frame, window);
  } else if (part) {
    values = embedding_window(subject, batch, *part, window);
  } else if (joined.heads == 0 && !is_load) {
    const model::HeadWeight columns = weight_columns(matrix, subject);
    values = model::read_weight(*columns.linear, window.row, window.rows, columns.first + window.column, window.columns);
  }
  if (values.empty()) return nullptr;
  constexpr std::size_t kMaxWindows = 256;
  if (entries_.size() > kMaxWindows) entries_.clear();
  Entry& entry = entries_.insert_or_assign(place, Entry{.key = key, .known = {}}).first->second;
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
