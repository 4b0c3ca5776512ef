#pragma once

#include <glm/common.hpp>
#include <glm/vec2.hpp>
#include <glm/vector_relational.hpp>

namespace headlight::view {

/// A rectangle whose y grows downwards; the unit is the caller's: UI units in the window, 1/96 inch in a figure.
struct Rect {
  glm::vec2 origin{0.0F};  ///< the top left corner
  glm::vec2 size{0.0F};    ///< width and height

  /// The bottom right corner.
  glm::vec2 end() const { return origin + size; }
  glm::vec2 center() const { return origin + size * 0.5F; }
  bool is_empty() const { return !glm::all(glm::greaterThan(size, glm::vec2(0.0F))); }
  /// Is the point inside? The left and the upper edge are, the right and the lower one aren't.
  bool contains(glm::vec2 point) const {
    return glm::all(glm::greaterThanEqual(point, origin)) && glm::all(glm::lessThan(point, end()));
  }

  bool operator==(const Rect&) const = default;
};

/// Returns the area that two rectangles share; of size 0 where they share nothing.
inline Rect intersection(const Rect& a, const Rect& b) {
  const glm::vec2 low = glm::max(a.origin, b.origin);
  return {low, glm::max(glm::vec2(0.0F), glm::min(a.end(), b.end()) - low)};
}

}  // namespace headlight::view
