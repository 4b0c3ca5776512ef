#include "shell/text_marks.h"

#include <algorithm>
#include <cmath>

#include "imgui_internal.h"

namespace headlight::shell {
namespace {

constexpr std::uint32_t kTint = 0x58;  // of 255: the text stays readable below

/// ImGui's state of a field, while it is the one being edited.
const ImGuiInputTextState* editing_state(ImGuiID field) {
  return ImGui::GetActiveID() == field ? ImGui::GetInputTextState(field) : nullptr;
}

}  // namespace

TextLines::TextLines(const std::string& text, ImGuiID field) : text_(text), field_(field) {
  // A field of several lines is the child window drawn last.
  const ImGuiWindow* window = ImGui::GetCurrentWindow();
  if (window->DC.ChildWindows.empty()) return;
  ImGuiWindow* child = window->DC.ChildWindows.back();
  const ImVec2 padding = ImGui::GetStyle().FramePadding;
  const ImGuiInputTextState* state = editing_state(field);
  list_ = child->DrawList;
  origin_ = {child->DC.CursorStartPos.x + padding.x - (state ? state->ScrollX : 0.0F),
             child->DC.CursorStartPos.y + padding.y};
  low_ = child->InnerRect.Min;
  high_ = child->InnerRect.Max;
  is_hovered_ = ImGui::IsMouseHoveringRect(low_, high_) && !ImGui::GetIO().MouseDown[0] &&
                (GImGui->HoveredWindow == child || GImGui->HoveredWindow == window);
}

float TextLines::x_of(std::size_t line_begin, std::size_t byte) const {
  return ImGui::CalcTextSize(text_.data() + line_begin, text_.data() + byte).x;
}

void TextLines::draw(std::span<const TextMark> marks) const {
  if (list_ == nullptr || marks.empty()) return;
  const float height = ImGui::GetTextLineHeight();
  list_->PushClipRect(low_, high_);
  float y = origin_.y;
  for (std::size_t begin = 0; begin <= text_.size(); y += height) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    for (const TextMark& mark : marks) {
      const std::size_t first = std::max(mark.begin, begin);
      const std::size_t last = std::min(mark.end, end);
      if (first >= last || y + height < low_.y || y > high_.y) continue;
      list_->AddRectFilled({origin_.x + x_of(begin, first), y}, {origin_.x + x_of(begin, last), y + height},
                           with_alpha(mark.color, kTint), 3.0F);
    }
    begin = end + 1;
  }
  list_->PopClipRect();
}

TextPointer TextLines::pointer() const {
  TextPointer pointer;
  if (const ImGuiInputTextState* state = editing_state(field_)) {
    // ImGui counts UTF-16 or UTF-32 units.
    const int caret = std::clamp(state->Stb.cursor, 0, state->CurLenW);
    const ImWchar* wide = state->TextW.Data;
    pointer.caret = static_cast<std::size_t>(ImTextCountUtf8BytesFromStr(wide, wide + caret));
  }
  if (list_ == nullptr || !is_hovered_) return pointer;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float line = std::floor((mouse.y - origin_.y) / ImGui::GetTextLineHeight());
  if (line < 0.0F || mouse.x < origin_.x) return pointer;
  std::size_t begin = 0;
  for (int i = 0; i < static_cast<int>(line); ++i) {
    const std::size_t end = text_.find('\n', begin);
    if (end == std::string::npos) return pointer;
    begin = end + 1;
  }
  const std::size_t end = std::min(text_.find('\n', begin), text_.size());
  const ImFont* font = ImGui::GetFont();
  const char* stop = text_.data() + end;
  // The first character that isn't wholly left of the pointer.
  const char* rest = nullptr;
  font->CalcTextSizeA(ImGui::GetFontSize(), mouse.x - origin_.x, 0.0F, text_.data() + begin, stop, &rest);
  if (rest != nullptr && rest < stop) pointer.hovered = static_cast<std::size_t>(rest - text_.data());
  return pointer;
}

}  // namespace headlight::shell
