#include "app/widgets/map_axes.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <imgui.h>

#include "app/widgets/ink.h"
#include "app/widgets/label_text.h"
#include "view/axis_labels.h"

namespace headlight::app {
namespace {

constexpr float kLeastLeft = 64.0F;
constexpr float kMostLeft = 150.0F;
constexpr float kMostUp = 104.0F;     // height of rotated labels
constexpr float kNameHeight = 20.0F;  // the line with the name of the key axis
constexpr float kGap = 6.0F;          // between labels and cells
constexpr float kSlant = 0.70710678F;

float line_height(const Frame& frame) { return font_size(frame.ui.fonts().small) + 2.0F; }

/// One label as it is drawn.
struct DrawnLabel {
  std::string text;
  ImVec2 at;  ///< horizontal: top left corner; rotated: the start of its middle line
  ImVec2 along{1.0F, 0.0F};
  bool is_rotated = false, is_marked = false, is_padding = false;
};

/// The labels of src/view's layout; its indices with their token too, since there is room for one vertical label at each.
struct PlacedLabels {
  view::AxisLabels labels;
  bool is_upright = false;
};

PlacedLabels place(const Frame& frame, view::AxisSide side, const AxisTokens& tokens, float cell, float origin, float length,
                   float most) {
  ImFont* font = frame.ui.fonts().small;
  std::vector<float> widths;
  // Where cells are lower than a line, the labels' widths don't matter: thousands of them needn't be measured.
  if (cell >= line_height(frame)) {
    widths.reserve(tokens.count);
    for (std::uint32_t i = 0; i < tokens.count; ++i) widths.push_back(text_width(font, tokens.label(i)));
  }
  PlacedLabels placed;
  placed.labels = view::lay_out_labels({.side = side,
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
                                        .gap = line_height(frame) * (cell < line_height(frame) ? view::kThinnedAir : 1.0F)});
  const bool is_thinned = placed.labels.shows_indices;
  placed.is_upright = side == view::AxisSide::Columns && (is_thinned || placed.labels.angle == view::LabelAngle::Vertical);
  return placed;
}

/// Is another label nearer to the marked one than their step? Then it is dropped.
bool gives_way(std::uint32_t index, std::optional<std::uint32_t> marked, std::uint32_t step) {
  if (!marked || index == *marked) return false;
  return (index > *marked ? index - *marked : *marked - index) < step;
}

class AxisPainter {
 public:
  AxisPainter(const Frame& frame, const view::Viewport& viewport, const AxisMargins& margins)
      : frame_(frame),
        theme_(frame.ui.theme()),
        cells_(viewport.visible()),
        matrix_(viewport.matrix()),
        viewport_(viewport),
        margins_(margins),
        font_(frame.ui.fonts().small),
        list_(ImGui::GetWindowDrawList()) {}

  void draw_names(const char* rows, const char* columns) const {
    put(ImVec2(cells_.x, cells_.y - margins_.top), fmt::format("{} →", columns), theme_.key);
    const std::string down = fmt::format("{} ↓", rows);
    put(ImVec2(cells_.x - kGap - text_width(font_, down), cells_.y - font_size(font_) - kGap), down, theme_.query);
  }

  void draw_rows(const AxisTokens& queries, std::optional<std::uint32_t> marked) const {
    const float cell = viewport_.cell_height();
    const PlacedLabels placed =
        place(frame_, view::AxisSide::Rows, queries, cell, matrix_.y - cells_.y, cells_.height, margins_.left - kGap - 8.0F);
    const auto draw_row = [&](std::uint32_t row, float center) {
      DrawnLabel label{.text = text_of(queries, row, placed.labels.shows_indices, margins_.left - kGap - 8.0F),
                       .at = {},
                       .is_marked = marked == row,
                       .is_padding = !queries.real.holds(row)};
      label.at = ImVec2(std::round(cells_.x - kGap - text_width(font_, label.text)),
                        std::round(cells_.y + center - font_size(font_) * 0.5F));
      draw(label, theme_.query_fill);
    };
    for (const view::AxisLabel& label : placed.labels.labels) {
      if (!gives_way(label.index, marked, placed.labels.step) && label.index != marked) draw_row(label.index, label.center);
    }
    if (marked && *marked < queries.count) draw_marked(*marked, cell, matrix_.y - cells_.y, cells_.height, draw_row);
  }

  void draw_columns(const AxisTokens& keys, std::optional<std::uint32_t> marked) const {
    const float cell = viewport_.cell_width();
    const float up = margins_.top - kNameHeight - kGap;
    const PlacedLabels placed = place(frame_, view::AxisSide::Columns, keys, cell, matrix_.x - cells_.x, cells_.width, up);
    const bool is_level = placed.labels.angle == view::LabelAngle::Horizontal && !placed.is_upright;
    const auto draw_column = [&](std::uint32_t column, float center) {
      DrawnLabel label{.text = {},
                       .at = {},
                       .is_rotated = !is_level,
                       .is_marked = marked == column,
                       .is_padding = !keys.real.holds(column)};
      const float x = cells_.x + center;
      if (is_level) {
        label.text = text_of(keys, column, false, std::max(cell - 4.0F, 1.0F));
        label.at = ImVec2(std::round(x - text_width(font_, label.text) * 0.5F), cells_.y - kGap - font_size(font_));
      } else if (placed.is_upright) {
        label.text = text_of(keys, column, placed.labels.shows_indices, up);
        label.along = ImVec2(0.0F, -1.0F);
        label.at = ImVec2(std::round(x), cells_.y - kGap);
      } else {
        label.text = text_of(keys, column, false, up / kSlant - font_size(font_) * 0.5F);
        label.along = ImVec2(kSlant, -kSlant);
        label.at = ImVec2(x, cells_.y - kGap - 3.0F);
      }
      draw(label, theme_.key_fill);
    };
    for (const view::AxisLabel& label : placed.labels.labels) {
      if (!gives_way(label.index, marked, placed.labels.step) && label.index != marked)
        draw_column(label.index, label.center);
    }
    if (marked && *marked < keys.count) draw_marked(*marked, cell, matrix_.x - cells_.x, cells_.width, draw_column);
  }

 private:
  template <typename Draw>
  static void draw_marked(std::uint32_t index, float cell, float origin, float length, const Draw& draw_label) {
    const float center = origin + (static_cast<float>(index) + 0.5F) * cell;
    if (center >= 0.0F && center <= length) draw_label(index, center);
  }

  std::string text_of(const AxisTokens& tokens, std::uint32_t index, bool is_thinned, float room) const {
    const std::string label = tokens.label(index);
    const bool is_number = !tokens.texts;
    return fit_text(font_, is_thinned && !is_number ? fmt::format("{} {}", index, label) : label, room);
  }

  void draw(const DrawnLabel& label, shell::Color marked_ground) const {
    const bool has_ground = label.is_marked || label.is_padding;
    if (has_ground) ground(label, label.is_marked ? marked_ground : theme_.padding);
    const shell::Color color = label.is_padding && !label.is_marked ? theme_.text_dim : theme_.text;
    if (label.is_rotated) {
      draw_turned_text(list_, font_, label.at, label.along, color, label.text);
    } else {
      put(label.at, label.text, color);
    }
  }

  /// A plate under a label, rotated with it.
  void ground(const DrawnLabel& label, shell::Color color) const {
    const float width = text_width(font_, label.text);
    const float half = font_size(font_) * 0.5F + 1.0F;
    const ImVec2 start = label.is_rotated ? label.at : ImVec2(label.at.x, label.at.y + font_size(font_) * 0.5F);
    const ImVec2 along = label.along;
    const ImVec2 across(-along.y * half, along.x * half);
    const ImVec2 low(start.x - along.x * 4.0F, start.y - along.y * 4.0F);
    const ImVec2 high(start.x + along.x * (width + 4.0F), start.y + along.y * (width + 4.0F));
    list_->AddQuadFilled(ImVec2(low.x - across.x, low.y - across.y), ImVec2(high.x - across.x, high.y - across.y),
                         ImVec2(high.x + across.x, high.y + across.y), ImVec2(low.x + across.x, low.y + across.y), color);
  }

  void put(ImVec2 at, const std::string& text, shell::Color color) const {
    list_->AddText(font_, font_size(font_), at, color, text.c_str());
  }

  const Frame& frame_;
  const shell::Theme& theme_;
  view::Rect cells_, matrix_;
  const view::Viewport& viewport_;
  const AxisMargins& margins_;
  ImFont* font_;
  ImDrawList* list_;
};

/// The widest label of a sample of at most some hundreds.
float widest(ImFont* font, const AxisTokens& tokens) {
  const std::uint32_t step = std::max(tokens.count / 256U, 1U);
  float width = 0.0F;
  for (std::uint32_t i = 0; i < tokens.count; i += step) width = std::max(width, text_width(font, tokens.label(i)));
  return width;
}

}  // namespace

std::string AxisTokens::label(std::uint32_t index) const {
  return texts && index < texts->size() ? (*texts)[index] : fmt::format("{}", index);
}

AxisMargins measure_axes(const Frame& frame, const AxisTokens& queries, const AxisTokens& keys, const view::Rect& room) {
  ImFont* font = frame.ui.fonts().small;
  AxisMargins margins;
  const auto fitted = [&](float top) {
    return view::Viewport({.x = 0.0F, .y = 0.0F, .width = room.width - margins.left, .height = room.height - top},
                          queries.count, keys.count);
  };
  // Where labels are thinned out, each includes its index.
  const auto with_number = [&](const AxisTokens& tokens, float cell) {
    const bool is_thinned = cell < line_height(frame) && tokens.texts;
    return widest(font, tokens) + (is_thinned ? text_width(font, fmt::format("{} ", tokens.count)) : 0.0F);
  };
  margins.left = kMostLeft;
  const float row = fitted(kMostUp + kNameHeight).cell_height();
  margins.left = std::clamp(std::ceil(with_number(queries, row)) + kGap + 8.0F, kLeastLeft, kMostLeft);
  const float cell = fitted(kMostUp + kNameHeight).cell_width();
  const PlacedLabels placed =
      place(frame, view::AxisSide::Columns, keys, cell, 0.0F, cell * static_cast<float>(keys.count), kMostUp);
  const float up = placed.labels.shows_indices ? std::ceil(with_number(keys, cell)) : std::ceil(placed.labels.extent);
  margins.top = std::min(up, kMostUp) + kNameHeight + kGap;
  return margins;
}

void draw_axes(const Frame& frame, const view::Viewport& viewport, const AxisMargins& margins, const AxisTokens& queries,
               const AxisTokens& keys, const MarkedLabels& marked) {
  const AxisPainter painter(frame, viewport, margins);
  painter.draw_names(queries.name, keys.name);
  painter.draw_rows(queries, marked.query);
  painter.draw_columns(keys, marked.key);
}

}  // namespace headlight::app
