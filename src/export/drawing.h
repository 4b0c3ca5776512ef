#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "export/canvas.h"

namespace headlight::exporting {

struct FigureStyle;

/// The properties of a file besides its drawing: metadata, ground, scale and font.
struct DrawingOutput {
  std::string title = {};
  std::string description = {};    ///< what readers of the file's metadata should know besides; may be empty
  std::optional<Rgb> ground = {};  ///< none: transparent
  double png_scale = 2.0;          ///< pixels a unit
  FigureFont font = FigureFont::Sans;
  float margin = 0.0F;       ///< units around what is drawn
  std::string session = {};  ///< metadata that figure_session.h reads; empty: none
};

/// A figure that is laid out and can be drawn on any canvas.
class Drawing {
 public:
  virtual ~Drawing() = default;
  /// Width and height, units of 1/96 inch.
  virtual glm::vec2 size() const = 0;
  virtual DrawingOutput output() const = 0;
  virtual void draw(Canvas& canvas) const = 0;
  /// Returns the drawing in words and numbers, as Markdown: for screen readers, issues and language models.
  virtual std::string text() const = 0;
  /// Names what a reader would miss in the drawing, and the flag that shows it; empty: nothing.
  virtual std::string note() const { return {}; }
  /// Lays the same figure out anew: colours of cells and their scale stay, all else of the style is the page's. An empty
  /// title: it keeps its own. Reads nothing but what the figure was made from, so that another thread may call it.
  virtual std::unique_ptr<Drawing> on_page(const FigureStyle& page, const std::string& title) const = 0;

 protected:
  Drawing() = default;
  Drawing(const Drawing&) = default;
  Drawing& operator=(const Drawing&) = default;
};

/// The drawing with a line of text under it, wrapped to its width, which its metadata has as well. As it is where the note
/// is empty. Not `is_shown`: in the metadata alone.
std::unique_ptr<Drawing> with_note(std::unique_ptr<Drawing> drawing, std::string note, bool is_dark, bool is_shown = true);

/// A line for each thing that a reader misses in a figure: Drawing::note(), and characters that no font has.
std::vector<std::string> notes_of(const Drawing& drawing);

enum class DrawingFormat : std::uint8_t { Svg, Pdf, Png };

/// The longest side that a format allows: pixels of a PNG, units of a PDF's page and of an SVG.
double largest_edge(DrawingFormat format);

/// Returns the format of a file by the ending of its name; nullopt for any other ending.
std::optional<DrawingFormat> drawing_format(const std::filesystem::path& path);

using Draw = std::function<void(Canvas& canvas)>;

/// Paints what draw_png() encodes. Where there is no ground, squares of two greys show through.
Pixels draw_pixels(glm::vec2 size, const DrawingOutput& output, const Draw& draw);

/// Returns the bytes of a file with the drawing of `draw`, in `size` units of 1/96 inch. All these functions throw
/// Error in one line where it is too large for the format, or memory is exhausted.
std::string draw_png(glm::vec2 size, const DrawingOutput& output, const Draw& draw);
/// Lines stay lines, text is selectable and has its fonts embedded.
std::string draw_pdf(glm::vec2 size, const DrawingOutput& output, std::span<const Draw> pages);
/// SVG 1.1 with text as text and cells as rectangles, so that labels can be selected, searched and edited.
std::string draw_svg(glm::vec2 size, const DrawingOutput& output, const Draw& draw);

inline constexpr double kPointsPerUnit = 72.0 / 96.0;
inline constexpr double kMaxPoints = 14'400.0;  ///< along a side of a PDF's page, by the format

std::string encode(glm::vec2 size, const DrawingOutput& output, DrawingFormat format, const Draw& draw);
std::string encode(const Drawing& drawing, DrawingFormat format);

}  // namespace headlight::exporting
