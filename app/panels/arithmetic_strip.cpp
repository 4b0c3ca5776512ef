#include "panels/arithmetic_strip.h"

#include <fmt/format.h>

#include "panels/ink.h"
#include "panels/label_text.h"
#include "panels/stage_text.h"

namespace headlight::app {
namespace {

/// "= q₂·k₅ = 0.31·(−0.2) + … = 0.418", with what there is of it.
std::string equation(const Arithmetic& arithmetic) {
  std::string text;
  if (!arithmetic.formula.empty()) text += " = " + arithmetic.formula;
  if (!arithmetic.numbers.empty()) text += " = " + arithmetic.numbers;
  if (arithmetic.result) text += " = " + write_number(double{*arithmetic.result});
  return text;
}

}  // namespace

void draw_arithmetic_strip(Frame& frame, const Arithmetic* arithmetic, attention::Stage stage, const std::string& tokens) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  ImGui::PushStyleColor(ImGuiCol_ChildBg, theme.panel);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(16.0F, 10.0F));
  ImGui::BeginChild("arithmetic", ImVec2(0.0F, kStripHeight), false,
                    ImGuiWindowFlags_AlwaysUseWindowPadding | ImGuiWindowFlags_NoScrollbar);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 low = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  if (!arithmetic) {
    const Ink ink(fonts.body, theme.text_dim);
    ImGui::TextWrapped("Point at a cell: the row and the column that made it light up, and its arithmetic is written here.");
  } else {
    const shell::Color role = stage_color(stage, theme);
    list->AddRectFilled(ImVec2(low.x, low.y + 8.0F), ImVec2(low.x + 4.0F, low.y + size.y - 8.0F), role, 2.0F);
    {
      const Ink ink(fonts.strong, role);
      ImGui::TextUnformatted(stage_title(stage));
    }
    ImGui::SameLine(0.0F, 12.0F);
    {
      const Ink ink(fonts.body, theme.text_dim);
      ImGui::TextUnformatted(tokens.c_str());
    }
    {
      const Ink ink(fonts.mono, theme.text);
      ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8.0F, 1.0F));
      const float width = ImGui::GetContentRegionAvail().x;
      for (const std::string& line : break_lines(fonts.mono, arithmetic->cell + equation(*arithmetic), width)) {
        ImGui::TextUnformatted(line.c_str());
      }
      ImGui::PopStyleVar();
    }
    if (!arithmetic->note.empty()) {
      const Ink ink(fonts.small, theme.text_dim);
      ImGui::TextWrapped("%s", arithmetic->note.c_str());
    }
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
}

}  // namespace headlight::app
