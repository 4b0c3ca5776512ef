#pragma once

#include <span>
#include <string>

#include "imgui.h"
#include "shell/ui.h"

namespace headlight::shell {

/// The lines of the field of several lines that was drawn last, as ImGui lays them out: where bytes stand, and which byte
/// stands where. Lines aren't wrapped.
class TextLines {
 public:
  TextLines(const std::string& text, ImGuiID field);

  /// Tints bytes, over the text.
  void draw(std::span<const TextMark> marks) const;
  TextPointer pointer() const;

 private:
  /// How far right of the line's beginning a byte stands.
  float x_of(std::size_t line_begin, std::size_t byte) const;

  const std::string& text_;
  ImGuiID field_;
  ImDrawList* list_ = nullptr;
  ImVec2 origin_;      ///< of the first character
  ImVec2 low_, high_;  ///< what is seen of the field
  bool is_hovered_ = false;
};

}  // namespace headlight::shell
