#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/shell/ui.h"
#include "imgui.h"
#include "imgui_internal.h"

namespace headlight::shell {

/// The lines of a multi-line field, as ImGui lays them out in the field's child window: from bytes of the shown text to
/// positions and back.
class TextLines {
 public:
  TextLines(const std::string& shown, ImGuiWindow& window);

  /// Draws lines that need shaping again, correctly, over ImGui's: letters joined, from right to left and at the right edge
  /// for right-to-left scripts. While a text is edited, the caret moves in ImGui's own order,
  /// so this is for fields without the keyboard. Afterwards such lines have no marks and no bytes under the mouse.
  void draw_shaped(const std::function<std::string(std::string_view line)>& shape);
  /// Tints bytes, over the text.
  void draw(std::span<const TextMark> marks) const;
  /// The byte under the mouse.
  std::optional<std::size_t> hovered() const;

 private:
  /// The distance of a byte from the line's start.
  float x_of(std::size_t line_begin, std::size_t byte) const;
  bool is_shaped(std::size_t line_begin, std::size_t line_end) const;

  const std::string& text_;
  ImDrawList* list_;
  ImVec2 origin_;      ///< of the first character
  ImVec2 low_, high_;  ///< the visible part of the field
  bool is_hovered_ = false;
  bool shapes_ = false;
};

}  // namespace headlight::shell
