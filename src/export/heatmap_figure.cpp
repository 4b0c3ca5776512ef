#include "export/heatmap_figure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headlight::exporting {
namespace {

constexpr float kMinCell = 14.0F;  // while a line of labels fits each cell
constexpr float kMaxCell = 56.0F;
constexpr float kComfortableMap = 600.0F;
constexpr float kMaxRowLabel = 150.0F;
constexpr float kMaxColumnLabel = 130.0F;
constexpr float kLabelGap = 6.0F;
constexpr float kAxisTitle = line_height(kTextSize) + 6.0F;
constexpr float kColorBarGap = 22.0F;
constexpr float kMinTitleWidth = 440.0F;
constexpr float kMinThumbnail = 8.0F;  // smaller ones show nothing
constexpr float kMaxThumbnail = 24.0F;

constexpr float kBandShade = 0.3F;  // of a band's colour on the ground

/// Returns the height or width that an axis' bands need between thumbnails and cells.
float band_room(const FigureAxis& axis) { return axis.bands.empty() ? 0.0F : line_height(kTextSize) + 2.0F; }

/// Returns the room that thumbnails of this edge need between labels and cells.
float thumbnail_room(float edge) { return edge > 0.0F ? edge + kLabelGap : 0.0F; }

// The style's size, else large cells when they are few, whole units (sharp at every scale) when they are many, half units
// beyond a thousand.
float cell_edge(std::uint32_t values, float chosen) {
  const auto count = static_cast<float>(values);
  if (chosen > 0.0F) return chosen / count;
  const auto longest = static_cast<float>(kMaxMapEdge);
  if (count * kMinCell <= longest) return std::clamp(std::floor(kComfortableMap / count), kMinCell, kMaxCell);
  return count <= longest ? std::floor(longest / count) : 0.5F;
}

/// The size of a value: a square, but where a map is much longer than wide its short side's cells are large enough to tell
/// them apart, and to be named.
glm::vec2 value_size(const FigureMap& map, float chosen) {
  const glm::vec2 counts(map.value_columns(), map.value_rows());
  const float longest = std::max(counts.x, counts.y), edge = cell_edge(static_cast<std::uint32_t>(longest), chosen);
  constexpr float kLong = 4.0F;
  const auto of_side = [&](float count) {
    return longest < kLong * count ? edge : std::max(edge, std::min(kMinCell, edge * longest / (kLong * count)));
  };
  return {of_side(counts.x), of_side(counts.y)};
}

/// Returns the size of a cell that holds text.
glm::vec2 text_cell(const FigureMap& map, float chosen) {
  constexpr float kWide = 64.0F, kNarrow = 30.0F, kHigh = 18.0F;
  const auto columns = static_cast<float>(map.columns);
  return {
      chosen > 0.0F ? chosen / columns : std::clamp(std::floor(static_cast<float>(kMaxMapEdge) / columns), kNarrow, kWide),
      kHigh};
}

std::string index_list(const std::vector<std::uint32_t>& indices) {
  constexpr std::size_t kMax = 12;
  const std::size_t shown = std::min(indices.size(), kMax);
  std::string list =
      fmt::format("{}", fmt::join(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return shown < indices.size() ? fmt::format("{}, … ({} rows)", list, indices.size()) : list;
}

chart::AxisLabels lay_out(const FigureAxis& axis, chart::AxisSide side, std::uint32_t count, float cell,
                          const TextMetrics& metrics, float room, std::uint32_t least_step = 1) {
  std::vector<float> widths;
  widths.reserve(axis.tokens.size());
  for (const std::string& token : axis.tokens) widths.push_back(metrics.width(printable(token), kTextSize));
  return chart::lay_out_labels({.side = side,
                                .count = count,
                                .widths = widths.size() == count ? std::span<const float>(widths) : std::span<const float>(),
                                .cell_size = cell,
                                .length = cell * static_cast<float>(count),
                                .line_height = line_height(kTextSize),
                                .digit_width = metrics.width("0", kTextSize),
                                .max_extent = room,
                                .least_step = least_step,
                                .gap = side == chart::AxisSide::Rows ? 0.0F : 6.0F});
}

// Returns the distance by which the labels reach beyond the end of the columns.
float overhang(const chart::AxisLabels& labels, float length) {
  float reach = 0.0F;
  for (const chart::AxisLabel& label : labels.labels) {
    float beyond = label.center - length;
    if (labels.angle == chart::LabelAngle::Horizontal) beyond += label.width / 2;
    if (labels.angle == chart::LabelAngle::Diagonal) beyond += (label.width + line_height(kTextSize)) * 0.70711F;
    reach = std::max(reach, beyond);
  }
  return reach;
}

std::string label_text(const FigureAxis& axis, const chart::AxisLabels& labels, const chart::AxisLabel& label,
                       const TextMetrics& metrics) {
  if (labels.shows_indices) return std::to_string(label.index);
  const std::string token = printable(axis.tokens[label.index]);
  return label.is_short ? chart::shorten(token, label.width, metrics.measure(kTextSize)) : token;
}

}  // namespace

HeatmapDrawing::HeatmapDrawing(HeatmapFigure shown, std::uint32_t max_values) : FigureDrawing(std::move(shown)) {
  HeatmapFigure& figure = figure_;
  check(figure.map);
  map_ = pooled(figure.map, max_values);
  scale_ = scale_of(map_, figure.style);
  for (std::uint32_t row = 0; figure.marks_empty_rows && map_.pool == 1 && row < map_.rows; ++row) {
    if (map_.is_without_weights(row)) empty_rows_.push_back(row);
  }
  const glm::vec2 value = has_texts() ? text_cell(map_, figure.style.map_edge) : value_size(map_, figure.style.map_edge);
  if (figure.style.parts.labels) lay_out_labels(value / glm::vec2(map_.column_pool(), map_.pool));
  grid_ = {.area = {.origin = {}, .size = value * glm::vec2(map_.value_columns(), map_.value_rows())}, .value = value};
  numbers_ = figure.style.parts.numbers && figure.texts.empty() ? fit_numbers(map_, grid_, metrics_) : std::nullopt;
  bar_.emplace(scale_, figure.style, figure.value_title, grid_.area.size.y, metrics_);

  const FigureParts& parts = figure.style.parts;
  const float axis_title = parts.labels ? kAxisTitle + kLabelGap : 0.0F;
  grid_.area.origin.x = std::ceil(margin_ + axis_title + row_labels_.extent + thumbnail_room(row_thumbnails_) + row_bands_);
  const float bar = parts.bar ? kColorBarGap + bar_->width() : 0.0F;
  const float map_right = grid_.area.end().x + std::max(bar, overhang(column_labels_, grid_.area.size.x));
  const bool has_title = parts.title || parts.settings;
  const float content = std::max(map_right - margin_, has_title ? title_room(kMinTitleWidth) : 0.0F);
  const std::string note = pooling_note(map_);
  figure.subtitle += note.empty() || figure.subtitle.empty() ? note : "\n" + note;
  const float top = lay_out_titles(content);
  const bool has_legend = parts.legend && has_masked(map_);
  legend_.emplace(has_legend ? printable(figure.masked_title) : "", parts.legend ? remark() : "", content, metrics_);
  grid_.area.origin.y =
      std::ceil(top + axis_title + column_labels_.extent + thumbnail_room(column_thumbnails_) + column_bands_);
  const float below = std::max(grid_.area.size.y + legend_->height(), parts.bar ? bar_->height() : 0.0F);
  size_ = glm::ceil(glm::vec2(std::max(map_right, margin_ + titles_->width()), grid_.area.origin.y + below) + margin_);
}

void HeatmapDrawing::lay_out_labels(glm::vec2 cell) {
  const auto lay_out_both = [&](std::uint32_t least_step) {
    row_labels_ =
        lay_out(figure_.rows, chart::AxisSide::Rows, map_.rows, cell.y, metrics_, label_room(kMaxRowLabel), least_step);
    column_labels_ =
        lay_out(figure_.columns, chart::AxisSide::Columns, map_.columns, cell.x, metrics_, kMaxColumnLabel, least_step);
  };
  lay_out_both(1);
  if (row_labels_.shows_indices && column_labels_.shows_indices && cell.x == cell.y) {
    lay_out_both(std::max(row_labels_.step, column_labels_.step));  // one for both: they can be compared
  }
  row_bands_ = band_room(figure_.rows);
  column_bands_ = band_room(figure_.columns);
  row_thumbnails_ = thumbnail_edge(figure_.rows, row_labels_, cell.y);
  column_thumbnails_ = thumbnail_edge(figure_.columns, column_labels_, cell.x);
}

float HeatmapDrawing::thumbnail_edge(const FigureAxis& axis, const chart::AxisLabels& labels, float cell) {
  if (axis.thumbnails.empty()) return 0.0F;
  const float edge = std::floor(std::min(cell * static_cast<float>(labels.step) - 1.0F, kMaxThumbnail));
  return edge < kMinThumbnail ? 0.0F : edge;
}

void HeatmapDrawing::draw_thumbnail(Canvas& canvas, const FigureAxis& axis, std::uint32_t index, glm::vec2 center,
                                    float edge) {
  if (edge == 0.0F || index >= axis.thumbnails.size() || axis.thumbnails[index].rgba.empty()) return;
  canvas.image({.origin = center - edge * 0.5F, .size = glm::vec2(edge)}, axis.thumbnails[index]);
}

bool HeatmapDrawing::has_texts() const {
  return map_.is_exact() && figure_.style.parts.numbers && figure_.texts.size() == map_.values.size();
}

bool HeatmapDrawing::has_row_notes() const { return grid_.value.y >= kMinCell && grid_.area.size.x >= 84.0F; }

std::string HeatmapDrawing::note() const {
  const bool is_numbered = (row_labels_.shows_indices && !figure_.rows.tokens.empty()) ||
                           (column_labels_.shows_indices && !figure_.columns.tokens.empty());
  const float needed = line_height(kTextSize) * static_cast<float>(std::max(map_.rows, map_.columns));
  const float beside = is_of_width() ? size_.x - grid_.area.size.x + label_room(kMaxRowLabel) : 0.0F;
  return is_numbered ? fmt::format("the axes have numbers in place of tokens: headlight export {} {:.0f}mm names them",
                                   is_of_width() ? "--width" : "--size", std::ceil((needed + beside) / kUnitsPerMillimetre))
                     : std::string();
}

std::string HeatmapDrawing::remark() const {
  const std::string odd = odd_cells_note(map_);
  if (empty_rows_.empty() || has_row_notes()) return odd;
  return odd + (odd.empty() ? "" : " ") +
         fmt::format("No weights (everything masked) in {} {}", figure_.rows.title.empty() ? "row" : figure_.rows.title,
                     index_list(empty_rows_));
}

void HeatmapDrawing::draw_content(Canvas& canvas) const {
  paint_cells(canvas, map_, grid_, scale_, figure_.style, paper_);
  if (has_texts()) paint_texts(canvas, map_, grid_, figure_.texts, metrics_, scale_, figure_.style, paper_);
  if (numbers_) paint_numbers(canvas, map_, grid_, *numbers_, scale_, figure_.style, paper_);
  if (has_row_notes()) draw_empty_rows(canvas);
  if (figure_.style.parts.labels) {
    draw_column_axis(canvas);
    draw_row_axis(canvas);
  }
  if (figure_.style.parts.bar) bar_->draw(canvas, {grid_.area.end().x + kColorBarGap, grid_.area.origin.y}, paper_);
  legend_->draw(canvas, {grid_.area.origin.x, grid_.area.end().y}, paper_);
}

void HeatmapDrawing::draw_bands(Canvas& canvas, const FigureAxis& axis, bool are_rows) const {
  const glm::vec2 cell = grid_.value / glm::vec2(map_.column_pool(), map_.pool);
  const float edge = are_rows ? cell.y : cell.x, thickness = line_height(kTextSize) - 2.0F;
  for (const FigureAxis::Band& band : axis.bands) {
    // A gap of a unit tells neighbours apart, whatever their colours are.
    const float first = static_cast<float>(band.first) * edge + 0.5F,
                length = static_cast<float>(band.end - band.first) * edge - 1.0F;
    if (length <= 0.0F) continue;
    const Rect rect =
        are_rows ? Rect{.origin = grid_.area.origin + glm::vec2(-thickness - 3.0F, first), .size = {thickness, length}}
                 : Rect{.origin = grid_.area.origin + glm::vec2(first, -thickness - 3.0F), .size = {length, thickness}};
    canvas.fill(rect, mixed(paper_.ground, band.color, kBandShade));
    const std::string name = chart::shorten(printable(band.name), length - 2.0F, metrics_.measure(kTextSize));
    const float drop = kHalfCapital * kTextSize;
    canvas.text(rect.center() + (are_rows ? glm::vec2(drop, 0.0F) : glm::vec2(0.0F, drop)), name,
                {.size = kTextSize, .color = paper_.ink, .align = TextAlign::Middle, .degrees = are_rows ? 90.0F : 0.0F});
  }
}

void HeatmapDrawing::draw_column_axis(Canvas& canvas) const {
  const bool is_level = column_labels_.angle == chart::LabelAngle::Horizontal;
  draw_bands(canvas, figure_.columns, false);
  const float above = grid_.area.origin.y - column_bands_;
  const float base = above - kLabelGap - thumbnail_room(column_thumbnails_);
  for (const chart::AxisLabel& label : column_labels_.labels) {
    const float x = grid_.area.origin.x + label.center;
    draw_thumbnail(canvas, figure_.columns, label.index, {x, above - kLabelGap - column_thumbnails_ * 0.5F},
                   column_thumbnails_);
    TextStyle style = {.size = kTextSize,
                       .color = label.index < figure_.columns.length ? paper_.ink : paper_.muted,
                       .align = is_level ? TextAlign::Middle : TextAlign::Start,
                       .degrees = chart::degrees(column_labels_.angle)};
    // Rotated text is centred on the cell by the middle of its letters, not by its baseline.
    const float turn = style.degrees / 180.0F * 3.14159265F;
    const float drop = is_level ? 0.0F : kHalfCapital * kTextSize;
    canvas.text({x + drop * std::sin(turn), base - (is_level ? 1.0F : 0.0F) + drop * std::cos(turn) * 0.5F},
                label_text(figure_.columns, column_labels_, label, metrics_), style);
    if (column_labels_.step > 1) canvas.line({x, above - 4.0F}, {x, above}, paper_.outline, 0.75F);
  }
  canvas.text({grid_.area.center().x, base - column_labels_.extent - 8.0F}, printable(figure_.columns.title),
              {.size = kTextSize, .is_bold = true, .color = paper_.ink, .align = TextAlign::Middle});
}

void HeatmapDrawing::draw_row_axis(Canvas& canvas) const {
  draw_bands(canvas, figure_.rows, true);
  const float left = grid_.area.origin.x - row_bands_;
  const float end = left - kLabelGap - thumbnail_room(row_thumbnails_);
  for (const chart::AxisLabel& label : row_labels_.labels) {
    const float y = grid_.area.origin.y + label.center;
    draw_thumbnail(canvas, figure_.rows, label.index, {left - kLabelGap - row_thumbnails_ * 0.5F, y}, row_thumbnails_);
    canvas.text({end, y + kHalfCapital * kTextSize}, label_text(figure_.rows, row_labels_, label, metrics_),
                {.size = kTextSize,
                 .color = label.index < figure_.rows.length ? paper_.ink : paper_.muted,
                 .align = TextAlign::End});
    if (row_labels_.step > 1) canvas.line({left - 4.0F, y}, {left, y}, paper_.outline, 0.75F);
  }
  canvas.text({end - row_labels_.extent - 8.0F, grid_.area.center().y}, printable(figure_.rows.title),
              {.size = kTextSize, .is_bold = true, .color = paper_.ink, .align = TextAlign::Middle, .degrees = 90.0F});
}

void HeatmapDrawing::draw_empty_rows(Canvas& canvas) const {
  constexpr std::string_view kNote = "no weights";
  const float size = std::min(kTextSize, 0.7F * grid_.value.y);
  const float width = metrics_.width(kNote, size) + 12.0F;
  for (const std::uint32_t row : empty_rows_) {
    const Rect whole = grid_.rect(row, 0, map_.value_columns());
    const glm::vec2 middle = whole.center();
    canvas.fill({{whole.origin.x + (whole.size.x - width) / 2, middle.y - 0.62F * size}, {width, 1.24F * size}},
                paper_.blank);
    canvas.text({middle.x, middle.y + kHalfCapital * size}, kNote,
                {.size = size, .is_italic = true, .color = paper_.muted, .align = TextAlign::Middle});
  }
}

std::unique_ptr<Drawing> make_drawing(HeatmapFigure figure, DrawingFormat format) {
  const std::uint32_t values = max_values(figure.style, format);
  return std::make_unique<HeatmapDrawing>(std::move(figure), values);
}

}  // namespace headlight::exporting
