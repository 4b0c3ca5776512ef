#include "app/shell/text_marks.h"

#include <algorithm>
#include <cmath>

#include "app/shell/shaped_text.h"

namespace headlight::shell {
namespace {

constexpr std::uint32_t kTint = 0x58;  // of 255: the text stays readable below

}  // namespace

TextLines::TextLines(const std::string& shown, ImGuiWindow& window) : text_(shown), list_(window.DrawList) {
  const ImVec2 padding = ImGui::GetStyle().FramePadding;
  origin_ = {window.DC.CursorStartPos.x + padding.x, window.DC.CursorStartPos.y + padding.y};
  low_ = window.InnerRect.Min;
  high_ = window.InnerRect.Max;
  is_hovered_ = ImGui::IsMouseHoveringRect(low_, high_) && !ImGui::GetIO().MouseDown[0] &&
                (GImGui->HoveredWindow == &window || GImGui->HoveredWindow == ImGui::GetCurrentWindow());
}

float TextLines::x_of(std::size_t line_begin, std::size_t byte) const {
  return ImGui::CalcTextSize(text_.data() + line_begin, text_.data() + byte).x;
}

bool TextLines::is_shaped(std::size_t line_begin, std::size_t line_end) const {
  return shapes_ && needs_shaping(std::string_view(text_).substr(line_begin, line_end - line_begin));
}

void TextLines::draw_shaped(const std::function<std::string(std::string_view)>& shape) {
  shapes_ = true;
  const float height = ImGui::GetTextLineHeight();
  const float margin = origin_.x - low_.x;
  list_->PushClipRect(low_, high_);
  float y = origin_.y;
  for (std::size_t begin = 0; begin <= text_.size(); y += height) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    const std::string_view line = std::string_view(text_).substr(begin, end - begin);
    begin = end + 1;
    if (y + height < low_.y || y > high_.y || !needs_shaping(line)) continue;
    const std::string shaped = shape(line);
    list_->AddRectFilled({low_.x + 1.0F, y}, {high_.x - 1.0F, y + height}, ImGui::GetColorU32(ImGuiCol_FrameBg));
    const float x = is_right_to_left(line) ? high_.x - margin - ImGui::CalcTextSize(shaped.c_str()).x : origin_.x;
    list_->AddText({x, y}, ImGui::GetColorU32(ImGuiCol_Text), shaped.c_str());
  }
  list_->PopClipRect();
}

void TextLines::draw(std::span<const TextMark> marks) const {
  if (marks.empty()) return;
  const float height = ImGui::GetTextLineHeight();
  list_->PushClipRect(low_, high_);
  float y = origin_.y;
  for (std::size_t begin = 0; begin <= text_.size(); y += height) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    for (const TextMark& mark : is_shaped(begin, end) ? std::span<const TextMark>() : marks) {
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

std::optional<std::size_t> TextLines::hovered() const {
  if (!is_hovered_) return std::nullopt;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float line = std::floor((mouse.y - origin_.y) / ImGui::GetTextLineHeight());
  if (line < 0.0F || mouse.x < origin_.x) return std::nullopt;
  std::size_t begin = 0;
  for (int i = 0; i < static_cast<int>(line); ++i) {
    const std::size_t end = text_.find('\n', begin);
    if (end == std::string::npos) return std::nullopt;
    begin = end + 1;
  }
  const std::size_t end = std::min(text_.find('\n', begin), text_.size());
  if (is_shaped(begin, end)) return std::nullopt;
  const ImFont* font = ImGui::GetFont();
  const char* stop = text_.data() + end;
  // The first character that isn't entirely left of the pointer.
  const char* rest = nullptr;
  font->CalcTextSizeA(ImGui::GetFontSize(), mouse.x - origin_.x, 0.0F, text_.data() + begin, stop, &rest);
  if (rest == nullptr || rest >= stop) return std::nullopt;
  return static_cast<std::size_t>(rest - text_.data());
}

}  // namespace headlight::shell
