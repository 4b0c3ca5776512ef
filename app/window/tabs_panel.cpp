#include "app/window/tabs_panel.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "app/views/view_table.h"
#include "app/widgets/ink.h"

namespace headlight::app {
namespace {

constexpr float kLeft = 16.0F;
constexpr float kGap = 24.0F;

/// Draws a tab at `x` and returns where the next one begins.
float draw_tab(Frame& frame, const View& view, float x) {
  const shell::Theme& theme = frame.ui.theme();
  const bool is_shown = &find_view(frame.state.view.tab) == &view;
  const std::string title(view.title);
  const std::string name = fmt::format("tab.{}", view.id);
  ImFont* font = is_shown ? frame.ui.fonts().strong : frame.ui.fonts().body;
  // As wide as in the heavier font, so that nothing moves when the tab changes.
  const float width = std::ceil(frame.ui.fonts().strong->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, title.c_str()).x);
  const float height = ImGui::GetWindowHeight();
  ImGui::SetCursorPos({x - kGap * 0.5F, 0.0F});
  if (ImGui::InvisibleButton(name.c_str(), {width + kGap, height})) frame.state.view.tab = view.id;
  mark_last_item(frame, name, std::string(view.help).c_str());
  const bool is_hovered = ImGui::IsItemHovered();
  const ImVec2 origin = ImGui::GetWindowPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddText(font, font_size(font), {origin.x + x, origin.y + std::round((height - font_size(font)) * 0.5F)},
                is_shown || is_hovered ? theme.text : theme.text_dim, title.c_str());
  if (is_shown) {
    list->AddRectFilled({origin.x + x, origin.y + height - 3.0F}, {origin.x + x + width, origin.y + height}, theme.accent,
                        1.5F);
  }
  return x + width + kGap;
}

}  // namespace

void draw_tabs_panel(Frame& frame, float left_inset, float right_inset) {
  const shell::Theme& theme = frame.ui.theme();
  float end = kLeft + left_inset;
  for (const View& view : views()) end = draw_tab(frame, view, end);
  const ImVec2 origin = ImGui::GetWindowPos();
  const float width = ImGui::GetWindowWidth();
  const float height = ImGui::GetWindowHeight();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool is_stale = frame.result.is_stale && frame.result.run != 0;
  list->AddLine({origin.x, origin.y + height - 0.5F}, {origin.x + width, origin.y + height - 0.5F},
                is_stale ? theme.warning : theme.border);
  if (!is_stale) return;
  ImFont* font = frame.ui.fonts().small;
  const char* text = "Not up to date: this is the last map that could be computed";
  const float text_width = font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, text).x;
  const float left = std::max(end, width - kLeft - right_inset - std::ceil(text_width));
  list->AddText(font, font_size(font), {origin.x + left, origin.y + std::round((height - font_size(font)) * 0.5F)},
                theme.warning, text);
  frame.mark("tabs.stale", {.origin = {origin.x + left, origin.y}, .size = {text_width, height}});
}

}  // namespace headlight::app
