#include "app/widgets/translator_panel.h"

#include "app/widgets/controls.h"
#include "app/widgets/token_side.h"

namespace headlight::app {
namespace {

/// Draws a small button at the right end of a caption's line.
bool draw_caption_button(Frame& frame, const char* name, const char* label, const char* explanation) {
  const TextStyleScope ink(frame);
  const float width = button_width(label);
  ImGui::SameLine(ImGui::GetContentRegionMax().x - width);
  return draw_small_button(frame, name, label, explanation);
}

/// Draws the translation that the model writes itself. Typing into it makes it the user's own.
std::optional<ChipTarget> draw_translation(Frame& frame, PromptPanelMemory& memory, const PromptSide* target,
                                           bool has_error) {
  State& state = frame.state;
  const EngineResult& result = frame.result;
  const Translated* written = result.translated.get();
  const bool is_current = written != nullptr && result.inputs && *result.inputs == run_inputs(state);
  const bool is_finished = is_current && written->is_done;
  draw_prompt_caption(frame, !is_finished && !has_error       ? "Translation, being written by the model\u2026"
                             : is_current && written->was_cut ? "Translation by the model, cut off where it went on"
                                                              : "Translation by the model");
  if (draw_caption_button(frame, "text.write", "Write it yourself", "Keeps the text, as yours to change")) {
    is_current ? take_over_translation(state, written) : void(state.model().translates = false);
  }
  // The translation is of the text before, until the new one is there; a text that can't be translated shows none.
  memory.translation =
      written != nullptr && !(has_error && !is_current) ? target_text(state, written->lines) : std::string();
  const shell::Theme& theme = frame.ui.theme();
  bool is_changed = false;
  const std::optional<ChipTarget> pointed =
      draw_prompt_box(frame,
                      {.name = "text.target",
                       .text = memory.translation,
                       .hint = "The translation appears here",
                       .ink = is_current ? theme.output : theme.text_dim,
                       .shown = &memory.target_tokens},
                      is_current ? target : nullptr, memory.pointed_target, &is_changed);
  if (is_changed) {
    state.model().target_text = memory.translation;
    state.model().translates = false;
  }
  return pointed;
}

/// Draws the target that the user gives.
std::optional<ChipTarget> draw_own_target(Frame& frame, PromptPanelMemory& memory, const PromptSide* target,
                                          bool can_translate) {
  Model& model = frame.state.model();
  draw_prompt_caption(frame, "Target, yours: what the decoder has written so far");
  if (can_translate && draw_caption_button(frame, "text.translate", "Translate by itself", "The model writes it again")) {
    model.translates = true;
    model.target_text.clear();
    model.target_ids.clear();
  }
  const std::string hint =
      model.target_ids.empty() ? "May be empty" : "Ids are given: " + ids_text(model.target_ids) + "; type to replace them";
  const std::optional<ChipTarget> pointed = draw_prompt_box(
      frame, {.name = "text.target", .text = model.target_text, .hint = hint.c_str(), .shown = &memory.target_tokens},
      target, memory.pointed_target);
  if (!model.target_text.empty()) model.target_ids.clear();  // what is typed counts
  return pointed;
}

}  // namespace

void draw_translator_source(Frame& frame, PromptPanelMemory& memory) {
  draw_prompt_caption(frame, "Source");
  draw_prompt_source(frame, memory);
}

void draw_translator_target(Frame& frame, PromptPanelMemory& memory, bool has_error) {
  const std::optional<PromptSide> side = prompt_side(frame, true);
  const PromptSide* target = side ? &*side : nullptr;
  const Model& choice = frame.state.model();
  Model untouched = choice;
  untouched.translates = true;
  untouched.target_text.clear();
  untouched.target_ids.clear();
  const bool can_translate = translates_itself(untouched, *frame.result.model);
  const bool translates = can_translate && translates_itself(choice);
  memory.in_target = translates ? draw_translation(frame, memory, target, has_error)
                                : draw_own_target(frame, memory, target, can_translate);
  if (target && memory.in_target) point_at_token(frame, target->tokens, *memory.in_target);
}

}  // namespace headlight::app
