#pragma once

#include <memory>
#include <string>

#include "app/exports/job.h"
#include "app/frame.h"
#include "export/figure.h"
#include "export/heatmap_figure.h"

namespace headlight::app {

/// The figure that an export would write of the selected head, or mean, drawn small: title, labels, colours and parts as the
/// options say. It is laid out anew when they or its numbers change.
class FigurePreview {
 public:
  /// In an area of the current window's width. `options`: of the export, whose first map is shown.
  void draw(Frame& frame, const ExportOptions& options, float height);

 private:
  void lay_out(const Frame& frame, ExportOptions options);

  std::string key_;  ///< of what is laid out
  std::shared_ptr<const attention::Tile> tile_;
  std::unique_ptr<exporting::HeatmapFigure> figure_;
  std::unique_ptr<exporting::HeatmapDrawing> drawing_;  ///< of `figure_`
  std::string trouble_;
};

}  // namespace headlight::app
