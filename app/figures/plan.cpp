#include "app/figures/plan.h"

#include <set>

#include "app/shapes/quantities/tile_query.h"

namespace headlight::app {
namespace {

/// Cells of one strip: 4 MiB of numbers, enough to keep a device busy.
constexpr std::uint32_t kStripCells = 1u << 20;
constexpr std::uint64_t kLargestToken = 1U << 22;                     // of a part that is typed
constexpr std::string_view kSpaceMark = "\u00B7", kInnerMark = "##";  // in labels of tokens

[[noreturn]] void refuse(const char* flag, std::string_view wanted, const char* things, std::uint32_t count) {
  if (count == 1) throw UsageError("{} {}: there is only {} 0", flag, wanted, things);
  throw UsageError("{} {}: there are {}s 0 to {}", flag, wanted, things, count - 1);
}

IndexRange select(const char* flag, const char* things, const std::optional<std::uint32_t>& wanted, std::uint32_t count) {
  if (!wanted) return {.first = 0, .end = count};
  if (*wanted >= count) refuse(flag, std::to_string(*wanted), things, count);
  return {.first = *wanted, .end = *wanted + 1};
}

void expect_part(const char* flag, const char* things, const IndexRange& part, std::uint32_t count) {
  const std::string complaint = part_complaint(part, things, count);
  if (!complaint.empty()) throw UsageError("{} {}", flag, complaint);
}

std::vector<std::uint32_t> select(const char* flag, const char* things, const std::optional<IndexSet>& wanted,
                                  std::uint32_t count) {
  const IndexSet set = wanted.value_or(IndexSet(IndexRange{.first = 0, .end = count}));
  if (set.largest() >= count) refuse(flag, to_string(set), things, count);
  return set.indices();
}

/// Keeps the chosen layers, by the numbers that the model has for them.
void choose_layers(const IndexSet& chosen, std::vector<model::BlockRef>& layers) {
  std::vector<std::uint32_t> numbers;
  for (const model::BlockRef block : layers) numbers.push_back(block.layer.value);
  const auto count = static_cast<std::uint32_t>(layers.size());
  std::erase_if(layers, [&](model::BlockRef block) { return !chosen.contains(block.layer.value); });
  if (layers.size() == chosen.count()) return;
  if (numbers.back() + 1 == count) refuse("--layer", to_string(chosen), "layer", count);
  throw UsageError("--layer {}: the layers with attention are {}", to_string(chosen), fmt::join(numbers, ", "));
}

/// Rows of maps: the chosen ones, and those of the chosen tokens.
IndexSet select_queries(const ExportOptions& options, const RunShapes& run, const ExportBlocks& blocks) {
  const std::uint32_t count = blocks.shape.queries;
  if (!options.queries && options.tokens.empty()) return IndexRange{.first = 0, .end = count};
  IndexSet rows = options.queries.value_or(IndexSet());
  for (const IndexRange& range : rows.ranges()) expect_part("--queries", "queries", range, count);
  for (const std::string& text : options.tokens) {
    if (run.input == nullptr) break;
    if (blocks.batch.count() > 1) {
      throw UsageError("--tokens {}: the lines of a batch have other tokens each; choose one with --batch", text);
    }
    const auto& labels = run.input->queries(blocks.kind).texts.at(blocks.batch.first);
    const IndexSet found = tokens_of_text(labels, text);
    for (const IndexRange& range : found.ranges()) rows.add(range);
  }
  if (rows.is_empty()) throw NoSuchToken(options.tokens.front());
  return rows;
}

bool are_equal(const inference::BlockShape& left, const inference::BlockShape& right) {
  return left.batch == right.batch && left.heads == right.heads && left.queries == right.queries &&
         left.keys == right.keys && left.kv_heads == right.kv_heads && left.d_model == right.d_model &&
         left.d_k == right.d_k && left.d_v == right.d_v && left.d_output == right.d_output &&
         left.has_input == right.has_input;
}

/// A label as it continues a text.
std::string text_of(std::string_view label) {
  if (label.starts_with(kSpaceMark)) return " " + std::string(label.substr(kSpaceMark.size()));
  return std::string(label.starts_with(kInnerMark) ? label.substr(kInnerMark.size()) : label);
}

}  // namespace

NoSuchToken::NoSuchToken(const std::string& text)
    : UsageError("--tokens: no tokens of the text are '{}'; headlight tokenize lists them", text) {}

IndexSet tokens_of_text(const std::vector<std::string>& labels, const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  IndexSet found;
  if (begin == std::string::npos) return found;
  const std::string wanted = text.substr(begin);
  for (std::size_t first = 0; first < labels.size(); ++first) {
    std::string joined = text_of(labels[first]);
    if (joined.starts_with(' ')) joined.erase(0, 1);
    if (joined.empty()) continue;  // a space alone belongs to no word
    std::size_t end = first + 1;
    while (joined.size() < wanted.size() && wanted.starts_with(joined) && end < labels.size()) {
      joined += text_of(labels[end++]);
    }
    if (joined == wanted) found.add({.first = static_cast<std::uint32_t>(first), .end = static_cast<std::uint32_t>(end)});
  }
  return found;
}

std::string part_complaint(const IndexRange& part, std::string_view things, std::uint32_t count) {
  if (part.first < part.end && part.end <= count) return {};
  if (part.end == part.first + 1) return fmt::format("{}: there are {} 0 to {}", part.first, things, count - 1);
  return fmt::format("{}:{}: there are {} 0 to {}; the second number is one past the last that is written", part.first,
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

bool predicts(const model::Network& network, model::BlockKind kind) {
  const bool is_encoder_last = network.layers->decoder.empty();
  const model::BlockKind last = is_encoder_last ? model::BlockKind::EncoderSelf : model::BlockKind::DecoderSelf;
  return network.layers->unembedding.has_value() && kind == last;
}

std::vector<ExportBlocks> select_blocks(const RunShapes& run, const model::Network& network, const ExportOptions& options) {
  if (options.mean != HeadMean::None && options.heads) throw UsageError("--mean is over all heads: leave out --head");
  if (options.mean == HeadMean::Kind && options.layers) throw UsageError("--mean all is over all layers: leave out --layer");
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
    if (options.layers) choose_layers(*options.layers, blocks.layers);
    const model::AttentionConfig& config = network.layer(blocks.layers.front()).config;
    blocks.scale = config.scale.factor(config.d_k);
    blocks.shape = run.shapes.at(blocks.layers.front());
    for (const model::BlockRef block : blocks.layers) {
      const inference::BlockShape& shape = run.shapes.at(block);
      if (!are_equal(blocks.shape, shape)) throw Error("the layers differ in shape; choose one with --layer");
      blocks.is_mixed = blocks.is_mixed || blocks.shape.d_ff != shape.d_ff || blocks.shape.experts != shape.experts;
    }
    if (blocks.is_mixed) {
      blocks.shape.d_ff = blocks.shape.experts = 0;
      blocks.shape.has_gate = false;
    }
    blocks.batch = select("--batch", "batch item", options.batch, blocks.shape.batch);
    blocks.heads = select("--head", "head", options.heads, blocks.shape.heads);
    blocks.queries = select_queries(options, run, blocks);
    blocks.keys = options.keys.value_or(IndexRange{.first = 0, .end = blocks.shape.keys});
    expect_part("--keys", "keys", blocks.keys, blocks.shape.keys);
    blocks.mean = options.mean;
    blocks.weighs_values = options.weighs_values;
    blocks.is_difference = writes_difference(options);
    blocks.has_baseline = options.baseline.has_value();
    blocks.predicts = predicts(network, kind);
    if (options.mean == HeadMean::Kind) blocks.layers.resize(1);
    selected.push_back(std::move(blocks));
  }
  return selected;
}

std::vector<ExportBlocks> select_blocks(const inference::Run& run, const model::Network& network,
                                        const ExportOptions& options) {
  return select_blocks({.blocks = run.blocks(), .shapes = shapes_of(run), .input = &run.inputs().input}, network, options);
}

std::vector<std::uint32_t> heads_of(const ExportBlocks& blocks, attention::Stage stage) {
  if (!attention::is_per_head(stage) || blocks.mean != HeadMean::None) return {0};
  if (!is_of_keys(stage)) return blocks.heads;
  std::vector<std::uint32_t> heads;
  for (const std::uint32_t head : blocks.heads) {
    const std::uint32_t read = head / blocks.shape.group();
    if (heads.empty() || heads.back() != read) heads.push_back(read);
  }
  return heads;
}

std::vector<HeadRef> selected_heads(const ExportBlocks& blocks) {
  std::vector<HeadRef> heads;
  for (const model::BlockRef block : blocks.layers) {
    for (const std::uint32_t head : blocks.heads) heads.push_back({.block = block, .head = head});
  }
  return heads;
}

IndexRange without_padding(const IndexRange& range, const model::TokenBatch& tokens, std::uint32_t item) {
  const std::uint32_t first = tokens.start(item);
  const std::uint32_t end = item < tokens.lengths.size() ? first + tokens.lengths[item] : tokens.length;
  const std::uint32_t from = std::max(range.first, first);
  return {.first = from, .end = std::max(std::min(range.end, end), from)};
}

ExportBlocks without_padding(const ExportBlocks& blocks, const model::ModelInput& input, std::uint32_t item) {
  const model::TokenBatch &queries = input.queries(blocks.kind), &keys = input.keys(blocks.kind);
  ExportBlocks own = blocks;
  own.queries = {};
  for (const IndexRange& range : blocks.queries.ranges()) own.queries.add(without_padding(range, queries, item));
  own.keys = without_padding(blocks.keys, keys, item);
  if (own.queries.is_empty() || own.keys.count() == 0) return blocks;
  own.line_queries = without_padding({.first = 0, .end = queries.length}, queries, item);
  own.line_keys = without_padding({.first = 0, .end = keys.length}, keys, item);
  own.chosen_queries = blocks.queries;
  own.chosen_keys = blocks.keys;
  return own;
}

QuantityId quantity_of(const ExportBlocks& blocks, attention::Stage stage) {
  const QuantityId written =
      stage == attention::Stage::Weights ? weights_of(blocks.mean, blocks.weighs_values) : QuantityId(stage);
  return blocks.is_difference ? difference_of(written) : written;
}

inference::BlockShape::Extent extent_of(const ExportBlocks& blocks, attention::Stage stage) {
  const auto extent = blocks.shape.extent(stage);
  if (!extent) throw Error("{} has no stage {}", model::to_string(blocks.kind), attention::to_string(stage));
  const IndexRange& line = is_of_keys(stage) ? blocks.line_keys : blocks.line_queries;
  if (!attention::is_map(stage)) return {.rows = line.count() > 0 ? line.count() : extent->rows, .columns = extent->columns};
  return {.rows = blocks.queries.count(), .columns = blocks.keys.count()};
}

std::vector<TileQuery> selected_parts(const ExportBlocks& blocks, model::BlockRef block, attention::Stage stage,
                                      std::uint32_t batch, std::uint32_t head) {
  const auto [rows, columns] = extent_of(blocks, stage);
  TileQuery matrix = {.quantity = quantity_of(blocks, stage),
                      .block = block,
                      .batch = batch,
                      .head = is_of_keys(stage) ? head * blocks.shape.group() : head,
                      .row = is_of_keys(stage) ? blocks.line_keys.first : blocks.line_queries.first,
                      .rows = rows,
                      .column = 0,
                      .columns = columns,
                      .pool = 1};
  if (!attention::is_map(stage)) return {matrix};
  matrix.column = blocks.keys.first;
  std::vector<TileQuery> parts;
  for (const IndexRange& range : blocks.queries.ranges()) {
    matrix.row = range.first;
    matrix.rows = range.count();
    parts.push_back(matrix);
  }
  return parts;
}

TileQuery selected_matrix(const ExportBlocks& blocks, model::BlockRef block, attention::Stage stage, std::uint32_t batch,
                          std::uint32_t head) {
  const std::vector<TileQuery> parts = selected_parts(blocks, block, stage, batch, head);
  if (parts.size() > 1) throw UsageError("tiles are of one range of queries; write numbers or figures instead");
  return parts.front();
}

std::vector<TileQuery> strips_of(const TileQuery& matrix) {
  const std::uint32_t rows_at_once = std::max(1u, kStripCells / matrix.columns);
  std::vector<TileQuery> strips;
  for (std::uint32_t row = 0; row < matrix.rows; row += rows_at_once) {
    TileQuery& strip = strips.emplace_back(matrix);
    strip.row = matrix.row + row;
    strip.rows = std::min(rows_at_once, matrix.rows - row);
  }
  return strips;
}

}  // namespace headlight::app
