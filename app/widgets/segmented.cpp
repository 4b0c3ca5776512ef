#include "app/widgets/segmented.h"

#include <cmath>

#include <fmt/format.h>

#include "app/shell/click_area.h"
#include "app/widgets/ink.h"
#include "app/widgets/label_text.h"

namespace headlight::app {
namespace {

float label_width(ImFont* font, const std::string& label, float padding) {
  return std::ceil(text_width(font, label)) + 2.0F * padding;
}

}  // namespace

float segmented_width(const Frame& frame, std::span<const std::string> labels, float padding) {
  float width = 0.0F;
  for (const std::string& label : labels) width += label_width(frame.ui.fonts().small, label, padding);
  return width;
}

bool draw_segmented(Frame& frame, const char* name, std::span<const std::string> labels, std::size_t& chosen,
                    float padding) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const ImVec2 start = ImGui::GetCursorScreenPos();
  const float height = ImGui::GetFrameHeight();
  const float rounding = ImGui::GetStyle().FrameRounding;
  float whole = 0.0F;
  for (const std::string& label : labels) whole += label_width(font, label, padding);
  const ImVec2 end(start.x + whole, start.y + height);
  fill_rect(to_glm(start), to_glm(end), theme.field, rounding);
  bool has_changed = false;
  float x = start.x;
  ImGui::PushID(name);
  const shell::ControlGroup group(frame.ui.keyboard(), "segments");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float width = label_width(font, labels[i], padding);
    ImGui::SetCursorScreenPos(ImVec2(x, start.y));
    const bool is_clicked = click_area(labels[i].c_str(), ImVec2(width, height));
    mark_last_item(frame, fmt::format("{}.{}", name, i));
    if (is_clicked && chosen != i) {
      chosen = i;
      has_changed = true;
    }
    const bool is_chosen = chosen == i;
    if (is_chosen) frame.ui.keyboard().prefer_last();
    if (is_chosen || ImGui::IsItemHovered()) {
      fill_rect({x + 2.0F, start.y + 2.0F}, {x + width - 2.0F, end.y - 2.0F}, is_chosen ? theme.active : theme.hover,
                rounding - 1.0F);
    }
    if (is_chosen) {  // its ground alone is near to the others'
      fill_rect({x + padding, end.y - 4.0F}, {x + width - padding, end.y - 2.0F}, theme.accent, 1.0F);
    }
    put_text(font, {x + padding, std::round(start.y + (height - font_size(font)) * 0.5F)},
             is_chosen ? theme.text : theme.text_dim, labels[i]);
    x += width;
  }
  ImGui::PopID();
  outline_rect(to_glm(start), to_glm(end), theme.border, rounding);
  // One item for the layout: SameLine() continues after the whole row.
  ImGui::SetCursorScreenPos(start);
  ImGui::Dummy(ImVec2(end.x - start.x, height));
  return has_changed;
}

}  // namespace headlight::app
