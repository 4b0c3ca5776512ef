#pragma once

#include <imgui.h>

#include "app/frame.h"
#include "export/canvas.h"

namespace headlight::app {

/// Draws an exported figure into the current window, smaller than on paper: what it looks like, not a file.
class PreviewCanvas final : public exporting::Canvas {
 public:
  /// `corner`: of the figure on screen; `scale`: UI units a unit of the figure.
  PreviewCanvas(Frame& frame, glm::vec2 corner, float scale);

  void fill(exporting::Rect rect, exporting::Rgb color) override;
  void frame(exporting::Rect rect, exporting::Rgb color, float width) override;
  void line(glm::vec2 from, glm::vec2 to, exporting::Rgb color, float width) override;
  void hatch(std::span<const exporting::Rect> rects, exporting::Rgb stripe) override;
  /// Of large images every few pixels.
  void image(exporting::Rect rect, const exporting::Pixels& pixels) override;
  void text(glm::vec2 anchor, std::string_view text, const exporting::TextStyle& style) override;

 private:
  ImVec2 place(glm::vec2 point) const { return {corner_.x + point.x * scale_, corner_.y + point.y * scale_}; }

  ImDrawList* list_;
  ImFont* font_;
  ImFont* bold_font_;
  glm::vec2 corner_;
  float scale_;
};

}  // namespace headlight::app
