#include "app/views/notebook/notebook_parts.h"

#include "app/state/model_changes.h"
#include "app/widgets/controls.h"

namespace headlight::app {

using inference::NotebookCell;
using inference::NotebookPage;

namespace {

constexpr float kCellHeight = 44.0F;

std::pair<std::string, shell::Color> status_of(const shell::Theme& theme, const NotebookCell& cell,
                                               const NotebookFound::Cell* known, bool is_live, bool is_own) {
  if (!is_live) return {"opens", theme.text_dim};
  if (known == nullptr) return {"\u2026", theme.text_dim};
  if (!known->error.empty()) return {"none", theme.warning};
  if (!cell.is_printed()) return {"shown", theme.accent};
  if (!is_own) return {"changed", theme.text_dim};
  const PrintedCount count = count_equal(cell, *known);
  if (count.equal == count.printed) return {"equal", theme.value};
  return {fmt::format("{} differ", count.printed - count.equal), theme.warning};
}

}  // namespace

bool is_of_recipe(const NotebookCell& cell, const NotebookCell& other) {
  return cell.preset == other.preset && cell.edits == other.edits;
}

std::size_t NotebookList::draw(Frame& frame, const NotebookPage& page, const NotebookCell& chosen,
                               const NotebookFound* found, bool is_own) {
  const auto at = static_cast<std::size_t>(&chosen - page.cells.data());
  std::size_t next = at;
  if (!has_popup()) {
    if (frame.ui.is_pressed(shell::Key::Down)) next = std::min(at + 1, page.cells.size() - 1);
    if (frame.ui.is_pressed(shell::Key::Up) && at > 0) next = at - 1;
    if (frame.ui.is_pressed(shell::Key::Home)) next = 0;
    if (frame.ui.is_pressed(shell::Key::End)) next = page.cells.size() - 1;
  }
  const shell::ControlGroup group(frame.ui.keyboard(), "notebook.cells");
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0.0F, 2.0F));
  for (std::size_t i = 0; i < page.cells.size(); ++i) {
    if (draw_entry(frame, page.cells[i], chosen, found, is_own)) next = i;
  }
  ImGui::PopStyleVar();
  return next;
}

bool NotebookList::draw_entry(Frame& frame, const NotebookCell& cell, const NotebookCell& chosen, const NotebookFound* found,
                              bool is_own) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const chart::Rect box{.origin = cursor_position(), .size = {width_left() - 4.0F, kCellHeight}};
  const bool is_chosen = &cell == &chosen;
  const bool is_clicked = click_area(cell.id.c_str(), to_imgui(box.size));
  const bool is_hovered = ImGui::IsItemHovered();
  const bool is_live = is_of_recipe(cell, chosen);
  mark_last_item(frame, "notebook.cell." + cell.id,
                 is_live ? "Opens the cell." : "Opens the cell, with the preset and the numbers that it needs.");
  if (is_chosen) {
    frame.ui.keyboard().prefer_last();
    if (last_shown_ != cell.id) ImGui::SetScrollHereY(0.4F);
    last_shown_ = cell.id;
  }
  if (is_chosen || is_hovered) fill_rect(box, is_chosen ? theme.active : theme.hover, 5.0F);
  const NotebookFound::Cell* known = is_live && found != nullptr ? found->find(cell.id) : nullptr;
  const auto [status, color] = status_of(theme, cell, known, is_live, is_own);
  const float right = box.end().x - 8.0F, status_width = text_width(fonts.small, status);
  put_text(fonts.small, {right - status_width, box.origin.y + 6.0F}, color, status);
  const bool is_ours = !cell.is_printed();
  const std::string number = is_ours ? "+" : cell.id;
  const float left = box.origin.x + 8.0F, text = left + 30.0F;
  put_text(fonts.mono_small, {left, box.origin.y + 7.0F}, theme.text_dim, number);
  put_text(fonts.body, {text, box.origin.y + 3.0F}, theme.text,
           fit_text(fonts.body, cell.title, right - status_width - 8.0F - text));
  const std::string count =
      cell.printed_count() == 0 ? std::string() : fmt::format("{} \u00B7 ", counted(cell.printed_count(), "number"));
  put_text(fonts.small, {text, box.origin.y + 24.0F}, theme.text_dim,
           fit_text(fonts.small, count + cell.does, right - text));
  return is_clicked;
}

}  // namespace headlight::app
