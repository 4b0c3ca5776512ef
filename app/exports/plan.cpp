#include "app/exports/plan.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "app/quantities/evaluation.h"
#include "app/quantities/shown_map.h"
#include "app/state/usage.h"

namespace headlight::app {
namespace {

/// Cells of one strip: 4 MiB of numbers, enough to keep a device busy.
constexpr std::uint32_t kStripCells = 1u << 20;
constexpr std::uint64_t kLargestToken = 1U << 22;  // of a part that is typed

AxisRange select(const char* flag, const char* things, const std::optional<std::uint32_t>& wanted, std::uint32_t count) {
  if (!wanted) return {.first = 0, .count = count};
  if (*wanted >= count) {
    if (count == 1) throw UsageError("{} {}: there is only {} 0", flag, *wanted, things);
    throw UsageError("{} {}: there are {}s 0 to {}", flag, *wanted, things, count - 1);
  }
  return {.first = *wanted, .count = 1};
}

AxisRange select(const char* flag, const char* things, const std::optional<IndexRange>& wanted, std::uint32_t count) {
  if (!wanted) return {.first = 0, .count = count};
  if (const std::string complaint = part_complaint(*wanted, things, count); !complaint.empty()) {
    throw UsageError("{} {}", flag, complaint);
  }
  return {.first = wanted->first, .count = wanted->end - wanted->first};
}

bool is_of_keys(attention::Stage stage) { return stage == attention::Stage::K || stage == attention::Stage::V; }

/// Query heads per KV head.
std::uint32_t group_size(const inference::BlockShape& shape) {
  return shape.kv_heads == 0 ? 1 : shape.heads / shape.kv_heads;
}

bool are_equal(const inference::BlockShape& left, const inference::BlockShape& right) {
  return left.batch == right.batch && left.heads == right.heads && left.queries == right.queries &&
         left.keys == right.keys && left.kv_heads == right.kv_heads && left.d_model == right.d_model &&
         left.d_k == right.d_k && left.d_v == right.d_v && left.d_output == right.d_output &&
         left.has_input == right.has_input;
}

}  // namespace

std::string part_complaint(const IndexRange& part, std::string_view things, std::uint32_t count) {
  if (part.first < part.end && part.end <= count) return {};
  return fmt::format("{}:{}: there are {} 0 to {}; the second number is behind the last that is written", part.first,
                     part.end, things, count - 1);
}

IndexRange parse_index_range(const std::string& flag, const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw UsageError("{}: expected FIRST:END as in 0:1000, found '{}'", flag, text);
  const auto index = [&](const std::string& number) {
    return static_cast<std::uint32_t>(parse_integer(flag, number, 0, kLargestToken));
  };
  return {.first = index(text.substr(0, colon)), .end = index(text.substr(colon + 1))};
}

std::vector<ExportBlocks> select_blocks(const RunShapes& run, const model::Network& network, const ExportOptions& options) {
  if (options.mean != HeadMean::None && options.head) throw UsageError("--mean is over all heads: leave out --head");
  if (options.mean == HeadMean::Kind && options.layer) throw UsageError("--mean all is over all layers: leave out --layer");
  const std::vector<model::BlockRef>& all = run.blocks;
  std::set<model::BlockKind> kinds;
  for (const model::BlockRef block : all) kinds.insert(block.kind);
  if (options.kind && !kinds.contains(*options.kind)) {
    throw UsageError("--block {}: there is no such attention here; it is {}", model::to_string(*options.kind),
                     model::to_string(*kinds.begin()));
  }
  std::vector<ExportBlocks> selected;
  for (const model::BlockKind kind : kinds) {
    if (options.kind && options.kind != kind) continue;
    ExportBlocks blocks;
    blocks.kind = kind;
    if (kinds.size() > 1) blocks.prefix = std::string(model::to_string(kind)) + "_";
    std::copy_if(all.begin(), all.end(), std::back_inserter(blocks.layers),
                 [=](model::BlockRef b) { return b.kind == kind; });
    blocks.all_layers = static_cast<std::uint32_t>(blocks.layers.size());
    const AxisRange layers = select("--layer", "layer", options.layer, blocks.all_layers);
    blocks.layers = {blocks.layers.begin() + layers.first, blocks.layers.begin() + layers.first + layers.count};
    const model::AttentionConfig& config = network.layer(blocks.layers.front()).config;
    blocks.scale = config.scale.factor(config.d_k);
    blocks.shape = run.shapes.at(blocks.layers.front());
    for (const model::BlockRef block : blocks.layers) {
      if (!are_equal(blocks.shape, run.shapes.at(block))) throw Error("the layers differ in shape; choose one with --layer");
    }
    blocks.batch = select("--batch", "batch item", options.batch, blocks.shape.batch);
    blocks.heads = select("--head", "head", options.head, blocks.shape.heads);
    blocks.queries = select("--queries", "queries", options.queries, blocks.shape.queries);
    blocks.keys = select("--keys", "keys", options.keys, blocks.shape.keys);
    blocks.mean = options.mean;
    blocks.weighs_values = options.weighs_values;
    blocks.is_difference = options.reference.has_value();
    if (options.mean == HeadMean::Kind) blocks.layers.resize(1);
    selected.push_back(std::move(blocks));
  }
  return selected;
}

std::vector<ExportBlocks> select_blocks(const inference::Run& run, const model::Network& network,
                                        const ExportOptions& options) {
  return select_blocks({.blocks = run.blocks(), .shapes = shapes_of(run)}, network, options);
}

AxisRange heads_of(const ExportBlocks& blocks, attention::Stage stage) {
  if (!attention::is_per_head(stage)) return {.first = 0, .count = 1};
  if (blocks.mean != HeadMean::None) return {.first = 0, .count = 1};
  if (!is_of_keys(stage)) return blocks.heads;
  const std::uint32_t group = group_size(blocks.shape);
  const std::uint32_t first = blocks.heads.first / group;
  const std::uint32_t last = (blocks.heads.first + blocks.heads.count - 1) / group;
  return {.first = first, .count = last - first + 1};
}

QuantityId quantity_of(const ExportBlocks& blocks, attention::Stage stage) {
  const QuantityId written =
      stage == attention::Stage::Weights ? weights_of(blocks.mean, blocks.weighs_values) : QuantityId(stage);
  return blocks.is_difference ? difference_of(written) : written;
}

inference::BlockShape::Extent extent_of(const ExportBlocks& blocks, attention::Stage stage) {
  const auto extent = blocks.shape.extent(stage);
  if (!extent) throw Error("{} has no stage {}", model::to_string(blocks.kind), attention::to_string(stage));
  if (!attention::is_map(stage)) return *extent;
  return {.rows = blocks.queries.count, .columns = blocks.keys.count};
}

TileQuery selected_matrix(const ExportBlocks& blocks, model::BlockRef block, attention::Stage stage, std::uint32_t batch,
                          std::uint32_t head) {
  const auto [rows, columns] = extent_of(blocks, stage);
  const bool is_map = attention::is_map(stage);
  return {.quantity = quantity_of(blocks, stage),
          .block = block,
          .batch = batch,
          .head = is_of_keys(stage) ? head * group_size(blocks.shape) : head,
          .row = is_map ? blocks.queries.first : 0,
          .rows = rows,
          .column = is_map ? blocks.keys.first : 0,
          .columns = columns,
          .pool = 1};
}

void read_strips(const Runs& runs, const TileQuery& matrix, const std::function<void(const attention::Tile& strip)>& use) {
  const std::uint32_t rows_at_once = std::max(1u, kStripCells / matrix.columns);
  const auto norms = std::make_shared<HeadNormsCache>();
  for (std::uint32_t row = 0; row < matrix.rows; row += rows_at_once) {
    TileQuery strip = matrix;
    strip.row = matrix.row + row;
    strip.rows = std::min(rows_at_once, matrix.rows - row);
    use(evaluate({.run = runs.run, .reference = runs.reference, .norms = norms}, strip));
  }
}

}  // namespace headlight::app
