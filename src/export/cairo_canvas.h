#pragma once

#include <optional>
#include <string>

#include "export/canvas.h"
#include "export/pango_text.h"
#include "export/pixels_png.h"

namespace headlight::exporting {

inline constexpr double kLargestImage = 32'767.0;  ///< pixels along a side, of cairo

/// Draws with antialiased text and sharp cells into pixels.
class CairoCanvas : public Canvas {
 public:
  /// width × height units at `scale` pixels each, filled with `paper`, if any. Throws Error beyond cairo's 32,767 pixels and
  /// when memory is exhausted.
  CairoCanvas(float width, float height, double scale, std::optional<Rgb> paper, FigureFont font = FigureFont::Sans);

  void fill(Rect rect, Rgb color) override;
  void frame(Rect rect, Rgb color, float width) override;
  void line(glm::vec2 from, glm::vec2 to, Rgb color, float width) override;
  void hatch(std::span<const Rect> rects, Rgb stripe) override;
  void image(Rect rect, const Pixels& pixels) override;
  void text(glm::vec2 anchor, std::string_view text, const TextStyle& style) override;

  std::string encode_png() const;

 protected:
  /// Draws on any surface, at `scale` of its units each.
  CairoCanvas(Surface surface, double scale, std::optional<Rgb> paper, FigureFont font);
  /// Of a document: what is drawn from now on is on another page.
  void end_page();
  /// Completes a surface of a document. Returns what went wrong; empty: nothing.
  std::string end_surface();

 private:
  void set_color(Rgb color);

  double scale_;
  FigureFont font_;
  Surface surface_;
  CairoContext cairo_;
  Layout layout_;
};

}  // namespace headlight::exporting
