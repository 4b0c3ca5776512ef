#pragma once

#include <algorithm>
#include <cmath>

#include "chart/color.h"
#include "chart/viewport.h"
#include "files/image.h"

namespace headlight::exporting {

using chart::Rect;
using chart::Rgb;
using files::encode_png;
using files::Pixels;

/// The letters of a figure. Serif: those of LaTeX, Latin Modern, where they are installed.
enum class FigureFont : std::uint8_t { Sans, Serif };

enum class TextAlign : std::uint8_t { Start, Middle, End };

struct TextStyle {
  float size = 11.0F;  ///< em, in units of the canvas
  bool is_bold = false;
  bool is_italic = false;
  Rgb color{};
  TextAlign align = TextAlign::Start;
  float degrees = 0.0F;  ///< counter-clockwise around the anchor
};

/// The distance from the baseline up to the middle of a capital letter, in ems: text whose baseline is this much below
/// a point looks centred on it.
inline constexpr float kHalfCapital = 0.36F;

/// The target that a figure is drawn on. y grows downwards; one unit is 1/96 inch on paper.
class Canvas {
 public:
  virtual ~Canvas() = default;

  virtual void fill(Rect rect, Rgb color) = 0;
  virtual void frame(Rect rect, Rgb color, float width) = 0;
  virtual void line(glm::vec2 from, glm::vec2 to, Rgb color, float width) = 0;
  /// Diagonal stripes, continuous across the rectangles; the ground between them is kept.
  virtual void hatch(std::span<const Rect> rects, Rgb stripe) = 0;
  /// Draws every value as a sharp-edged cell.
  virtual void image(Rect rect, const Pixels& pixels) = 0;
  /// `anchor` is on the baseline, at the start, middle or end of the text.
  virtual void text(glm::vec2 anchor, std::string_view text, const TextStyle& style) = 0;
};

/// Distance of the stripes of Canvas::hatch() along both axes, and their width.
inline constexpr float kHatchPeriod = 6.0F;
inline constexpr float kHatchWidth = 1.1F;

/// Returns the colour of `color` over `paper` at this opacity, 0 … 1: figures have no transparent colours.
inline Rgb mixed(Rgb paper, Rgb color, float opacity) {
  const float part = std::clamp(opacity, 0.0F, 1.0F);
  const auto channel = [part](std::uint8_t below, std::uint8_t above) {
    const float value = static_cast<float>(below) + (static_cast<float>(above) - static_cast<float>(below)) * part;
    return static_cast<std::uint8_t>(std::lround(value));
  };
  return {channel(paper.r, color.r), channel(paper.g, color.g), channel(paper.b, color.b)};
}

}  // namespace headlight::exporting
