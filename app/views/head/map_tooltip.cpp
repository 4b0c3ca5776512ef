#include "app/views/head/head_parts.h"

#include "app/state/comparison.h"
#include "app/widgets/cells/arithmetic.h"
#include "app/widgets/cells/shown_mask.h"
#include "app/widgets/controls.h"
#include "app/widgets/patch_picture.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kNumberColumn = 108.0F;

/// Draws a token's text; of a patch its place in the image as well.
void draw_token(const Frame& frame, const char* role, shell::Color color, const std::vector<std::string>* texts,
                std::uint32_t index, MapSide side) {
  {
    const TextStyleScope ink(frame, color);
    ImGui::Text("%s %u", role, index);
  }
  ImGui::SameLine(kNumberColumn);
  const TextStyleScope ink(frame.ui.fonts().strong, frame.ui.theme().text);
  const std::string text = texts && index < texts->size() ? (*texts)[index] : "";
  ImGui::TextUnformatted(text_with_patch(frame, side, index, text).c_str());
}

void draw_number(const Frame& frame, const char* name, const std::string& value, ImFont* font) {
  write_dim(frame, name);
  const float end = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x + ImGui::GetStyle().ItemSpacing.x;
  ImGui::SameLine(std::max(kNumberColumn, end));
  write_text(font, frame.ui.theme().text, value);
}

/// Draws the bias that was painted onto the cell, or its weight in a painted pattern.
void draw_painted_number(const Frame& frame, attention::Cell cell, const attention::MaskSpec& mask) {
  const Selection& selection = frame.state.selection;
  const auto pattern = fixed_pattern(frame.state, selection.block, selection.head);
  if (pattern && pattern->weights.has_row(cell.query)) {
    const float weight = pattern->weights.state(cell).value_or(0.0F);
    return draw_number(frame, "painted", fmt::format("weight {:.4g} before the row is normalised", weight),
                       frame.ui.fonts().body);
  }
  const float bias = mask.bias(selection.block.layer.value, selection.batch, selection.head, cell);
  if (bias != 0.0F) draw_number(frame, "painted", fmt::format("{:+.4g} added to the score", bias), frame.ui.fonts().body);
}

/// Draws the row's token, or what is written and what is read there, and the column's.
void draw_tokens(Frame& frame, attention::Cell cell) {
  const shell::Theme& theme = frame.ui.theme();
  const std::uint32_t item = frame.state.selection.batch;
  const std::optional<std::vector<std::string>> written = written_tokens(frame);
  if (written) draw_token(frame, "writes", theme.query, &*written, cell.query, MapSide::Query);
  draw_token(frame, rows_write_tokens(frame) ? "reads" : "query", theme.query, shown_queries(frame).labels(item), cell.query,
             MapSide::Query);
  draw_token(frame, "key", theme.key, shown_keys(frame).labels(item), cell.key, MapSide::Key);
}

std::string number_text(std::optional<float> value) {
  if (value && std::isnan(*value)) return "not a number";
  return value ? write_number(double{*value}) : std::string("…");
}

/// Writes the sums and extremes of a cell's row and column.
void draw_sums(const Frame& frame, attention::Cell cell, const RowStatistics& row, std::optional<float> received) {
  ImFont* mono = frame.ui.fonts().mono;
  if (row.key) {
    const std::string* text = shown_keys(frame).label(frame.state.selection.batch, *row.key);
    const std::string token = text != nullptr ? fmt::format(" at \u201C{}\u201D", *text) : "";
    draw_number(frame, "row's largest", fmt::format("{:.3f}{}", row.largest, token), mono);
    draw_number(frame, "row entropy", fmt::format("{:.3f} nats", row.entropy), mono);
  }
  const attention::KeyRange queries = query_range(frame);
  const bool has_padding = queries.begin != 0 || queries.end != shown_queries(frame).length;
  if (!received || !std::isfinite(*received) || has_padding || !queries.holds(cell.query)) return;
  draw_number(frame, "key receives", fmt::format("{:.3f} from {} queries", *received, queries.end), mono);
}

/// Writes the cell's norm where the map shows norms.
void draw_norm(Frame& frame, attention::Cell cell) {
  if (!shows_norms(frame.state)) return;
  const TileQuery map = shown_map(frame.state.selection, frame.result.shapes, tile_of(frame, Stage::Weights), true);
  TileNumbers numbers(frame, map.block, map.batch, map.head);
  const bool is_mean = frame.state.selection.mean != HeadMean::None;
  draw_number(frame, is_mean ? "mean norm" : "adds (norm)", number_text(numbers.value(map.quantity, cell.query, cell.key)),
              frame.ui.fonts().mono);
}

/// Writes the cell's value in the baseline, and what changed, where maps show that.
void draw_change(Frame& frame, attention::Cell cell) {
  if (!head_map_shows_difference(frame)) return;
  const TileQuery map = shown_map(frame.state.selection, frame.result.shapes, tile_of(frame, shown_stage(frame.state)),
                                  shows_norms(frame.state));
  TileNumbers changes(frame, map.block, map.batch, map.head);
  const std::optional<float> change = changes.value(difference_of(map.quantity), cell.query, cell.key);
  draw_number(frame, difference_caption(frame.state), number_text(change), frame.ui.fonts().mono);
}

/// Draws the numbers of a mean: it has no scores of its own, its heads have.
void draw_mean(Frame& frame, attention::Cell cell) {
  const TileQuery map = shown_map(frame.state.selection, frame.result.shapes, tile_of(frame, Stage::Weights));
  TileNumbers numbers(frame, map.block, map.batch, map.head, map.quantity);
  const std::optional<TileNumbers::WeightsRow> row = numbers.weights_row(cell.query);
  draw_norm(frame, cell);
  draw_number(frame, "mean weight",
              number_text(row && cell.key < row->weights.size() ? std::optional(row->weights[cell.key]) : std::nullopt),
              frame.ui.fonts().mono);
  if (row) draw_sums(frame, cell, row->statistics, numbers.received(cell.key));
}

}  // namespace

void draw_map_tooltip(Frame& frame, attention::Cell cell, const chart::Rect& box, const chart::Rect& map) {
  if (!frame.result.input) return;
  const Selection& selection = frame.state.selection;
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  if (selection.mean != HeadMean::None) {
    const Tooltip tooltip(frame, box, map);
    draw_tokens(frame, cell);
    ImGui::Separator();
    draw_mean(frame, cell);
    draw_change(frame, cell);
    return;
  }
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  const std::optional<TileNumbers::WeightsRow> row = numbers.weights_row(cell.query);
  const std::optional<float> scaled = numbers.value(Stage::Scaled, cell.query, cell.key);
  const std::optional<NumberSource::Softmax> softmax = numbers.softmax(cell.query);

  const Tooltip tooltip(frame, box, map);
  draw_tokens(frame, cell);
  ImGui::Separator();
  const bool has_weights = !softmax || softmax->sum != 0.0F;  // NaN: it has some that aren't numbers
  const bool is_known = row && cell.key < row->weights.size();
  draw_norm(frame, cell);
  draw_number(frame, "weight",
              has_weights ? number_text(is_known ? std::optional(row->weights[cell.key]) : std::nullopt) : "none",
              fonts.mono);
  const inference::BlockShape* shape = selected_shape(frame);
  const bool has_scores = shape && !shape->only_weights;
  if (has_scores) draw_number(frame, "scaled score", number_text(scaled), fonts.mono);
  draw_change(frame, cell);
  if (row) draw_sums(frame, cell, row->statistics, numbers.received(cell.key));
  const ShownMask mask(frame);
  const std::string reason =
      mask_reason(mask.spec(), {.map = mask.map(),
                                .batch = selection.batch,
                                .cell = cell,
                                .keys = key_range(frame),
                                .pattern = fixed_pattern(frame.state, selection.block, selection.head)});
  const bool is_hidden_by_file =
      frame.result.capture && capture::is_causal(*frame.result.capture, selection.block.kind) && cell.key > cell.query;
  if (is_hidden_by_file) draw_number(frame, "mask", "causal, as the file says", fonts.body);
  if (!reason.empty() && !is_hidden_by_file) draw_number(frame, "masked by", reason, fonts.body);
  draw_painted_number(frame, cell, mask.spec());
  if (softmax && !std::isfinite(softmax->sum)) {
    write_text(fonts.small, theme.warning, "A score of this row isn't finite: none of its weights is a number.");
  }
  if (!has_weights) {
    write_text(fonts.small, theme.warning, "This query sees no key: its row has no weights.");
  }
}

}  // namespace headlight::app
