#pragma once

#include "chart/axis_labels.h"
#include "export/heatmap_painter.h"
#include "export/text_metrics.h"

namespace headlight::exporting {

/// The layout of a HeatmapFigure, ready to be drawn on any canvas.
class HeatmapDrawing final : public FigureDrawing<HeatmapFigure> {
 public:
  /// Pools the map to `max_values` on an edge. Throws Error when values don't fill the map.
  HeatmapDrawing(HeatmapFigure figure, std::uint32_t max_values);

  /// Draws at another place of the page.
  void move_by(glm::vec2 way) {
    corner_ += way;
    grid_.area.origin += way;
  }
  /// The grid of the values.
  const CellGrid& grid() const { return grid_; }
  /// Tokens that have no room, with the size that gives it to them.
  std::string note() const override;

 private:
  void draw_content(Canvas& canvas) const override;
  void lay_out_labels(glm::vec2 cell);
  /// The edge of an axis' thumbnails, whose labels are laid out; 0: there are none, or no room.
  static float thumbnail_edge(const FigureAxis& axis, const chart::AxisLabels& labels, float cell);
  static void draw_thumbnail(Canvas& canvas, const FigureAxis& axis, std::uint32_t index, glm::vec2 center, float edge);
  void draw_bands(Canvas& canvas, const FigureAxis& axis, bool are_rows) const;
  void draw_column_axis(Canvas& canvas) const;
  void draw_row_axis(Canvas& canvas) const;
  void draw_empty_rows(Canvas& canvas) const;
  std::string remark() const;  ///< the legend's line about rows without weights
  bool has_texts() const;      ///< in the cells
  bool has_row_notes() const;  ///< is there room in a row for "no weights"?

  FigureMap map_;  ///< as it is drawn
  chart::ValueScale scale_;
  CellGrid grid_;
  chart::AxisLabels row_labels_;
  chart::AxisLabels column_labels_;
  float row_thumbnails_ = 0.0F, column_thumbnails_ = 0.0F;  ///< their edges
  float row_bands_ = 0.0F, column_bands_ = 0.0F;            ///< what bands need beside the cells
  std::optional<CellNumbers> numbers_;
  std::vector<std::uint32_t> empty_rows_;
  std::optional<ColorBar> bar_;
  std::optional<Legend> legend_;
};

}  // namespace headlight::exporting
