#include "app/window/tabs_panel.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/shell/click_area.h"
#include "app/views/view_table.h"
#include "app/widgets/ink.h"

namespace headlight::app {
namespace {

constexpr float kLeft = 16.0F;
constexpr float kGap = 24.0F;
constexpr float kLeastGap = 12.0F;
constexpr float kMoreWidth = 34.0F;  // of the button behind the last tab, for those that don't fit

/// As wide as in the heavier font, so that nothing moves when the tab changes.
float width_of(const Frame& frame, const View& view) {
  const ImFont* font = frame.ui.fonts().strong;
  return std::ceil(font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, std::string(view.title).c_str()).x);
}

/// Which tabs are drawn, and how far apart: all of them where there is room, else the first ones and the shown one.
struct TabRow {
  std::vector<const View*> drawn, hidden;
  float gap = kGap;
};

TabRow lay_out(const Frame& frame, float room) {
  TabRow row;
  float widths = 0.0F;
  for (const View& view : views()) widths += width_of(frame, view);
  const auto count = static_cast<float>(views().size());
  row.gap = std::clamp(std::floor((room - widths) / count), kLeastGap, kGap);
  const bool fits = widths + count * row.gap <= room;
  const View& shown = find_view(frame.state.view.tab);
  float left = fits ? room : room - kMoreWidth - width_of(frame, shown) - row.gap;
  for (const View& view : views()) {
    const float needed = width_of(frame, view) + row.gap;
    const bool is_shown = &view == &shown;  // whose room is kept
    const bool is_drawn = fits || is_shown || (row.hidden.empty() && needed <= left);
    (is_drawn ? row.drawn : row.hidden).push_back(&view);
    if (is_drawn && !is_shown) left -= needed;
  }
  return row;
}

/// Draws a tab at `x` and returns where the next one begins.
float draw_tab(Frame& frame, const View& view, float x, float gap) {
  const shell::Theme& theme = frame.ui.theme();
  const bool is_shown = &find_view(frame.state.view.tab) == &view;
  const std::string title(view.title);
  const std::string name = fmt::format("tab.{}", view.id);
  ImFont* font = is_shown ? frame.ui.fonts().strong : frame.ui.fonts().body;
  const float width = width_of(frame, view);
  const float height = ImGui::GetWindowHeight();
  ImGui::SetCursorPos({x - gap * 0.5F, 0.0F});
  if (click_area(name.c_str(), {width + gap, height})) frame.state.view.tab = view.id;
  mark_last_item(frame, name, std::string(view.help).c_str());
  if (is_shown) frame.ui.keyboard().prefer_last();
  const bool is_hovered = ImGui::IsItemHovered();
  const ImVec2 origin = ImGui::GetWindowPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddText(font, font_size(font), {origin.x + x, origin.y + std::round((height - font_size(font)) * 0.5F)},
                is_shown || is_hovered ? theme.text : theme.text_dim, title.c_str());
  if (is_shown) {
    list->AddRectFilled({origin.x + x, origin.y + height - 3.0F}, {origin.x + x + width, origin.y + height}, theme.accent,
                        1.5F);
  }
  return x + width + gap;
}

/// A button whose menu has the tabs that don't fit. Returns where the next thing begins.
float draw_hidden_tabs(Frame& frame, const std::vector<const View*>& hidden, float x, float gap) {
  const shell::Theme& theme = frame.ui.theme();
  const float height = ImGui::GetWindowHeight();
  ImGui::SetCursorPos({x - gap * 0.5F, 0.0F});
  if (click_area("tabs.more", {kMoreWidth, height})) ImGui::OpenPopup("hidden tabs");
  mark_last_item(frame, "tabs.more", "The other views: the window is too narrow for their tabs.");
  const glm::vec2 middle = last_item_rect().center();
  const shell::Color ink = ImGui::IsItemHovered() ? theme.text : theme.text_dim;
  for (const float across : {-6.0F, 0.0F, 6.0F}) {
    ImGui::GetWindowDrawList()->AddCircleFilled({middle.x + across, middle.y}, 1.75F, ink);
  }
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(8.0F, 8.0F));
  open_below_last_item(frame);
  if (ImGui::BeginPopup("hidden tabs")) {
    for (const View* view : hidden) {
      if (ImGui::MenuItem(std::string(view->title).c_str(), std::string(view->key.text).c_str())) {
        frame.state.view.tab = view->id;
      }
      mark_last_item(frame, fmt::format("tab.{}", view->id), std::string(view->help).c_str());
    }
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
  return x + kMoreWidth;
}

}  // namespace

void draw_tabs_panel(Frame& frame, float left_inset, float right_inset) {
  const shell::Theme& theme = frame.ui.theme();
  float end = kLeft + left_inset;
  const TabRow row = lay_out(frame, ImGui::GetWindowWidth() - end - right_inset);
  {
    const shell::ControlGroup group(frame.ui.keyboard(), "tabs");
    for (const View* view : row.drawn) end = draw_tab(frame, *view, end, row.gap);
  }
  if (!row.hidden.empty()) end = draw_hidden_tabs(frame, row.hidden, end, row.gap);
  const ImVec2 origin = ImGui::GetWindowPos();
  const float width = ImGui::GetWindowWidth();
  const float height = ImGui::GetWindowHeight();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool is_stale = frame.result.is_stale && frame.result.run != 0;
  list->AddLine({origin.x, origin.y + height - 0.5F}, {origin.x + width, origin.y + height - 0.5F},
                is_stale ? theme.warning : theme.border);
  if (!is_stale) return;
  ImFont* font = frame.ui.fonts().small;
  const float room = width - kLeft - right_inset - end;
  const char* text = "";  // where the tabs leave no room, the line below them and the status bar tell it
  for (const char* fitting : {"Not up to date", "Not up to date: this is the last map that could be computed"}) {
    if (font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, fitting).x <= room) text = fitting;
  }
  const float text_width = font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, text).x;
  const float left = width - kLeft - right_inset - std::ceil(text_width);
  list->AddText(font, font_size(font), {origin.x + left, origin.y + std::round((height - font_size(font)) * 0.5F)},
                theme.warning, text);
  frame.mark("tabs.stale", {.origin = {origin.x + left, origin.y}, .size = {text_width, height}});
}

}  // namespace headlight::app
