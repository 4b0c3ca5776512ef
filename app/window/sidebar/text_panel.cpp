#include "app/window/sidebar/panels.h"

#include "app/widgets/controls.h"
#include "app/widgets/examples.h"
#include "app/widgets/form.h"
#include "app/widgets/prompt_box.h"
#include "app/widgets/token_side.h"

namespace headlight::app {
namespace {

constexpr float kFewestRows = 2.0F;
constexpr float kMaxRows = 7.0F;

void draw_caption(Frame& frame, const std::string& text) {
  write_wrapped(frame.ui.fonts().small, frame.ui.theme().text_dim, text);
}

void draw_text_box(Frame& frame, const char* name, std::string& text, const char* hint, shell::FieldFocus focus) {
  frame.ui.text_field(fmt::format("##{}", name).c_str(), text,
                      {.height = shell::text_field_height(kFewestRows),
                       .most_height = shell::text_field_height(kMaxRows),
                       .focus = focus,
                       .hint = hint});
  frame.mark(name, last_item_rect());
}

/// Draws a caption at the left, where there is room for it, and the button at the right.
void draw_text_head(Frame& frame, const char* caption) {
  const TextStyleScope ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
  const float button = button_width("Examples");
  const float start = ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x - button;
  if (ImGui::GetCursorPosX() + ImGui::CalcTextSize(caption).x + ImGui::GetStyle().ItemSpacing.x < start) {
    ImGui::TextUnformatted(caption);
    ImGui::SameLine();
  }
  ImGui::SetCursorPosX(start);
  if (draw_small_button(frame, "text.examples", "Examples")) ImGui::OpenPopup("examples");
}

void draw_examples_popup(Frame& frame) {
  open_below_last_item(frame);
  if (!ImGui::BeginPopup("examples")) return;
  int index = 0;
  for (const Example& example : examples()) {
    if (draw_entry(frame, fmt::format("text.example.{}", index++), example.title)) show_example(frame.state, example);
  }
  ImGui::EndPopup();
}

/// Draws the tokens of a notebook or a capture, whose tokens are its own.
void draw_given_tokens(Frame& frame, TextPanelMemory& memory) {
  const model::ModelInput& input = *frame.result.input;
  if (!input.target) {
    if (is_capture(frame.state.source) && input.source.batch > 1) {
      draw_caption(frame, fmt::format("The capture's: {} lines of {} tokens", input.source.batch, input.source.length));
    } else {
      const char* whose = is_capture(frame.state.source) ? "The capture's" : "The notebook's";
      draw_caption(frame, fmt::format("{} tokens: {}", whose, token_count_text(input.source)));
    }
    draw_token_side(frame, "chips.source", input.source, memory.source);
    return;
  }
  draw_caption(frame, "Source: " + token_count_text(input.source));
  draw_token_side(frame, "chips.source", input.source, memory.source);
  ImGui::Dummy({1.0F, 4.0F});
  draw_caption(frame, "Target: " + token_count_text(*input.target));
  draw_token_side(frame, "chips.target", *input.target, memory.target);
}

}  // namespace

void draw_text_panel(Frame& frame, TextPanelMemory& memory) {
  const bool has_run = frame.result.run != 0 && frame.result.input != nullptr;
  if (is_notebook(frame.state.source) || is_capture(frame.state.source)) {
    if (has_run) draw_given_tokens(frame, memory);
    return;
  }
  NumberBeingTyped no_numbers;
  Form form(frame, no_numbers, "text");
  const bool is_cross = frame.state.playground().cross;
  draw_text_head(frame, is_cross ? "Queries" : "Each line is one item of the batch");
  draw_examples_popup(frame);
  draw_text_box(frame, "text.edit", frame.state.text(), "Type a sentence", text_box_focus(frame));

  // While a change is being computed, the run on screen may still be of the other kind.
  const bool shows_cross = has_run && frame.result.input->target.has_value();
  if (has_run) {
    const model::TokenBatch& tokens = shows_cross ? *frame.result.input->target : frame.result.input->source;
    draw_token_side(frame, "chips.query", tokens, memory.target);
  }
  form.toggle("cross", "Cross-attention", frame.state.playground().cross, {},
              "The text attends to a second text instead of to itself.");
  if (!is_cross) return;
  draw_caption(frame, "Keys and values");
  draw_text_box(frame, "text.key_edit", frame.state.playground().key_text,
                "A second text; while it is empty the first attends to itself", shell::FieldFocus::None);
  if (shows_cross) draw_token_side(frame, "chips.key", frame.result.input->source, memory.source);
}

}  // namespace headlight::app
