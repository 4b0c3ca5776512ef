#pragma once

#include <optional>
#include <vector>

#include "export/canvas.h"
#include "export/color_bar.h"
#include "export/figure.h"
#include "export/figure_frame.h"
#include "export/heatmap_painter.h"
#include "export/text_metrics.h"

namespace headlight::exporting {

/// The layout of a ContactSheet: panels row by row in a grid, one colour bar.
class ContactSheetDrawing {
 public:
  /// Throws Error when there is no panel, panels differ in size or values don't fill one. Keeps a reference to `sheet`.
  ContactSheetDrawing(const ContactSheet& sheet, std::uint32_t max_values);

  float width() const { return width_; }
  float height() const { return height_; }
  void draw(Canvas& canvas) const;

 private:
  glm::vec2 panel_corner(std::size_t index) const;  ///< of its map

  const ContactSheet& sheet_;
  TextMetrics metrics_;
  Paper paper_;
  std::vector<FigureMap> maps_;
  view::ValueScale scale_;
  CellGrid grid_;             ///< of one panel, at the origin
  float panel_width_ = 0.0F;  ///< of the map or its title, whichever is wider
  std::size_t across_ = 1;
  glm::vec2 origin_{0.0F};
  std::optional<ColorBar> bar_;
  std::optional<TitleBlock> title_;
  std::optional<Legend> legend_;
  float width_ = 0.0F;
  float height_ = 0.0F;
};

}  // namespace headlight::exporting
