#pragma once

#include <string>
#include <vector>

#include "export/canvas.h"
#include "export/figure.h"
#include "export/text_metrics.h"

namespace headlight::exporting {

/// Lengths in units of 1/96 inch.
inline constexpr float kMargin = 20.0F;
inline constexpr float kTitleSize = 15.0F;
inline constexpr float kTextSize = 11.0F;
inline constexpr double kMaxMapEdge = 1000.0;    ///< a map is never drawn larger
inline constexpr double kMaxMapValues = 2000.0;  ///< values on an edge; more are pooled

/// Colours of everything but the cells.
struct Paper {
  Rgb ground{};
  Rgb ink{};
  Rgb muted{};    ///< settings, ticks, padding
  Rgb outline{};  ///< around maps
  Rgb blank{};    ///< masked cells without a number
  Rgb stripe{};   ///< their stripes
};
Paper paper_of(const FigureStyle& style);

/// What a file of a figure says and shows besides its drawing. `session`: metadata; may be empty.
DrawingOutput output_of(const FigureStyle& style, const std::string& title, const std::string& session);

/// Title and settings above a figure, wrapped to its width.
class TitleBlock {
 public:
  TitleBlock(const std::string& title, const std::string& subtitle, float width, const TextMetrics& metrics);

  float height() const;                   ///< with the space below; 0 without any text
  float width() const { return width_; }  ///< of the widest line
  void draw(Canvas& canvas, glm::vec2 top_left, const Paper& paper) const;

 private:
  std::vector<std::string> title_;
  std::vector<std::string> subtitle_;
  float width_ = 0.0F;
};

/// "Each point is the largest of 3 × 3 cells.", to append to a subtitle; "" without pooling.
std::string pooling_note(const FigureMap& map);

/// The hatched swatch with its meaning, and a remark below it; parts that aren't needed are left out.
class Legend {
 public:
  Legend(std::string masked_title, std::string remark, float width, const TextMetrics& metrics);

  float height() const;  ///< with the space above; 0 for an empty legend
  void draw(Canvas& canvas, glm::vec2 top_left, const Paper& paper) const;

 private:
  std::string masked_title_;
  std::vector<std::string> remark_;
};

/// Does any masked cell need explaining?
bool has_masked(const FigureMap& map);
/// What the colour of cells that are NaN or infinite means; "" where there are none.
std::string odd_cells_note(const FigureMap& map);

}  // namespace headlight::exporting
