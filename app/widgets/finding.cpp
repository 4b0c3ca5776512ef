#include "app/widgets/finding.h"

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kColumnGap = 28.0F;
constexpr float kMinStacked = 150.0F;

}  // namespace

void write_note(Frame& frame, const std::string& text, std::optional<shell::Color> color, const char* name) {
  frame.ui.ensure_glyphs(text);
  write_wrapped(frame.ui.fonts().small, color.value_or(frame.ui.theme().text_dim), text);
  if (name[0] != '\0') frame.mark(name, last_item_rect());
  if (color == frame.ui.theme().warning && !frame.transient.shows_nothing) frame.transient.in_place = text;
}

std::string missing_text(const Analysed* answer) {
  return answer && !answer->error.empty() ? answer->error : "computing\u2026";
}

void write_missing(Frame& frame, const Analysed* answer) {
  const bool is_refused = answer && !answer->error.empty();
  write_note(frame, missing_text(answer), is_refused ? frame.ui.theme().warning : frame.ui.theme().text_dim);
}

bool draw_first_button(Frame& frame, std::string name, const char* label, const char* explanation) {
  const shell::Theme& theme = frame.ui.theme();
  go_below_note();
  ImGui::PushStyleColor(ImGuiCol_Button, theme.accent);
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme.accent_hover);
  ImGui::PushStyleColor(ImGuiCol_ButtonActive, theme.accent_hover);
  ImGui::PushStyleColor(ImGuiCol_Text, theme.text_on_accent);
  frame.ui.ensure_glyphs(label);
  const bool is_clicked = ImGui::Button(label);
  ImGui::PopStyleColor(4);
  mark_last_item(frame, std::move(name), explanation);
  return is_clicked;
}

void draw_rows(std::size_t count, float height, float width, const std::function<void(std::size_t row, float y)>& draw) {
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float above = std::max(ImGui::GetWindowPos().y - origin.y, 0.0F);
  const auto first = static_cast<std::size_t>(above / height);
  const auto end = static_cast<std::size_t>((above + ImGui::GetWindowHeight()) / height) + 1;
  for (std::size_t row = first; row < std::min(end, count); ++row) {
    ImGui::SetCursorScreenPos(origin);
    draw(row, origin.y + static_cast<float>(row) * height);
  }
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy({width, static_cast<float>(count) * height});
}

bool ColumnPair::is_wide() const { return width_left() >= least; }

float ColumnPair::first_width() const {
  const float room = width_left();
  return is_wide() ? std::floor((room - kColumnGap) * share) : room;
}

void ColumnPair::draw(const std::function<void()>& first, const std::function<void()>& second, float height) const {
  const bool is_beside = is_wide();
  const float width = first_width(), rest = height_left() - height;
  ImGui::BeginChild("columns", {0.0F, 0.0F});
  ImGui::BeginChild("first", {width, is_beside ? 0.0F : height});
  first();
  ImGui::EndChild();
  if (is_beside) ImGui::SameLine(0.0F, kColumnGap);
  ImGui::BeginChild("second", {0.0F, is_beside ? 0.0F : std::max(rest, kMinStacked)}, false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  second();
  ImGui::EndChild();
  ImGui::EndChild();
}

}  // namespace headlight::app
