#include "app/widgets/map_axes.h"

#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/patch_picture.h"
#include "chart/axis_labels.h"
#include "chart/number_format.h"

namespace headlight::app {
namespace {

constexpr float kMarginalGap = 6.0F;
constexpr float kLongest = kMarginalRoom - 2.0F * kMarginalGap;
constexpr float kMarginalNumberRoom = 14.0F;

float part_of(float value, float largest) { return largest > 0.0F && value > 0.0F ? std::min(value / largest, 1.0F) : 0.0F; }

constexpr float kMinLeft = 64.0F;
constexpr float kMaxLeft = 150.0F;
constexpr float kMaxUp = 104.0F;      // height of rotated labels
constexpr float kNameHeight = 17.0F;  // the line with the name of the key axis
constexpr float kLabelGap = 6.0F;     // between labels and cells
constexpr float kSlant = 0.70710678F;
constexpr float kPatchEdge = 18.0F;  // of a patch beside its label
constexpr float kPatchGap = 4.0F;
constexpr float kMinPatch = 8.0F;  // smaller ones show nothing

/// Returns the room that thumbnails of patches need between labels and cells.
float patch_room(const AxisTokens& tokens) {
  return tokens.patches != nullptr && !tokens.patches->is_empty() ? kPatchEdge + kPatchGap : 0.0F;
}

constexpr float kBandEdge = 15.0F;  // of a bar with the name of a turn
constexpr float kBandGap = 3.0F;

float band_room(const AxisTokens& tokens) { return tokens.bands.empty() ? 0.0F : kBandEdge + kBandGap; }

/// Returns the room that thumbnails and bars need between labels and cells.
float side_room(const AxisTokens& tokens) { return patch_room(tokens) + band_room(tokens); }

/// Returns the muted ground of a turn's bar; the bar's name and the gaps between bars carry the same information.
shell::Color fill_of_turn(const shell::Theme& theme, const std::string& role) {
  if (role == "user") return theme.query_fill;
  if (role == "assistant") return theme.output_fill;
  return role == "tool" ? theme.key_fill : theme.padding;
}

float line_height(const Frame& frame) { return font_size(frame.ui.fonts().small) + 2.0F; }

/// One label as it is drawn.
struct DrawnLabel {
  std::string text;
  glm::vec2 at{0.0F};  ///< horizontal: top left corner; rotated: the start of its middle line
  glm::vec2 along{1.0F, 0.0F};
  bool is_rotated = false, is_marked = false, is_padding = false;
};

/// The labels of src/chart's layout; its indices with their token too, since there is room for one vertical label at each.
struct PlacedLabels {
  chart::AxisLabels labels;
  bool is_upright = false;
};

PlacedLabels place(const Frame& frame, chart::AxisSide side, const AxisTokens& tokens, float cell, float origin,
                   float length, float most) {
  std::vector<float> widths;
  // The labels' widths don't matter where cells are lower than a line: thousands of them needn't be measured.
  if (cell >= line_height(frame)) {
    widths.reserve(tokens.count);
    for (std::uint32_t i = 0; i < tokens.count; ++i) widths.push_back(text_width(frame.ui.fonts().small, tokens.label(i)));
  }
  PlacedLabels placed;
  placed.labels =
      chart::lay_out_labels({.side = side,
                             .count = tokens.count,
                             .widths = widths,
                             .cell_size = cell,
                             .origin = origin,
                             .length = length,
                             .line_height = line_height(frame),
                             // Vertical labels take the indices' positions.
                             .digit_width = 0.0F,
                             .max_extent = most,
                             // Thinned columns are as far apart as thinned rows, so that both have one step.
                             .gap = line_height(frame) * (cell < line_height(frame) ? chart::kThinnedAir : 1.0F)});
  const bool is_thinned = placed.labels.shows_indices;
  placed.is_upright = side == chart::AxisSide::Columns && (is_thinned || placed.labels.angle == chart::LabelAngle::Vertical);
  return placed;
}

/// Is another label nearer to the marked one than their step? Then it is dropped.
bool gives_way(std::uint32_t index, std::optional<std::uint32_t> marked, std::uint32_t step) {
  if (!marked || index == *marked) return false;
  return (index > *marked ? index - *marked : *marked - index) < step;
}

class AxisPainter {
 public:
  AxisPainter(const Frame& frame, const chart::Viewport& viewport, glm::vec2 margins)
      : frame_(frame),
        theme_(frame.ui.theme()),
        cells_(viewport.visible()),
        matrix_(viewport.matrix()),
        viewport_(viewport),
        margins_(margins),
        font_(frame.ui.fonts().small),
        list_(ImGui::GetWindowDrawList()) {}

  void draw_names(const AxisTokens& rows, const AxisTokens& columns) const {
    put({cells_.origin.x, cells_.origin.y - margins_.y}, fmt::format("{} →", columns.name), theme_.key);
    const std::string down = fmt::format("{} ↓", rows.name);
    const float patch = patch_room(columns) > 0.0F ? kPatchEdge * 0.5F : 0.0F;  // the first one's left half
    put({cells_.origin.x - kLabelGap - patch - text_width(font_, down), cells_.origin.y - font_size(font_) - kLabelGap},
        down, theme_.query);
  }

  void draw_rows(const AxisTokens& queries, std::optional<std::uint32_t> marked) const {
    const float cell = viewport_.cell_size().y;
    const PlacedLabels placed = place(frame_, chart::AxisSide::Rows, queries, cell, matrix_.origin.y - cells_.origin.y,
                                      cells_.size.y, margins_.x - kLabelGap - 8.0F);
    const float patches = side_room(queries), bands = band_room(queries);
    const auto draw_row = [&](std::uint32_t row, float center) {
      draw_patch_beside(queries, row, {cells_.origin.x - bands - kLabelGap - kPatchEdge * 0.5F, cells_.origin.y + center},
                        cell * static_cast<float>(placed.labels.step), PicturePlace::QueryAxis);
      DrawnLabel label{.text = text_of(queries, row, placed.labels.shows_indices, margins_.x - kLabelGap - 8.0F - patches),
                       .at = {},
                       .is_marked = marked == row,
                       .is_padding = !queries.real.holds(row)};
      label.at = glm::vec2(std::round(cells_.origin.x - kLabelGap - patches - text_width(font_, label.text)),
                           std::round(cells_.origin.y + center - font_size(font_) * 0.5F));
      draw(label, theme_.query_fill);
    };
    for (const chart::AxisLabel& label : placed.labels.labels) {
      if (!gives_way(label.index, marked, placed.labels.step) && label.index != marked) draw_row(label.index, label.center);
    }
    if (marked && *marked < queries.count)
      draw_marked(*marked, cell, matrix_.origin.y - cells_.origin.y, cells_.size.y, draw_row);
  }

  void draw_columns(const AxisTokens& keys, std::optional<std::uint32_t> marked) const {
    const float cell = viewport_.cell_size().x;
    const float patches = side_room(keys), bands = band_room(keys);
    const float up = margins_.y - kNameHeight - kLabelGap - patches;
    const PlacedLabels placed =
        place(frame_, chart::AxisSide::Columns, keys, cell, matrix_.origin.x - cells_.origin.x, cells_.size.x, up);
    const bool is_level = placed.labels.angle == chart::LabelAngle::Horizontal && !placed.is_upright;
    const auto draw_column = [&](std::uint32_t column, float center) {
      DrawnLabel label{.text = {},
                       .at = {},
                       .is_rotated = !is_level,
                       .is_marked = marked == column,
                       .is_padding = !keys.real.holds(column)};
      const float x = cells_.origin.x + center;
      draw_patch_beside(keys, column, {x, cells_.origin.y - bands - kLabelGap - kPatchEdge * 0.5F},
                        cell * static_cast<float>(placed.labels.step), PicturePlace::KeyAxis);
      if (is_level) {
        label.text = text_of(keys, column, false, std::max(cell - 4.0F, 1.0F));
        label.at = glm::vec2(std::round(x - text_width(font_, label.text) * 0.5F),
                             cells_.origin.y - kLabelGap - patches - font_size(font_));
      } else if (placed.is_upright) {
        label.text = text_of(keys, column, placed.labels.shows_indices, up);
        label.along = glm::vec2(0.0F, -1.0F);
        label.at = glm::vec2(std::round(x), cells_.origin.y - kLabelGap - patches);
      } else {
        label.text = text_of(keys, column, false, up / kSlant - font_size(font_) * 0.5F);
        label.along = glm::vec2(kSlant, -kSlant);
        label.at = glm::vec2(x, cells_.origin.y - kLabelGap - patches - 3.0F);
      }
      draw(label, theme_.key_fill);
    };
    for (const chart::AxisLabel& label : placed.labels.labels) {
      if (!gives_way(label.index, marked, placed.labels.step) && label.index != marked)
        draw_column(label.index, label.center);
    }
    if (marked && *marked < keys.count)
      draw_marked(*marked, cell, matrix_.origin.x - cells_.origin.x, cells_.size.x, draw_column);
  }

  /// Draws bars with names beside the cells of an axis; a name that has no room is shortened to its first letters.
  void draw_bands(const AxisTokens& tokens, bool are_rows) const {
    const auto axis = [&](glm::vec2 both) { return are_rows ? both.y : both.x; };
    const float cell = axis(viewport_.cell_size()), begin = axis(cells_.origin), end = axis(cells_.end());
    const float origin = axis(matrix_.origin);
    for (const model::TokenSpan& band : tokens.bands) {
      // A gap of a unit separates neighbours, whatever their colours are.
      const float low = std::max(origin + static_cast<float>(band.first) * cell + 0.5F, begin);
      const float high = std::min(origin + static_cast<float>(std::min(band.end, tokens.count)) * cell - 0.5F, end);
      if (high - low < 1.0F) continue;
      const float across = (are_rows ? cells_.origin.x : cells_.origin.y) - kBandGap - kBandEdge;
      const chart::Rect bar = are_rows ? chart::Rect{.origin = {across, low}, .size = {kBandEdge, high - low}}
                                       : chart::Rect{.origin = {low, across}, .size = {high - low, kBandEdge}};
      const shell::Color fill = fill_of_turn(theme_, band.name);
      fill_rect(bar, fill, 2.0F);
      const std::string name = name_within(band.name, high - low - 2.0F);
      const float half = text_width(font_, name) * 0.5F;
      const shell::Color ink = shell::text_on(fill, theme_.text);
      if (are_rows) {
        draw_turned_text(font_, bar.center() + glm::vec2(0.0F, half), {0.0F, -1.0F}, ink, name);
      } else {
        put(glm::round(bar.center() - glm::vec2(half, font_size(font_) * 0.5F)), name, ink);
      }
    }
  }

 private:
  /// Returns as much of a name as has room, from its beginning.
  std::string name_within(std::string name, float room) const {
    while (!name.empty() && text_width(font_, name) > room) name.pop_back();
    return name;
  }

  /// Draws a patch's thumbnail; `room`: from one label to the next.
  void draw_patch_beside(const AxisTokens& tokens, std::uint32_t index, glm::vec2 center, float room,
                         PicturePlace place) const {
    const auto patch = tokens.patches != nullptr ? tokens.patches->find(index) : std::nullopt;
    const float edge = std::floor(std::min(kPatchEdge, room - 1.0F));
    if (!patch || edge < kMinPatch) return;
    draw_patch(frame_, *tokens.patches, place, *patch,
               {.origin = glm::round(center - edge * 0.5F), .size = glm::vec2(edge)});
  }

  template <typename Draw>
  static void draw_marked(std::uint32_t index, float cell, float origin, float length, const Draw& draw_label) {
    const float center = origin + (static_cast<float>(index) + 0.5F) * cell;
    if (center >= 0.0F && center <= length) draw_label(index, center);
  }

  std::string text_of(const AxisTokens& tokens, std::uint32_t index, bool is_thinned, float room) const {
    const std::string label = tokens.label(index);
    // The label is a number where a capture has no tokens, or where labels are numbered already.
    const bool is_number = !tokens.texts || tokens.has_indices || label == std::to_string(index);
    return fit_text(font_, is_thinned && !is_number ? fmt::format("{}: {}", index, label) : label, room);
  }

  void draw(const DrawnLabel& label, shell::Color marked_ground) const {
    const bool has_ground = label.is_marked || label.is_padding;
    if (has_ground) ground(label, label.is_marked ? marked_ground : theme_.padding);
    const shell::Color color = label.is_padding && !label.is_marked ? theme_.text_dim : theme_.text;
    if (label.is_rotated) {
      draw_turned_text(font_, label.at, label.along, color, label.text);
    } else {
      put(label.at, label.text, color);
    }
  }

  /// Draws a plate under a label, rotated with it.
  void ground(const DrawnLabel& label, shell::Color color) const {
    const float width = text_width(font_, label.text);
    const float half = font_size(font_) * 0.5F + 1.0F;
    const glm::vec2 start = label.at + glm::vec2(0.0F, label.is_rotated ? 0.0F : font_size(font_) * 0.5F);
    const glm::vec2 across = glm::vec2(-label.along.y, label.along.x) * half;
    const glm::vec2 low = start - label.along * 4.0F;
    const glm::vec2 high = start + label.along * (width + 4.0F);
    list_->AddQuadFilled(low - across, high - across, high + across, low + across, color);
  }

  void put(glm::vec2 at, const std::string& text, shell::Color color) const { put_text(font_, at, color, text); }

  const Frame& frame_;
  const shell::Theme& theme_;
  chart::Rect cells_, matrix_;
  const chart::Viewport& viewport_;
  glm::vec2 margins_;
  ImFont* font_;
  ImDrawList* list_;
};

/// Returns the width of the widest label in a sample of at most some hundreds.
float widest(ImFont* font, const AxisTokens& tokens) {
  const std::uint32_t step = std::max(tokens.count / 256U, 1U);
  float width = 0.0F;
  for (std::uint32_t i = 0; i < tokens.count; i += step) width = std::max(width, text_width(font, tokens.label(i)));
  return width;
}

}  // namespace

std::string AxisTokens::label(std::uint32_t index) const {
  if (!texts || index >= texts->size()) return fmt::format("{}", index);
  return has_indices ? fmt::format("{}: {}", index, (*texts)[index]) : (*texts)[index];
}

AxisTokens axis_tokens(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t count, attention::KeyRange real,
                       const char* name) {
  const std::uint32_t item = frame.state.selection.batch;
  return {.texts = tokens.labels(item), .count = count, .real = real, .name = name, .bands = tokens.spans_of(item)};
}

glm::vec2 measure_axes(const Frame& frame, const AxisTokens& queries, const AxisTokens& keys, glm::vec2 room) {
  ImFont* font = frame.ui.fonts().small;
  glm::vec2 margins(0.0F);
  const auto fitted = [&](float top) {
    return chart::Viewport({.origin = {}, .size = room - glm::vec2(margins.x, top)}, queries.count, keys.count);
  };
  // Each label includes its index where labels are thinned out.
  const auto with_number = [&](const AxisTokens& tokens, float cell) {
    const bool is_thinned = cell < line_height(frame) && tokens.texts && !tokens.has_indices;
    return widest(font, tokens) + (is_thinned ? text_width(font, fmt::format("{}: ", tokens.count)) : 0.0F);
  };
  margins.x = kMaxLeft;
  const float row = fitted(kMaxUp + kNameHeight).cell_size().y;
  margins.x = std::clamp(std::ceil(with_number(queries, row)) + kLabelGap + 8.0F, kMinLeft, kMaxLeft) + side_room(queries);
  const float cell = fitted(kMaxUp + kNameHeight).cell_size().x;
  const PlacedLabels placed =
      place(frame, chart::AxisSide::Columns, keys, cell, 0.0F, cell * static_cast<float>(keys.count), kMaxUp);
  const float up = placed.labels.shows_indices ? std::ceil(with_number(keys, cell)) : std::ceil(placed.labels.extent);
  margins.y = std::min(up, kMaxUp) + kNameHeight + kLabelGap + side_room(keys);
  return margins;
}

float measure_overhang(const Frame& frame, const AxisTokens& queries, const AxisTokens& keys, glm::vec2 margins,
                       glm::vec2 room) {
  const chart::Viewport fitted({.origin = {}, .size = glm::max(room - margins, 1.0F)}, queries.count, keys.count);
  const float cell = fitted.cell_size().x;
  const PlacedLabels placed =
      place(frame, chart::AxisSide::Columns, keys, cell, 0.0F, cell * static_cast<float>(keys.count), kMaxUp);
  const bool is_slanted = placed.labels.angle == chart::LabelAngle::Diagonal && !placed.is_upright;
  return is_slanted ? std::ceil(std::min(placed.labels.extent, kMaxUp)) : 0.0F;
}

void draw_axes(const Frame& frame, const chart::Viewport& viewport, glm::vec2 margins, const AxisTokens& queries,
               const AxisTokens& keys, const MarkedLabels& marked) {
  const AxisPainter painter(frame, viewport, margins);
  painter.draw_names(queries, keys);
  painter.draw_rows(queries, marked.query);
  painter.draw_columns(keys, marked.key);
  painter.draw_bands(queries, true);
  painter.draw_bands(keys, false);
}

void draw_marginals(Frame& frame, const chart::Viewport& viewport, const Marginals& marginals) {
  const shell::Theme& theme = frame.ui.theme();
  const chart::Rect cells = viewport.visible();
  const glm::vec2 pointer = pointer_position();
  const bool is_pointed_at = ImGui::IsWindowHovered();
  ImDrawList* list = ImGui::GetWindowDrawList();
  // Bars have one pixel between them where there is room for it.
  const glm::vec2 air = glm::vec2(viewport.cell_size().x > 4.0F ? 1.0F : 0.0F, viewport.cell_size().y > 4.0F ? 1.0F : 0.0F);

  const chart::Rect beside{.origin = {cells.end().x + kMarginalGap, cells.origin.y}, .size = {kLongest, cells.size.y}};
  frame.mark("head.given", beside);
  list->PushClipRect({beside.origin.x - 1.0F, beside.origin.y}, beside.end(), true);
  for (std::uint32_t row = 0; row < marginals.given.size(); ++row) {
    const chart::Rect cell = viewport.rect_of({.row = row, .column = 0});
    if (cell.end().y < cells.origin.y || cell.origin.y > cells.end().y) continue;
    const float length = std::round(kLongest * part_of(marginals.given[row], 1.0F));
    fill_rect({beside.origin.x, cell.origin.y}, {beside.origin.x + length, cell.end().y - air.y}, theme.query);
    const bool is_in_row = pointer.y >= cell.origin.y && pointer.y < cell.end().y;
    if (is_pointed_at && is_in_row && beside.contains(pointer)) {
      draw_tooltip(frame, {.origin = {beside.origin.x, cell.origin.y}, .size = {kLongest, cell.size.y}},
                   fmt::format("Query {} gives {} to other tokens of this map: the sum of its row without itself.", row,
                               chart::format_exact(marginals.given[row])));
    }
  }
  list->PopClipRect();
  draw_line({beside.origin.x - 1.0F, beside.origin.y}, {beside.origin.x - 1.0F, beside.end().y}, theme.border);

  const chart::Rect below{.origin = {cells.origin.x, cells.end().y + kMarginalGap}, .size = {cells.size.x, kLongest}};
  frame.mark("head.received", below);
  const float largest = marginals.received.empty() ? 0.0F : *std::ranges::max_element(marginals.received);
  list->PushClipRect({below.origin.x, below.origin.y - 1.0F}, below.end(), true);
  for (std::uint32_t column = 0; column < marginals.received.size(); ++column) {
    const chart::Rect cell = viewport.rect_of({.row = 0, .column = column});
    if (cell.end().x < cells.origin.x || cell.origin.x > cells.end().x) continue;
    const float length = std::round((kLongest - kMarginalNumberRoom) * part_of(marginals.received[column], largest));
    fill_rect({cell.origin.x, below.origin.y}, {cell.end().x - air.x, below.origin.y + length}, theme.key);
    const bool is_in_column = pointer.x >= cell.origin.x && pointer.x < cell.end().x;
    if (is_pointed_at && is_in_column && below.contains(pointer)) {
      draw_tooltip(frame, {.origin = {cell.origin.x, below.origin.y}, .size = {cell.size.x, kLongest}},
                   fmt::format("Key {} receives {} on average from each query.", column,
                               chart::format_exact(marginals.received[column])));
    }
  }
  list->PopClipRect();
  draw_line({below.origin.x, below.origin.y - 1.0F}, {below.end().x, below.origin.y - 1.0F}, theme.border);
  ImFont* font = frame.ui.fonts().mono_small;
  const std::string text = fmt::format("received, at most {}", chart::format_number(largest, 6));
  if (text_width(font, text) > below.size.x) return;
  put_text(font, {below.origin.x, below.end().y - font_size(font)}, theme.text_dim, text);
}

}  // namespace headlight::app
