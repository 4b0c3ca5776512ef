#pragma once

#include <string>

#include "export/canvas.h"
#include "export/drawing.h"

namespace headlight::exporting {

/// Writes SVG 1.1 with text as text and cells as rectangles, so that labels can be selected, searched and edited.
class SvgCanvas : public Canvas {
 public:
  /// The output's title is read by screen readers and shown by browsers.
  SvgCanvas(float width, float height, const DrawingOutput& output);

  void fill(Rect rect, Rgb color) override;
  void frame(Rect rect, Rgb color, float width) override;
  void line(glm::vec2 from, glm::vec2 to, Rgb color, float width) override;
  void hatch(std::span<const Rect> rects, Rgb stripe) override;
  void image(Rect rect, const Pixels& pixels) override;
  void text(glm::vec2 anchor, std::string_view text, const TextStyle& style) override;

  /// The whole document.
  std::string finish() const;

 private:
  std::string head_;
  std::string definitions_;
  std::string body_;
};

}  // namespace headlight::exporting
