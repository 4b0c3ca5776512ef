#include "panels/tabs_panel.h"

#include <cmath>

#include <fmt/format.h>

#include "panels/ink.h"

namespace headlight::app {
namespace {

constexpr float kLeft = 16.0F;
constexpr float kGap = 24.0F;

/// Draws a tab at `x` and returns where the next one begins.
float draw_tab(Frame& frame, const char* title, const char* name, Tab tab, float x) {
  const shell::Theme& theme = frame.ui.theme();
  const bool is_shown = frame.state.view.tab == tab;
  ImFont* font = is_shown ? frame.ui.fonts().strong : frame.ui.fonts().body;
  // As wide as in the heavier font, so that nothing moves when the tab changes.
  const float width = std::ceil(frame.ui.fonts().strong->CalcTextSizeA(font->FontSize, FLT_MAX, 0.0F, title).x);
  const float height = ImGui::GetWindowHeight();
  ImGui::SetCursorPos({x - kGap * 0.5F, 0.0F});
  if (ImGui::InvisibleButton(name, {width + kGap, height})) frame.state.view.tab = tab;
  mark_last_item(frame, name);
  const bool is_hovered = ImGui::IsItemHovered();
  const ImVec2 origin = ImGui::GetWindowPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddText(font, font->FontSize, {origin.x + x, origin.y + std::round((height - font->FontSize) * 0.5F)},
                is_shown || is_hovered ? theme.text : theme.text_dim, title);
  if (is_shown) {
    list->AddRectFilled({origin.x + x, origin.y + height - 3.0F}, {origin.x + x + width, origin.y + height}, theme.accent, 1.5F);
  }
  return x + width + kGap;
}

const char* kind_text(model::BlockKind kind) {
  switch (kind) {
    case model::BlockKind::EncoderSelf: return "Encoder";
    case model::BlockKind::DecoderSelf: return "Decoder";
    case model::BlockKind::Cross: break;
  }
  return "Cross";
}

std::string selection_text(const Frame& frame) {
  const Selection& selection = frame.state.selection;
  std::string text = fmt::format("Layer {}  ·  Head {}", selection.block.layer.value, selection.head);
  bool has_other_kinds = false;
  for (const model::BlockRef block : frame.result.blocks) has_other_kinds |= block.kind != selection.block.kind;
  if (has_other_kinds) text = fmt::format("{}  ·  {}", kind_text(selection.block.kind), text);
  const auto shape = frame.result.shapes.find(selection.block);
  if (shape != frame.result.shapes.end() && shape->second.batch > 1) text += fmt::format("  ·  Line {}", selection.batch + 1);
  return text;
}

}  // namespace

void draw_tabs_panel(Frame& frame) {
  const shell::Theme& theme = frame.ui.theme();
  float x = draw_tab(frame, "Head", "tab.head", Tab::Head, kLeft);
  x = draw_tab(frame, "Steps", "tab.steps", Tab::Steps, x);
  const ImVec2 origin = ImGui::GetWindowPos();
  const float width = ImGui::GetWindowWidth();
  const float height = ImGui::GetWindowHeight();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine({origin.x, origin.y + height - 0.5F}, {origin.x + width, origin.y + height - 0.5F}, theme.border);
  if (frame.result.run == 0) return;
  const std::string text = selection_text(frame);
  ImFont* font = frame.ui.fonts().small;
  const float text_width = font->CalcTextSizeA(font->FontSize, FLT_MAX, 0.0F, text.c_str()).x;
  if (x + text_width + kLeft > width) return;
  list->AddText(font, font->FontSize,
                {origin.x + width - kLeft - std::ceil(text_width), origin.y + std::round((height - font->FontSize) * 0.5F)},
                theme.text_dim, text.c_str());
}

}  // namespace headlight::app
