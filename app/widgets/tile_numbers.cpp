#include "app/widgets/tile_numbers.h"

#include "app/state/comparison.h"
#include "app/widgets/cells/step_values.h"
#include "app/widgets/controls.h"
#include "app/widgets/table_view.h"

namespace headlight::app {

using attention::Stage;

std::optional<inference::BlockShape::Extent> TileNumbers::extent(Stage stage) const {
  const inference::BlockShape* shape = find_shape(frame_.result, block_);
  return shape ? shape->extent(stage) : std::nullopt;
}

TileQuery TileNumbers::region(QuantityId id, std::uint32_t row, std::uint32_t rows, std::uint32_t column,
                              std::uint32_t columns) const {
  return {.quantity = id,
          .block = block_,
          .batch = batch_,
          .head = quantity(id).scope == Scope::Head ? head_ : 0,
          .row = row,
          .rows = rows,
          .column = column,
          .columns = columns,
          .pool = 1};
}

ShownTile TileNumbers::find_exact(const TileQuery& region) const {
  const ShownTile known = find_covering_tile(frame_.result, region);
  const bool is_exact = known.tile && known.query.is_exact() && known.run == frame_.result.run;
  return is_exact ? known : ShownTile();
}

ShownTile TileNumbers::exact_with(const TileQuery& region) {
  const ShownTile known = find_exact(region);
  // A tile on screen is requested by the view that draws it; the thin one must be requested here.
  if (!known.tile || known.query == region) frame_.ask(region);
  return known;
}

NumberSource::Numbers TileNumbers::row(Stage stage, std::uint32_t row) {
  const auto size = extent(stage);
  if (!size || row >= size->rows) return std::nullopt;
  const attention::Tile* tile = tile_with(stage, row, 1, 0, size->columns);
  if (!tile) return std::nullopt;
  std::vector<float> numbers(size->columns);
  for (std::uint32_t column = 0; column < size->columns; ++column)
    numbers[column] = tile->at(row - tile->request.row, column);
  return numbers;
}

NumberSource::Numbers TileNumbers::column(Stage stage, std::uint32_t column) {
  const auto size = extent(stage);
  if (!size || column >= size->columns) return std::nullopt;
  const attention::Tile* tile = tile_with(stage, 0, size->rows, column, 1);
  if (!tile) return std::nullopt;
  std::vector<float> numbers(size->rows);
  for (std::uint32_t row = 0; row < size->rows; ++row) numbers[row] = tile->at(row, column - tile->request.column);
  return numbers;
}

std::optional<float> TileNumbers::value(Stage stage, std::uint32_t row, std::uint32_t column) {
  return value(QuantityId(stage), row, column);
}

std::optional<float> TileNumbers::value(QuantityId map, std::uint32_t row, std::uint32_t column) {
  const auto size = extent(quantity(map).stage);
  if (!size || row >= size->rows || column >= size->columns) return std::nullopt;
  const attention::Tile* tile = exact_with(region(map, row, 1, column, 1)).tile;
  if (!tile) return std::nullopt;
  return tile->at(row - tile->request.row, column - tile->request.column);
}

std::optional<NumberSource::Softmax> TileNumbers::softmax(std::uint32_t row) {
  const auto size = extent(Stage::Weights);
  if (!size || row >= size->rows) return std::nullopt;
  const attention::Tile* tile = tile_with(Stage::Weights, row, 1, 0, 1);
  if (!tile) return std::nullopt;
  const std::size_t index = row - tile->request.row;
  if (index >= tile->row_max.size() || index >= tile->row_sum.size()) return std::nullopt;
  return Softmax{.max = tile->row_max[index], .sum = tile->row_sum[index]};
}

std::optional<TileNumbers::WeightsRow> TileNumbers::weights_row(std::uint32_t row) {
  const auto size = extent(Stage::Weights);
  if (!size || row >= size->rows) return std::nullopt;
  const ShownTile shown = exact_with(region(weights_, row, 1, 0, size->columns));
  const std::size_t index = shown.tile ? row - shown.tile->request.row : 0;
  if (!shown.tile || !shown.facts || index >= shown.facts->rows.size()) return std::nullopt;
  const auto row_of = [&](const auto& all) {
    return all.empty() ? std::span(all) : std::span(all).subspan(index * size->columns, size->columns);
  };
  return WeightsRow{
      .weights = row_of(shown.tile->values), .statistics = shown.facts->rows[index], .masked = row_of(shown.tile->masked)};
}

std::optional<float> TileNumbers::received(std::uint32_t key) const {
  const auto size = extent(Stage::Weights);
  if (!size || key >= size->columns) return std::nullopt;
  const ShownTile shown = find_exact(region(weights_, 0, size->rows, key, 1));
  const std::size_t index = shown.tile ? key - shown.tile->request.column : 0;
  if (!shown.tile || !shown.facts || index >= shown.facts->received.size()) return std::nullopt;
  return shown.facts->received[index];
}

NumberSource::Numbers TileNumbers::memory(std::uint32_t row) {
  frame_.ask(MemoryQuery());
  const std::span<const float> numbers = memory_row(frame_, row);
  if (numbers.empty()) return std::nullopt;
  return std::vector<float>(numbers.begin(), numbers.end());
}

bool shows_difference_of(const Frame& frame, QuantityId shown) {
  if (!frame.shows_difference()) return false;
  const bool is_of_weights = shown == QuantityId(attention::Stage::Weights) || shown == kMeanOfLayer || shown == kMeanOfKind;
  return is_of_weights || !compares_capture_with_network(frame.state);
}

bool head_map_shows_difference(const Frame& frame) {
  const attention::Stage stage = shown_stage(frame.state);
  const bool is_of_weights = stage == attention::Stage::Weights;
  return shows_difference_of(
      frame, is_of_weights ? weights_of(frame.state.selection.mean, shows_norms(frame.state)) : QuantityId(stage));
}

const Analysed* ask_of_baseline(Frame& frame, AnalysisQuery query) {
  if (!frame.shows_difference()) return nullptr;
  query.is_of_baseline = true;
  return frame.ask(query);
}

const Analysed* ask_of_same_tokens(Frame& frame, const AnalysisQuery& query) {
  static const Analysed kOther{
      .result = nullptr, .error = "the two texts have different numbers of tokens", .is_done = true};
  if (!frame.shows_difference()) return nullptr;
  return frame.result.pairs ? &kOther : ask_of_baseline(frame, query);
}

const Analysed* subtractable(const Analysed* now, const Analysed* baseline) {
  if (baseline == nullptr || !baseline->is_done) return nullptr;
  const bool is_whole = now != nullptr && now->is_done && now->result;
  return is_whole || !baseline->error.empty() ? baseline : nullptr;
}

void draw_comparison(Frame& frame, const std::string& view, const std::string& of, const Analysed* baseline) {
  const CompareChoices& compare = frame.state.compare;
  if (!compare.baseline || !compare.shows_difference) return;
  const std::string& refusal = frame.result.baseline_error;
  std::string text = fmt::format("Shown is {}, {}: red is more than in \u201C{}\u201D, blue less. D shows this run alone.",
                                 of, difference_caption(frame.state), compare.baseline->name);
  if (baseline == nullptr || !baseline->is_done) {
    text = "The baseline\u2019s numbers are being computed; until then these are this run\u2019s.";
  }
  const std::string why = refusal.empty() && baseline != nullptr ? baseline->error : refusal;
  if (!why.empty()) text = fmt::format("These are this run\u2019s own numbers: they can\u2019t be compared, {}.", why);
  frame.ui.ensure_glyphs(text);
  write_wrapped(frame.ui.fonts().small, why.empty() ? frame.ui.theme().text_dim : frame.ui.theme().warning, text);
  frame.mark(view + ".compared", last_item_rect());
}

std::string change_text(const Compared<double>& number) {
  if (!number.baseline) return signed_text(number.now);
  return fmt::format("{} (now {}, baseline {})", signed_text(number.shown()), signed_text(number.now),
                     signed_text(*number.baseline));
}

void add_baseline(NumberRef& asked, const Compared<double>& number) {
  if (!number.baseline) return;
  asked.notes.emplace_back("in the baseline", fmt::format("{:.9g}", *number.baseline));
  asked.notes.emplace_back("change", fmt::format("{:.9g}", number.shown()));
}

}  // namespace headlight::app
