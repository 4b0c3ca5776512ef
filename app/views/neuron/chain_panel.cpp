#include "app/views/neuron/chain_panel.h"

#include "app/widgets/controls.h"
#include "view/number_format.h"

namespace headlight::app {
namespace {

constexpr float kLineGap = 7.0F;

shell::Color color_of_line(const shell::Theme& theme, const ChainLine& line) {
  return line.name == "weight" ? theme.output : theme.text;
}

/// Name left, result right, formula and numbers below.
void draw_line(Frame& frame, const ChainLine& line, std::size_t index) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const glm::vec2 at = to_glm(ImGui::GetCursorScreenPos());
  const float width = ImGui::GetContentRegionAvail().x;
  put_text(fonts.strong, at, color_of_line(theme, line), line.name);
  const std::string value = line.value ? write_number(*line.value) : "…";
  put_text(fonts.mono, {at.x + width - text_width(fonts.mono, value), at.y + 1.0F}, color_of_line(theme, line), value);
  ImGui::Dummy(ImVec2(width, 20.0F));
  frame.mark(fmt::format("neuron.chain.{}", index), {.origin = at, .size = {width, 20.0F}});
  std::string text = line.formula;
  if (!line.numbers.empty()) text += " = " + line.numbers;
  {
    const Ink ink(fonts.mono_small, theme.text_dim);
    for (const std::string& part : break_lines(fonts.mono_small, text, width)) ImGui::TextUnformatted(part.c_str());
  }
  if (!line.note.empty()) {
    const Ink ink(fonts.small, theme.text_dim);
    ImGui::TextWrapped("%s", line.note.c_str());
  }
  const float y = ImGui::GetCursorScreenPos().y + kLineGap * 0.5F;
  list->AddLine(ImVec2(at.x, y), ImVec2(at.x + width, y), theme.border);
  ImGui::Dummy(ImVec2(1.0F, kLineGap));
}

}  // namespace

std::string compare_with_device(const ScoreChain& chain, bool is_captured) {
  if (!chain.score || !chain.evaluated || !chain.weight || !chain.evaluated_weight) return {};
  const double score = std::abs(*chain.score - double{*chain.evaluated});
  const double weight = std::abs(*chain.weight - double{*chain.evaluated_weight});
  return fmt::format("On the {}: score {}, weight {}. What the parts add up to differs by {} and {}.",
                     is_captured ? "map" : "device", view::format_exact(*chain.evaluated),
                     view::format_exact(*chain.evaluated_weight), view::format_scientific(static_cast<float>(score), 0),
                     view::format_scientific(static_cast<float>(weight), 0));
}

void draw_chain(Frame& frame, const ScoreChain& chain) {
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8.0F, 1.0F));
  for (std::size_t i = 0; i < chain.lines.size(); ++i) draw_line(frame, chain.lines[i], i);
  const std::string compared = compare_with_device(chain, frame.result.capture != nullptr);
  if (!compared.empty()) {
    const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
    ImGui::TextWrapped("%s", compared.c_str());
  }
  ImGui::PopStyleVar();
}

}  // namespace headlight::app
