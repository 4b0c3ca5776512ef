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
  if (draw_button(frame, button_label(gain), "head.knock_out",
                  gain == 1.0F ? nullptr : "Brings the head back with a gain of 1 (K).", button)) {
    set_head_gain(frame.state, selection.block, selection.head, gain == 1.0F ? 0.0F : 1.0F);
  }
}

void draw_gain_mark(Frame& frame, model::BlockRef block, std::uint32_t head, const view::Rect& box) {
  const float gain = head_gain(frame.state, block, head);
  const std::optional<attention::ReplacementPattern> pattern = fixed_pattern(frame.state, block, head);
  const shell::Theme& theme = frame.ui.theme();
  const glm::vec2 low = box.origin, high = box.end();
  if (pattern) {
    const std::string name(attention::to_string(pattern->kind));
    ImFont* font = frame.ui.fonts().small;
    fill_rect(low, {low.x + text_width(font, name) + 6.0F, low.y + font_size(font) + 2.0F}, theme.popup, 2.0F);
    put_text(font, {low.x + 3.0F, low.y + 1.0F}, theme.warning, name);
  }
  if (gain == 1.0F) return;
  if (gain == 0.0F) {
    fill_rect(box, shell::with_alpha(theme.panel, 150));
    draw_line(box.origin, box.end(), theme.warning, 2.0F);
    draw_line({low.x, high.y}, {high.x, low.y}, theme.warning, 2.0F);
    return;
  }
  ImFont* font = frame.ui.fonts().small;
  const std::string text = fmt::format("×{:.3g}", gain);
  const float width = text_width(font, text) + 6.0F;
  fill_rect({high.x - width, high.y - font_size(font) - 2.0F}, high, theme.popup, 2.0F);
  put_text(font, {high.x - width + 3.0F, high.y - font_size(font) - 1.0F}, theme.warning, text);
}

}  // namespace headlight::app
