#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "imgui.h"
#include "imgui_internal.h"
#include "shell/ui.h"

namespace headlight::shell {

/// The lines of a field of several lines, as ImGui lays them out in the field's child window: where bytes of what is shown
/// are, and which byte is where.
class TextLines {
 public:
  TextLines(const std::string& shown, ImGuiWindow& window);

  /// Tints bytes, over the text.
  void draw(std::span<const TextMark> marks) const;
  /// The byte under the mouse.
  std::optional<std::size_t> hovered() const;

 private:
  /// How far right of the line's beginning a byte is.
  float x_of(std::size_t line_begin, std::size_t byte) const;

  const std::string& text_;
  ImDrawList* list_;
  ImVec2 origin_;      ///< of the first character
  ImVec2 low_, high_;  ///< what is seen of the field
  bool is_hovered_ = false;
};

}  // namespace headlight::shell
