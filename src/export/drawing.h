#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "export/canvas.h"
#include "export/figure_parts.h"

namespace headlight::exporting {

/// What a file says and shows besides its drawing.
struct DrawingOutput {
  std::string title = {};
  std::string description = {};    ///< what readers of the file's metadata should know besides; may be empty
  std::optional<Rgb> ground = {};  ///< none: transparent
  double png_scale = 2.0;          ///< pixels a unit
  FigureFont font = FigureFont::Sans;
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

 protected:
  Drawing() = default;
  Drawing(const Drawing&) = default;
  Drawing& operator=(const Drawing&) = default;
};

/// The drawing with a line of text under it, wrapped to its width, which its metadata has as well. As it is where the note
/// is empty. Not `is_shown`: in the metadata alone.
std::unique_ptr<Drawing> with_note(std::unique_ptr<Drawing> drawing, std::string note, bool is_dark, bool is_shown = true);

enum class DrawingFormat : std::uint8_t { Svg, Pdf, Png };

/// The longest side that a format allows: pixels of a PNG, units of a PDF's page and of an SVG.
double largest_edge(DrawingFormat format);

/// By the ending of a file's name; nullopt for any other.
std::optional<DrawingFormat> drawing_format(const std::filesystem::path& path);

/// The bytes of a file: of an SVG with text as text, of a PDF of one page with its fonts, of a PNG.
/// Throws Error in one line when the figure is too large for a format.
std::string encode(const Drawing& drawing, DrawingFormat format);
/// The same of whatever draws itself in `size` units.
std::string encode(glm::vec2 size, const DrawingOutput& output, DrawingFormat format,
                   const std::function<void(Canvas& canvas)>& draw);

/// A PDF of several pages of one size, each of which draws itself.
std::string encode_pages(glm::vec2 size, const DrawingOutput& output,
                         const std::vector<std::function<void(Canvas& canvas)>>& pages);

}  // namespace headlight::exporting
