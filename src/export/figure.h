#pragma once

#include "chart/color.h"
#include "chart/value_scale.h"
#include "export/drawing.h"
#include "export/figure_map.h"

namespace headlight::exporting {

/// Units of 1/96 inch in a millimetre.
inline constexpr float kUnitsPerMillimetre = 96.0F / 25.4F;

/// Around a figure whose width is chosen; units.
inline constexpr float kColumnMargin = 4.0F;

/// The optional parts of a figure, beside the cells.
struct FigureParts {
  bool title = true, settings = true, labels = true, bar = true, legend = true;
  bool numbers = true;     ///< in the cells, where they fit
  bool word_marks = true;  ///< the "\u00B7" of tokens that begin a word

  bool operator==(const FigureParts&) const = default;
};

/// Tokens without the mark of those that begin a word; a token that is a space alone keeps it.
void drop_marks(std::vector<std::string>& tokens);

/// The style of a figure, in every format.
struct FigureStyle {
  chart::ColorMap color_map = chart::ColorMap::Viridis;
  chart::ScaleKind scale = chart::ScaleKind::Unit;
  chart::ScaleSpread spread = chart::ScaleSpread::Linear;
  std::optional<chart::ValueLimits> limits = {};  ///< the ends of the colour bar; none: by `scale`
  bool is_dark = false;
  bool is_transparent = false;  ///< no ground; the ink is that of light or dark paper
  FigureParts parts = {};
  FigureFont font = FigureFont::Sans;
  double png_scale = 2.0;  ///< pixels a unit of 1/96 inch; 2 prints at 192 dpi
  float map_edge = 0.0F;   ///< units: the longer side of a map, of a sheet all its panels across; 0: as the cells need
  /// Units: the whole figure's, in a column of a paper. Titles are wrapped to it and margins are narrow; maps have their
  /// map_edge, which the caller chooses so that they fit. 0: as wide as its parts need.
  float width = 0.0F;
};

/// The style for values of both signs: the diverging colours, symmetric around zero and linear; of the limits the one
/// farther from zero counts.
FigureStyle diverging(FigureStyle style);

/// The names along one side of a matrix.
struct FigureAxis {
  std::string title;                ///< "query", "key", "feature"
  std::vector<std::string> tokens;  ///< one a cell; empty: indices
  /// Tokens from this index on are padding, printed paler.
  std::uint32_t length = 0xffffffffU;
  /// Images of tokens that are patches of one, drawn between their labels and the cells; of no size: the token is none.
  /// Empty: no token is.
  std::vector<Pixels> thumbnails = {};
  /// Named bars along the cells [first, end), between labels and thumbnails, or cells: turns of a chat.
  struct Band {
    std::string name;
    std::uint32_t first = 0, end = 0;
    Rgb color{};  ///< mixed with the ground
  };
  std::vector<Band> bands = {};
};

/// One matrix as a figure for a paper: title, settings, cells, tokens on both axes, colour bar, numbers where they fit.
/// Masked cells are hatched, rows without weights say so.
struct HeatmapFigure {
  std::string title;
  std::string subtitle;  ///< the settings, one or more lines; long ones are wrapped
  FigureMap map;
  FigureAxis rows;
  FigureAxis columns;
  std::vector<std::string> texts = {};  ///< [row, column] in the cells in place of their numbers, cut to fit; empty: none
  std::string value_title = "attention weight";  ///< of the colour bar
  std::string masked_title = "masked";           ///< of the hatched swatch
  bool marks_empty_rows = true;                  ///< weights: rows that are fully masked under −inf say "no weights"
  FigureStyle style;
  std::string session = {};  ///< metadata from which it can be made again; empty: none
};

/// Several matrices that share one scale: all heads of a layer.
struct ContactSheet {
  struct Panel {
    std::string title;  ///< "head 3"
    FigureMap map;
  };

  std::string title;
  std::string subtitle;
  std::vector<Panel> panels;  ///< at least one, all of the same size
  std::size_t across = 0;     ///< panels in a row; 0: near a square
  std::string row_title = "query";
  std::string column_title = "key";
  std::string value_title = "attention weight";
  std::string masked_title = "masked";
  FigureStyle style;
  std::string session = {};
};

/// Bytes of a file. Maps of more than 2,000 cells are pooled to fit and the subtitle says so. In vector formats up to
/// 64 × 64 cells are rectangles, more an embedded image; text stays text. Throw Error in one line when values don't fill a
/// map or the image is too large.
std::string encode(const HeatmapFigure& figure, DrawingFormat format);
std::string encode(const ContactSheet& sheet, DrawingFormat format);

/// Lays the figure out for a file of this format. encode() of the drawing gives the same bytes as encode() of the
/// figure.
std::unique_ptr<Drawing> make_drawing(HeatmapFigure figure, DrawingFormat format);
std::unique_ptr<Drawing> make_drawing(ContactSheet sheet, DrawingFormat format);

}  // namespace headlight::exporting
