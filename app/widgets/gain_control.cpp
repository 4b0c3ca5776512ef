#include "app/widgets/gain_control.h"

#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "app/widgets/ink.h"
#include "app/widgets/label_text.h"
#include "app/widgets/slider_keys.h"

namespace headlight::app {
namespace {

constexpr float kFieldWidth = 80.0F;
constexpr float kLargestGain = 2.0F;
constexpr float kLeastGain = -1.0F;

const char* button_label(float gain) { return gain == 1.0F ? "Knock out" : "Restore"; }

}  // namespace

float gain_control_width(const Frame& frame) {
  // As wide as with the longer label, so that nothing moves.
  const float button = text_width(frame.ui.fonts().small, "Knock out") + 2.0F * ImGui::GetStyle().FramePadding.x;
  return kFieldWidth + ImGui::GetStyle().ItemSpacing.x + button;
}

void draw_gain_control(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const float gain = head_gain(frame.state, selection.block, selection.head);
  const Ink ink(frame.ui.fonts().small, gain == 1.0F ? frame.ui.theme().text : frame.ui.theme().warning);
  float edited = gain;
  ImGui::SetNextItemWidth(kFieldWidth);
  // The format rounds to hundredths, so that 0 and 1 are reached exactly.
  ImGui::DragFloat("##gain", &edited, 0.01F, kLeastGain, kLargestGain, "\u00D7 %.2f", ImGuiSliderFlags_AlwaysClamp);
  mark_last_item(frame, "head.gain");
  step_by_keys(frame, edited, kLeastGain, kLargestGain, 0.05F);
  if (edited != gain && std::isfinite(edited)) set_head_gain(frame.state, selection.block, selection.head, edited);
  ImGui::SameLine();
  const float button = gain_control_width(frame) - kFieldWidth - ImGui::GetStyle().ItemSpacing.x;
  if (ImGui::Button(button_label(gain), {button, 0.0F})) {
    set_head_gain(frame.state, selection.block, selection.head, gain == 1.0F ? 0.0F : 1.0F);
  }
  mark_last_item(frame, "head.knock_out", gain == 1.0F ? nullptr : "Brings the head back with a gain of 1 (K).");
}

void draw_gain_mark(Frame& frame, model::BlockRef block, std::uint32_t head, const view::Rect& box) {
  const float gain = head_gain(frame.state, block, head);
  const std::optional<attention::ReplacementPattern> pattern = fixed_pattern(frame.state, block, head);
  const shell::Theme& theme = frame.ui.theme();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 low = to_imgui(box.origin), high = to_imgui(box.end());
  if (pattern) {
    const std::string name(attention::to_string(pattern->kind));
    ImFont* font = frame.ui.fonts().small;
    list->AddRectFilled(low, {low.x + text_width(font, name) + 6.0F, low.y + font_size(font) + 2.0F}, theme.popup, 2.0F);
    list->AddText(font, font_size(font), {low.x + 3.0F, low.y + 1.0F}, theme.warning, name.c_str());
  }
  if (gain == 1.0F) return;
  if (gain == 0.0F) {
    list->AddRectFilled(low, high, shell::with_alpha(theme.panel, 150));
    list->AddLine(low, high, theme.warning, 2.0F);
    list->AddLine({low.x, high.y}, {high.x, low.y}, theme.warning, 2.0F);
    return;
  }
  ImFont* font = frame.ui.fonts().small;
  const std::string text = fmt::format("×{:.3g}", gain);
  const float width = text_width(font, text) + 6.0F;
  list->AddRectFilled({high.x - width, high.y - font_size(font) - 2.0F}, high, theme.popup, 2.0F);
  list->AddText(font, font_size(font), {high.x - width + 3.0F, high.y - font_size(font) - 1.0F}, theme.warning,
                text.c_str());
}

}  // namespace headlight::app
