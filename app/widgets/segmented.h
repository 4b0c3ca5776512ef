#pragma once

#include <span>
#include <string>

#include "app/frame.h"

namespace headlight::app {

/// Left and right of a label.
inline constexpr float kSegmentPadding = 10.0F;

/// A row of joined buttons as wide as their labels, one of which is chosen: "scores | scaled | masked | weights". Returns
/// true when the user chose another one. Each button is marked for tests: "name.0", "name.1", ….
bool draw_segmented(Frame& frame, const char* name, std::span<const std::string> labels, std::size_t& chosen,
                    float padding = kSegmentPadding);
/// The same for a choice that is an enumeration or a switch.
template <typename Choice>
bool draw_segmented(Frame& frame, const char* name, std::span<const std::string> labels, Choice& chosen,
                    float padding = kSegmentPadding) {
  auto index = static_cast<std::size_t>(chosen);
  const bool has_changed = draw_segmented(frame, name, labels, index, padding);
  chosen = static_cast<Choice>(index);
  return has_changed;
}
/// Its width in UI units, to place it before drawing.
float segmented_width(const Frame& frame, std::span<const std::string> labels, float padding = kSegmentPadding);

}  // namespace headlight::app
