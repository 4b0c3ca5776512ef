#include "app/window/dialogs/history_window.h"

#include "app/state/model_changes.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kHistoryWidth = 420.0F;
constexpr float kHeight = 460.0F;
constexpr float kRow = 24.0F;
constexpr float kLabelShare = 0.5F;

/// Returns the detail that distinguishes a step from its neighbours: masks and interventions, else the text.
std::string detail_of(const State& state) {
  std::string detail = model_changes(state);
  if (detail.empty()) detail = state.text();
  std::ranges::replace(detail, '\n', ' ');
  return detail;
}

bool draw_step(Frame& frame, const HistoryStep& step) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const glm::vec2 at = to_glm(ImGui::GetCursorScreenPos());
  const float width = ImGui::GetContentRegionAvail().x;
  ImGui::PushID(static_cast<int>(step.id));
  const bool is_clicked = ImGui::Selectable("##step", step.is_shown, 0, ImVec2(width, kRow));
  mark_last_item(frame, fmt::format("history.{}", step.id), "A click goes to this step.");
  if (step.is_shown) frame.ui.keyboard().prefer_last();
  ImGui::PopID();
  constexpr float kLeft = 8.0F;
  const float drop = (kRow - font_size(fonts.body)) * 0.5F;
  const shell::Color color = step.is_shown ? theme.accent : step.is_undone ? theme.text_dim : theme.text;
  const float label_room = width * kLabelShare - kLeft;
  const bool is_named = !step.name->empty();
  const std::string title = is_named ? frame.ui.shaped(*step.name) : step.label->empty() ? "Beginning" : *step.label;
  ImFont* font = is_named ? fonts.strong : fonts.body;
  const std::string label = fit_text(font, title, label_room);
  put_text(font, {at.x + kLeft, at.y + drop}, color, label);
  const std::string detail =
      fit_text(fonts.small, frame.ui.shaped(detail_of(*step.state)), width * (1.0F - kLabelShare) - 16.0F);
  put_text(fonts.small, {at.x + width * kLabelShare + 8.0F, at.y + (kRow - font_size(fonts.small)) * 0.5F}, theme.text_dim,
           detail);
  return is_clicked;
}

/// Draws a field for the shown step's name.
void draw_name(Frame& frame, Undo& undo) {
  const TextStyleScope ink(frame.ui.fonts().body, frame.ui.theme().text);
  std::string name = undo.shown_name();
  const std::uint64_t id = undo.shown_id();
  ImGui::PushID(static_cast<int>(id));       // another step's field is another one
  constexpr std::size_t kLongestName = 120;  // bytes
  const shell::TextFieldOptions options{.hint = "Name this step, to find it again", .limit = kLongestName};
  if (frame.ui.text_field("##name", name, options)) undo.name_step(id, std::move(name));
  ImGui::PopID();
  mark_last_item(
      frame, "history.name",
      "A named step is kept, however long the history grows, and when what came after an earlier step is dropped.");
}

}  // namespace

std::optional<std::uint64_t> draw_history_window(Frame& frame, Undo& undo, bool& is_open) {
  if (!is_open) return std::nullopt;
  std::optional<std::uint64_t> chosen;
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({screen.x - kHistoryWidth - 24.0F, 88.0F}, ImGuiCond_Appearing);
  ImGui::SetNextWindowSize({std::min(kHistoryWidth, screen.x - 48.0F), std::min(kHeight, screen.y - 140.0F)},
                           ImGuiCond_Appearing);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, frame.ui.theme().panel);
  if (ImGui::Begin("History", &is_open, ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoSavedSettings)) {
    {
      const TextStyleScope ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
      ImGui::TextWrapped("A click goes to a step. A change there takes the place of the steps after it; named ones stay.");
    }
    draw_name(frame, undo);
    ImGui::Separator();
    ImGui::BeginChild("steps");
    const std::vector<HistoryStep> steps = undo.history();
    const shell::ControlGroup group(frame.ui.keyboard(), "steps");
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(steps.size()), kRow + ImGui::GetStyle().ItemSpacing.y);
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        const HistoryStep& step = steps[static_cast<std::size_t>(i)];
        if (draw_step(frame, step)) chosen = step.id;
      }
    }
    ImGui::EndChild();
  }
  ImGui::End();
  ImGui::PopStyleColor();
  return chosen;
}

}  // namespace headlight::app
