#include "app/window/splitter.h"

#include "app/shell/click_area.h"
#include "app/widgets/text.h"

namespace headlight::app {
namespace {

constexpr float kDragStart = 1.0F;  // by so much the pointer moves before a splitter follows it

}  // namespace

SplitterUse use_splitter(const char* name, const chart::Rect& strip, shell::Color color, shell::Color hot) {
  if (strip.is_empty()) return {};
  ImGui::SetNextWindowPos(strip.origin);
  ImGui::SetNextWindowSize(strip.size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0.0F, 0.0F));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(1.0F, 1.0F));
  // Windows that are never brought to the front are drawn before all others by ImGui; a strip covers the panes.
  ImGui::Begin(name, nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar(2);
  click_area("##strip", strip.size);
  const bool is_dragged = ImGui::IsItemActive();
  const bool is_hovered = ImGui::IsItemHovered() || is_dragged;
  const int across = strip.size.x < strip.size.y ? 0 : 1;
  if (is_hovered) ImGui::SetMouseCursor(across == 0 ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
  const float middle = std::round(strip.center()[across]), half = is_hovered ? 1.0F : 0.5F;
  glm::vec2 low = strip.origin, high = strip.end();
  low[across] = middle - half;
  high[across] = middle + half;
  fill_rect(low, high, is_hovered ? hot : color);
  const bool is_reset = is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
  ImGui::End();
  // A press alone moves nothing, and the second click of a double click takes back what the first did.
  const bool is_moved = is_dragged && !is_reset && ImGui::IsMouseDragging(ImGuiMouseButton_Left, kDragStart);
  return {.dragged_to = is_moved ? std::optional(to_glm(ImGui::GetIO().MousePos)) : std::nullopt,
          .is_double_clicked = is_reset};
}

}  // namespace headlight::app
