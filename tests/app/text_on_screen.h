#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <glm/vec2.hpp>

#include "chart/viewport.h"

namespace headlight::app {

/// A character as Dear ImGui's newest frame draws it.
struct DrawnGlyph {
  std::vector<glm::vec2> outline = {};  ///< its quad inside of the clip rectangle, in pixels; a convex polygon
  float area = 0.0F;                    ///< of the whole quad
  glm::vec2 clip_low = {}, clip_high = {};
  glm::vec2 low = {}, high = {};  ///< the box around the whole quad
  std::size_t number = 0;         ///< in the order of drawing, of all glyphs
  std::string text = {};          ///< UTF-8
};

/// All glyphs of the newest frame whose clip rectangle shows some of them, back to front. Reads ImGui::GetDrawData(), so it
/// is called after a frame and before the next.
std::vector<DrawnGlyph> glyphs_on_screen();

/// Returns the text of the newest frame within the rectangle: a space between words, a newline between lines.
std::string text_on_screen(const chart::Rect& within = {.origin = glm::vec2(-1e6F), .size = glm::vec2(2e6F)});

/// Returns all of that frame's text without its spaces, in the order of drawing.
std::string letters_on_screen();

/// Returns the line of text that a glyph is in, for messages: the glyphs drawn before and after it.
std::string text_around(std::span<const DrawnGlyph> glyphs, std::size_t at);

/// Pairs of glyphs, as indices of the span, that cover each other by more than `share` of the smaller one's quad. Glyphs
/// that are drawn one after the other don't count: accents, and characters with negative bearing.
std::vector<std::array<std::size_t, 2>> overlapping(std::span<const DrawnGlyph> glyphs, float share);

/// Glyphs, as indices of the span, of which the left or right border of the clip rectangle hides more than `share`.
std::vector<std::size_t> cut_at_the_side(std::span<const DrawnGlyph> glyphs, float share);

}  // namespace headlight::app
