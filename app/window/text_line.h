#pragma once

#include "app/widgets/prompt_panel.h"

namespace headlight::app {

/// The state of the text's line from frame to frame.
struct TextLineMemory {
  PromptPanelMemory prompt;
  std::uint64_t run = 0;                              ///< of `words`
  std::vector<std::vector<text::Token>> words, keys;  ///< of the playground's texts, as a tokenizer gives a model's
  float next_width = 0.0F;                            ///< of the predicted tokens, in the last frame
};

/// Draws the window's first line into the whole current window: the text, or a source and a target or two sentences side by
/// side, with lines below the tokens; where it ends what is predicted next; and below it the second text that it is compared
/// with. A notebook and a capture have their tokens there. `has_two_texts`: of an encoder–decoder. `has_error`: the text
/// can't be shown. Returns the height that it wants, in UI units.
float draw_text_line(Frame& frame, TextLineMemory& memory, bool has_two_texts, bool has_error);

/// Draws the panel of what belongs to the text: examples, its tokens as chips, switches.
void draw_text_settings(Frame& frame, TextLineMemory& memory);

/// Returns "20 tokens" of the run's text; "Text" without a run.
std::string text_label(const Frame& frame);

}  // namespace headlight::app
