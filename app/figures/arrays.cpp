#include "app/figures/arrays.h"

#include "app/engine/query_queue.h"
#include "app/figures/export_plan.h"
#include "app/shapes/quantities/evaluation.h"
#include "app/shapes/quantities/tile_query.h"
#include "core/error.h"

namespace headlight::app {

namespace {

/// Logits that are read at once: 64 MiB.
constexpr std::uint32_t kLogitsAtOnce = 1U << 24;

/// Returns the axes of the array with all matrices of a quantity.
std::vector<std::string> axis_names(const Quantity& written) {
  std::vector<std::string> axes = {"layer", "batch"};
  if (written.scope == Scope::Head) axes.emplace_back("head");
  // Tokens of both sides have one name here.
  axes.emplace_back(to_string(written.rows == Axis::KeyToken ? Axis::Token : written.rows));
  axes.emplace_back(to_string(written.columns));
  return axes;
}

/// Returns the numbers that `read` reads of the run, less those of the baseline where differences are written.
Task<std::string> read_run(bool is_difference, std::function<Tensor(const inference::Run& run)> read) {
  Tensor result;
  Reads reads;
  reads.visit = [&](const FoundRuns& found) {
    result = read(*found.run);
    if (!is_difference) return;
    const Tensor other = read(*found.baseline);
    if (other.shape != result.shape) throw Error("the two runs' results have different shapes: they have no difference");
    for (std::size_t i = 0; i < result.values.size(); ++i) result.values[i] -= other.values[i];
  };
  co_await std::move(reads);
  std::string bytes;
  exporting::append_numbers(result.values, bytes);
  co_return bytes;
}

Task<std::string> read_tiles(std::vector<TileQuery> strips, EvaluationSubject subject) {
  Task<std::vector<attention::Tile>> evaluated = evaluate_together(std::move(strips), std::move(subject), {});
  const std::vector<attention::Tile> tiles = co_await std::move(evaluated);
  std::string bytes;
  for (const attention::Tile& tile : tiles) exporting::append_numbers(tile.values, bytes);
  co_return bytes;
}

void add_ids(const model::TokenBatch& tokens, const std::string& name, std::vector<exporting::FileArray>& arrays) {
  if (tokens.ids.size() != std::size_t{tokens.batch} * tokens.length) return;
  std::vector<std::int64_t> ids;
  ids.reserve(tokens.ids.size());
  for (const std::uint32_t id : tokens.ids) ids.push_back(id == model::kPaddingId ? -1 : std::int64_t{id});
  arrays.push_back(exporting::array_of(name, Shape{tokens.batch, tokens.length}, std::move(ids)));
}

}  // namespace

NumberArray stage_array(const EvaluationSubject& subject, const ExportBlocks& blocks, attention::Stage stage,
                        std::string name) {
  const Quantity& written = quantity(quantity_of(blocks, stage));
  const auto [rows, columns] = extent_of(blocks, stage);
  Shape shape = {static_cast<std::uint32_t>(blocks.layers.size()), blocks.batch.count()};
  if (written.scope == Scope::Head) shape.push_back(static_cast<std::uint32_t>(heads_of(blocks, stage).size()));
  shape.push_back(rows);
  shape.push_back(columns);
  std::vector<TileQuery> strips;
  for (const MatrixRef& matrix : matrices_of(blocks, stage)) {
    for (const TileQuery& part : selected_parts(blocks, matrix.block, stage, matrix.batch, matrix.head))
      std::ranges::copy(strips_of(part), std::back_inserter(strips));
  }
  std::vector<std::size_t> ends;  // of the strips that are evaluated together
  while (ends.empty() || ends.back() < strips.size()) {
    const std::size_t first = ends.empty() ? 0 : ends.back();
    ends.push_back(subject.own_pass ? first + 1 : end_of_group(strips, first));
  }
  const std::size_t count = ends.size();
  const auto read = [subject, strips = std::move(strips), ends = std::move(ends)](std::size_t part) {
    const auto first = strips.begin() + static_cast<std::ptrdiff_t>(part == 0 ? 0 : ends.at(part - 1));
    return read_tiles({first, strips.begin() + static_cast<std::ptrdiff_t>(ends.at(part))}, subject);
  };
  return {.array = {.name = std::move(name), .shape = std::move(shape), .parts = count, .read = {}},
          .axes = axis_names(written),
          .read = read};
}

NumberArray encoder_output_array(const ExportWork& work, std::string name) {
  const model::TokenBatch& tokens = work.source.input->source;
  const std::uint32_t width = work.blocks.front().shape.d_model;
  const auto read = [is_difference = writes_difference(work.options)](std::size_t /*part*/) {
    return read_run(is_difference, [](const inference::Run& run) { return run.encoder_output(); });
  };
  return {.array = {.name = std::move(name), .shape = {tokens.batch, tokens.length, width}, .read = {}},
          .axes = {"batch", "token", "feature"},
          .read = read};
}

NumberArray hidden_array(const ExportWork& work, inference::Stack stack, std::string name) {
  const model::Layers& layers = *work.source.network->layers;
  const bool is_encoder = stack == inference::Stack::Encoder;
  const model::ModelInput& input = *work.source.input;
  const model::TokenBatch& tokens = is_encoder ? input.source : *input.target;
  const auto states = static_cast<std::uint32_t>(1 + (is_encoder ? layers.encoder.size() : layers.decoder.size()));
  const std::uint32_t width = work.blocks.front().shape.d_model;
  const auto read = [is_difference = writes_difference(work.options), stack](std::size_t /*part*/) {
    return read_run(is_difference, [stack](const inference::Run& run) { return run.hidden(stack); });
  };
  return {.array = {.name = std::move(name), .shape = {states, tokens.batch, tokens.length, width}, .read = {}},
          .axes = {"layer", "batch", "token", "feature"},
          .read = read};
}

NumberArray logits_array(const ExportWork& work, std::string name) {
  const model::ModelInput& input = *work.source.input;
  const model::Layers& network = *work.source.network->layers;
  const bool has_decoder = !network.decoder.empty();
  const model::TokenBatch& tokens = has_decoder ? *input.target : input.source;
  const std::size_t layers = has_decoder ? network.decoder.size() : network.encoder.size();
  const std::uint32_t vocabulary = network.unembedding->linear.out();
  const std::size_t at_once = std::max(1U, kLogitsAtOnce / vocabulary);
  const std::size_t all = std::size_t{tokens.batch} * tokens.length;
  const auto read = [is_difference = writes_difference(work.options), at_once, all, layers,
                     length = tokens.length](std::size_t part) {
    std::vector<inference::StateRef> states;
    for (std::size_t token = part * at_once; token < std::min(all, (part + 1) * at_once); ++token) {
      states.push_back({.batch = static_cast<std::uint32_t>(token / length),
                        .token = static_cast<std::uint32_t>(token % length),
                        .layer = static_cast<std::uint32_t>(layers)});
    }
    return read_run(is_difference, [states](const inference::Run& run) { return run.logits(states); });
  };
  return {.array = {.name = std::move(name),
                    .shape = {tokens.batch, tokens.length, vocabulary},
                    .parts = (all + at_once - 1) / at_once,
                    .read = {}},
          .axes = {"batch", "token", "token_id"},
          .read = read};
}

std::vector<exporting::FileArray> id_arrays(const model::ModelInput& input) {
  std::vector<exporting::FileArray> arrays;
  add_ids(input.source, "token_ids", arrays);
  if (input.target) add_ids(*input.target, "target_token_ids", arrays);
  return arrays;
}

std::vector<exporting::FileArray> token_arrays(const model::ModelInput& input) {
  std::vector<exporting::FileArray> arrays = id_arrays(input);
  arrays.push_back(exporting::array_of("tokens", input.source.texts));
  if (input.target) arrays.push_back(exporting::array_of("target_tokens", input.target->texts));
  return arrays;
}

namespace {

using attention::Stage;

void keep(std::vector<std::string>& names, const IndexSet& indices) {
  std::vector<std::string> kept;
  for (const IndexRange& range : indices.ranges())
    kept.insert(kept.end(), names.begin() + range.first, names.begin() + range.end);
  names = std::move(kept);
}

}  // namespace

std::vector<MatrixRef> matrices_of(const ExportBlocks& blocks, Stage stage) {
  std::vector<MatrixRef> matrices;
  for (const model::BlockRef block : blocks.layers) {
    for (std::uint32_t item = blocks.batch.first; item < blocks.batch.end; ++item) {
      for (const std::uint32_t head : heads_of(blocks, stage))
        matrices.push_back({.block = block, .batch = item, .head = head, .stage = stage});
    }
  }
  return matrices;
}

MatrixAxes matrix_axes(const model::ModelInput& input, const ExportBlocks& blocks, const MatrixRef& matrix) {
  const Quantity& written = quantity(quantity_of(blocks, matrix.stage));
  const bool rows_are_keys = written.rows == Axis::KeyToken;
  const model::TokenBatch& row_tokens = rows_are_keys ? input.keys(blocks.kind) : input.queries(blocks.kind);
  const bool is_map = written.is_map();
  MatrixAxes axes;
  axes.row_name = to_string(written.rows);
  axes.column_name = to_string(written.columns);
  axes.rows = row_tokens.texts.at(matrix.batch);
  axes.columns = is_map ? input.keys(blocks.kind).texts.at(matrix.batch)
                        : exporting::index_names(blocks.shape.extent(matrix.stage)->columns);
  if (is_map) {
    keep(axes.rows, blocks.queries);
    keep(axes.columns, blocks.keys);
  } else if (const IndexRange& line = rows_are_keys ? blocks.line_keys : blocks.line_queries; line.count() > 0) {
    keep(axes.rows, line);
  }
  return axes;
}

MatrixText::MatrixText(const std::filesystem::path& path, MatrixAxes axes)
    : axes_(std::move(axes)),
      file_(path),
      writer_(exporting::sink_of(file_), axes_.row_name + (axes_.column_name.empty() ? "" : "/") + axes_.column_name,
              axes_.columns) {}

void MatrixText::append(std::span<const float> values) {
  const std::size_t columns = axes_.columns.size();
  for (; !values.empty(); values = values.subspan(columns)) writer_.append_row(axes_.rows.at(row_++), values.first(columns));
}

Task<void> write_matrix_text(ExportWork& work, const ExportBlocks& blocks, MatrixRef matrix, std::filesystem::path path) {
  const double rows = std::max(extent_of(blocks, matrix.stage).rows, 1U);
  MatrixText text(path, matrix_axes(*work.source.input, blocks, matrix));
  std::uint32_t first = 0;
  for (const TileQuery& part : selected_parts(blocks, matrix.block, matrix.stage, matrix.batch, matrix.head)) {
    for (const TileQuery& query : strips_of(part)) {
      const attention::Tile strip = co_await work.tile(query);
      work.checkpoint(first / rows);
      text.append(strip.values);
      first += strip.request.rows;
    }
  }
  text.finish();
}

}  // namespace headlight::app
