#include "app/widgets/head_controls.h"

#include "app/analyses/head_metric_text.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kFieldWidth = 80.0F;
constexpr float kLargestGain = 2.0F;
constexpr float kMinGain = -1.0F;

const char* label_of(model::BlockKind kind) {
  switch (kind) {
    case model::BlockKind::EncoderSelf:
      return "Encoder";
    case model::BlockKind::DecoderSelf:
      return "Decoder";
    case model::BlockKind::Cross:
      return "Cross";
  }
  return "";
}

constexpr float kHeadControlGap = 14.0F;

/// Draws "Layer ‹ 3 ›": returns the choice among 0 … count − 1. `number`: what the present one is called.
std::uint32_t draw_stepper(Frame& frame, const char* name, const char* label, std::uint32_t value, std::uint32_t count,
                           std::uint32_t number) {
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(label);
  ImGui::SameLine(0.0F, 6.0F);
  const bool goes_back = draw_arrow_button(frame, fmt::format("control.{}.previous", name), ImGuiDir_Left,
                                           fmt::format("The {} before", name).c_str(), value > 0);
  ImGui::SameLine(0.0F, 4.0F);
  ImGui::Text("%*u", count > 10 ? 2 : 1, number);
  ImGui::SameLine(0.0F, 4.0F);
  const bool goes_on = draw_arrow_button(frame, fmt::format("control.{}.next", name), ImGuiDir_Right,
                                         fmt::format("The next {}", name).c_str(), value + 1 < count);
  return goes_back ? value - 1 : goes_on ? value + 1 : value;
}

}  // namespace

void choose_kind(Frame& frame, std::string_view name) {
  std::vector<model::BlockKind> kinds;
  std::vector<std::string> labels;
  for (const auto& [block, shape] : frame.result.shapes) {
    if (!kinds.empty() && kinds.back() == block.kind) continue;
    kinds.push_back(block.kind);
    labels.emplace_back(label_of(block.kind));
  }
  if (kinds.size() < 2) return;
  auto chosen = static_cast<std::size_t>(std::ranges::find(kinds, frame.state.selection.block.kind) - kinds.begin());
  if (!draw_segmented(frame, std::string(name).c_str(), labels, chosen)) return;
  frame.state.selection.block.kind = kinds[chosen];
  clamp_selection(frame.state, frame.result.shapes);
}

float gain_control_width(const Frame& frame) {
  // The button is as wide as with the longer label, so that nothing moves.
  const float button = text_width(frame.ui.fonts().small, "Knock out") + 2.0F * ImGui::GetStyle().FramePadding.x;
  return kFieldWidth + ImGui::GetStyle().ItemSpacing.x + button;
}

void draw_gain_control(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const float gain = head_gain(frame.state, selection.block, selection.head);
  const TextStyleScope ink(frame.ui.fonts().small, gain == 1.0F ? frame.ui.theme().text : frame.ui.theme().warning);
  float edited = gain;
  ImGui::SetNextItemWidth(kFieldWidth);
  // The format rounds to hundredths, so that 0 and 1 are reached exactly.
  ImGui::DragFloat("##gain", &edited, 0.01F, kMinGain, kLargestGain, "\u00D7 %.2f", ImGuiSliderFlags_AlwaysClamp);
  mark_last_item(frame, "head.gain");
  step_by_keys(frame, edited, kMinGain, kLargestGain, 0.05F);
  if (edited != gain && std::isfinite(edited)) set_head_gain(frame.state, selection.block, selection.head, edited);
  ImGui::SameLine();
  const float button = gain_control_width(frame) - kFieldWidth - ImGui::GetStyle().ItemSpacing.x;
  const char* help = gain == 1.0F ? nullptr : "Brings the head back with a gain of 1 (K).";
  if (draw_button(frame, "head.knock_out", gain == 1.0F ? "Knock out" : "Restore", help, button)) {
    set_head_gain(frame.state, selection.block, selection.head, gain == 1.0F ? 0.0F : 1.0F);
  }
}

void draw_gain_mark(Frame& frame, model::BlockRef block, std::uint32_t head, const view::Rect& box) {
  const float gain = head_gain(frame.state, block, head);
  const std::optional<attention::ReplacementPattern> pattern = fixed_pattern(frame.state, block, head);
  const shell::Theme& theme = frame.ui.theme();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 low = box.origin, high = box.end();
  if (pattern) {
    const std::string name(attention::to_string(pattern->kind));
    ImFont* font = frame.ui.fonts().small;
    list->AddRectFilled(low, {low.x + text_width(font, name) + 6.0F, low.y + font_size(font) + 2.0F}, theme.popup, 2.0F);
    put_text(font, {low.x + 3.0F, low.y + 1.0F}, theme.warning, name);
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
  put_text(font, {high.x - width + 3.0F, high.y - font_size(font) - 1.0F}, theme.warning, text);
}

void choose_metric(Frame& frame, const std::string& name, const char* explanation, evaluation::HeadMetric& chosen) {
  ImGui::SetNextItemWidth(150.0F);
  const std::string shown(evaluation::metric_name(chosen));
  OpenList list(frame, name, shown.c_str(), explanation);
  if (!list) return;
  const std::vector<std::string> names = evaluation::metric_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto metric = static_cast<evaluation::HeadMetric>(i);
    if (list.entry(names[i].c_str(), names[i], metric == chosen, text_of(metric).help)) chosen = metric;
  }
}

void draw_head_controls(Frame& frame) {
  choose_kind(frame, "control.kind");
  Selection& selection = frame.state.selection;
  const auto shape = frame.result.shapes.find(selection.block);
  if (shape == frame.result.shapes.end()) return;
  const std::vector<model::BlockRef> layers = blocks_of_kind(frame.result.shapes, selection.block.kind);
  const float begin = ImGui::GetCursorPosX();
  const auto at = static_cast<std::uint32_t>(std::ranges::find(layers, selection.block) - layers.begin());
  const model::BlockRef block = layers[draw_stepper(frame, "layer", "Layer", at, static_cast<std::uint32_t>(layers.size()),
                                                    selection.block.layer.value)];
  ImGui::SameLine(0.0F, kHeadControlGap);
  const std::uint32_t head = draw_stepper(frame, "head", "Head", selection.head, shape->second.heads, selection.head);
  if (block != selection.block || head != selection.head) {
    select_head(selection, {block, head});
    clamp_selection(frame.state, frame.result.shapes);
  }
  if (shape->second.d_output == 0) return;  // without an output projection a gain would do nothing
  continue_line(gain_control_width(frame), kHeadControlGap);
  if (ImGui::GetCursorPosX() < begin) ImGui::SetCursorPosX(begin);
  draw_gain_control(frame);
}

}  // namespace headlight::app
