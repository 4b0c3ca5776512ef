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

/// The lines of a field of several lines, as ImGui lays them out in the field's child window: where bytes of what is shown
/// are, and which byte is where.
class TextLines {
 public:
  TextLines(const std::string& shown, ImGuiWindow& window);

  /// Draws lines that need shaping anew, as a reader expects them, over what ImGui drew: letters joined, from right to left
  /// and at the right edge where the script goes that way. While a text is edited, ImGui's own order is what the caret moves
  /// in, so this is for fields without the keyboard. From now on such lines have no marks and no bytes under the mouse.
  void draw_shaped(const std::function<std::string(std::string_view line)>& shape);
  /// Tints bytes, over the text.
  void draw(std::span<const TextMark> marks) const;
  /// The byte under the mouse.
  std::optional<std::size_t> hovered() const;

 private:
  /// How far right of the line's beginning a byte is.
  float x_of(std::size_t line_begin, std::size_t byte) const;
  bool is_shaped(std::size_t line_begin, std::size_t line_end) const;

  const std::string& text_;
  ImDrawList* list_;
  ImVec2 origin_;      ///< of the first character
  ImVec2 low_, high_;  ///< what is seen of the field
  bool is_hovered_ = false;
  bool shapes_ = false;
};

}  // namespace headlight::shell
