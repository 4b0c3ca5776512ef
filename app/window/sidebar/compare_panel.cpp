#include "app/window/sidebar/panels.h"

#include "app/engine/analyses/changes.h"
#include "app/state/comparison.h"
#include "app/widgets/controls.h"
#include "chart/number_format.h"

namespace headlight::app {
namespace {

constexpr std::size_t kListedHeads = 8, kListedCells = 8;
constexpr float kNameWidth = 76.0F;
constexpr float kNumberWidth = 58.0F;

/// Returns "L1 H5", with the kind where there are several.
std::string name_of(const Frame& frame, const HeadRef& head) {
  const std::string name = fmt::format("L{} H{}", head.block.layer.value, head.head);
  return has_several_kinds(frame.result) ? fmt::format("{} {}", name, model::to_string(head.block.kind)) : name;
}

std::string token_at(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t token) {
  const std::string* text = tokens.label(frame.state.selection.batch, token);
  return text != nullptr ? *text : fmt::format("token {}", token);
}

/// Describes what the head did before and does now, in words.
std::string about(const Frame& frame, const ChangedHead& changed) {
  const model::BlockKind kind = changed.head.block.kind;
  return fmt::format(
      "Queries give {:.1f} % of their attention to other keys than in the baseline. Most of all \u201C{}\u201D to "
      "\u201C{}\u201D: {:.3f}, then {:.3f}. Click: selects the head and pins that cell.",
      100.0 * changed.moved, token_at(frame, frame.result.input->queries(kind), changed.cell.query),
      token_at(frame, frame.result.input->keys(kind), changed.cell.key), double{changed.then}, double{changed.now});
}

/// A line of a list that can be clicked, in small type: a name, room for a bar, a number.
struct ChangedLine {
  std::string mark, tip, name, number;
  bool is_chosen = false;
  std::optional<float> bar = {};  ///< 0 … 1
};

bool draw_line(Frame& frame, const ChangedLine& line) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const float height = font_size(font) + 7.0F;
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const bool is_clicked = click_area(line.mark.c_str(), {width, height});
  frame.ui.ensure_glyphs(line.tip);
  mark_last_item(frame, line.mark, line.tip.c_str());
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (ImGui::IsItemHovered() || line.is_chosen) {
    list->AddRectFilled(origin, {origin.x + width, origin.y + height}, theme.field, 3.0F);
  }
  const float y = std::round(origin.y + (height - font_size(font)) * 0.5F);
  const float room = std::max(width - kNameWidth - kNumberWidth, 1.0F);
  const float name_width = line.bar ? kNameWidth : std::max(width - kNumberWidth, 9.0F);
  put_text(font, {origin.x + 4.0F, y}, line.is_chosen ? theme.accent : theme.text,
           fit_text(font, line.name, name_width - 8.0F));
  if (line.bar) {
    list->AddRectFilled({origin.x + kNameWidth, y + 2.0F},
                        {origin.x + kNameWidth + std::max(room * *line.bar, 1.0F), y + font_size(font) - 1.0F}, theme.accent,
                        2.0F);
  }
  put_text(font, {origin.x + width - text_width(font, line.number) - 4.0F, y}, theme.text_dim, line.number);
  return is_clicked;
}

/// Draws the head, a bar, and the share of its attention that moved.
void draw_head(Frame& frame, const ChangedHead& changed, std::size_t index, double largest) {
  Selection& selection = frame.state.selection;
  const bool is_clicked =
      draw_line(frame, {.mark = fmt::format("compare.head.{}", index),
                        .tip = about(frame, changed),
                        .name = name_of(frame, changed.head),
                        .number = fmt::format("{:.1f} %", 100.0 * changed.moved),
                        .is_chosen = selection.block == changed.head.block && selection.head == changed.head.head,
                        .bar = static_cast<float>(largest > 0.0 ? changed.moved / largest : 0.0)});
  if (!is_clicked) return;
  select_head(selection, changed.head);
  frame.state.view.pinned = changed.cell;
}

void draw_changed_heads(Frame& frame, Form& form) {
  const Analysed* answer = frame.ask(ChangedHeadsQuestion{.batch = frame.state.selection.batch});
  if (!frame.result.input) return;
  const ChangedHeads* found = answer ? answer->as<ChangedHeads>() : nullptr;
  if (!found) return form.note(answer && !answer->error.empty() ? answer->error : "comparing\u2026");
  if (found->heads.empty()) return form.note("No head attends differently.");
  form.note(fmt::format("Changed most of {} heads:", found->all_heads));
  const shell::ControlGroup group(frame.ui.keyboard(), "heads");
  for (std::size_t i = 0; i < std::min(found->heads.size(), kListedHeads); ++i) {
    draw_head(frame, found->heads[i], i, found->heads.front().moved);
  }
  const std::size_t unchanged = found->all_heads - found->heads.size();
  if (unchanged > 0) form.note(fmt::format("{} attend exactly as before.", unchanged));
}

/// Returns the name of the selected map, in which cells changed.
std::string selected_map_name(const Frame& frame) {
  const Selection& selection = frame.state.selection;
  if (selection.mean == HeadMean::Layer) return fmt::format("the mean of layer {}", selection.block.layer.value);
  if (selection.mean == HeadMean::Kind) return "the mean of all heads";
  return name_of(frame, selection.head_ref());
}

/// Draws query and key, and how much the weight changed.
void draw_cell(Frame& frame, const ChangedCell& changed, std::size_t index) {
  const model::BlockKind kind = frame.state.selection.block.kind;
  const std::string tokens =
      fmt::format("{} \u2192 {}", token_at(frame, frame.result.input->queries(kind), changed.cell.query),
                  token_at(frame, frame.result.input->keys(kind), changed.cell.key));
  const bool is_clicked = draw_line(
      frame, {.mark = fmt::format("compare.cell.{}", index),
              .tip = fmt::format("Query {}, key {}: {}. The weight was {:.4f} and is {:.4f}. Click: pins the cell.",
                                 changed.cell.query, changed.cell.key, tokens, changed.then, changed.now),
              .name = tokens,
              .number = (changed.change() > 0.0 ? "+" : "") + chart::format_fixed(static_cast<float>(changed.change()), 3),
              .is_chosen = frame.state.view.pinned == changed.cell});
  if (is_clicked) frame.state.view.pinned = changed.cell;
}

void draw_changed_cells(Frame& frame, Form& form) {
  const Analysed* answer = frame.ask(changed_cells_query(frame.state.selection));
  if (!frame.result.input) return;
  const ChangedCells* found = answer ? answer->as<ChangedCells>() : nullptr;
  if (!found || found->cells.empty()) return;  // the list of heads says why
  form.note(fmt::format("Weights that changed most in {}:", selected_map_name(frame)));
  const shell::ControlGroup group(frame.ui.keyboard(), "cells");
  for (std::size_t i = 0; i < std::min(found->cells.size(), kListedCells); ++i) draw_cell(frame, found->cells[i], i);
  if (found->changed > kListedCells) form.note(fmt::format("{} more changed less.", found->changed - kListedCells));
}

}  // namespace

void draw_compare_panel(Frame& frame, NumberBeingTyped& typed, bool can_open_text) {
  Form form(frame, typed, "compare");
  CompareChoices& compare = frame.state.compare;
  if (!compare.baseline) {
    form.note(is_capture(frame.state.source) ? "Keep this capture as baseline, then open another one, or a model with its "
                                               "text, of the same sizes: maps show the "
                                               "difference."
                                             : "Keep the present run as baseline, then change masks, heads or words, or "
                                               "open a second text (Ctrl+T): maps show what "
                                               "that changes.");
    if (form.button("freeze", "Keep as baseline")) frame.start_command("compare.freeze");
    if (can_open_text &&
        draw_button(frame, "text.second.open", "Compare with a second text",
                    "Two texts, of any lengths: maps, logits, predictions and patching show how they differ."))
      frame.start_command("compare.second_text");
    return;
  }
  const std::string with = compared_with(frame.state);
  frame.ui.ensure_glyphs(with);
  form.note(fmt::format("With: {}", with));
  form.toggle("difference", "Differences", compare.shows_difference, "D",
              "Maps show the present run minus the baseline: blue is less, red is more, and what stays is neutral.");
  if (compares_capture_with_network(frame.state)) {
    form.note("One of the two is a capture: weights are compared, other stages are this run's.");
  }
  if (!frame.result.baseline_error.empty()) form.warning("Can't be compared: " + frame.result.baseline_error + ".");
  if (!has_second_text(frame.state)) {
    if (form.button("freeze", "Keep anew")) frame.start_command("compare.freeze");
    ImGui::SameLine();
    ImGui::BeginDisabled(!can_return_to_baseline(frame.state));
    if (form.button("return", "Go back")) frame.start_command("compare.return");
    ImGui::EndDisabled();
    ImGui::SameLine();
  }
  if (form.button("stop", "Off")) frame.start_command("compare.stop");
  if (!frame.result.baseline_error.empty()) return;
  draw_changed_heads(frame, form);
  draw_changed_cells(frame, form);
}

}  // namespace headlight::app
