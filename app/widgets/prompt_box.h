#pragma once

#include "app/shell/theme.h"
#include "app/widgets/token_chips.h"
#include "text/token.h"

namespace headlight::app {

/// The tokens of a box's text as lines below them, made anew with each run.
struct BoxTokens {
  std::uint64_t run = 0;
  shell::Color color = 0;
  std::vector<shell::TextMark> lines;  ///< ascending, apart
  std::vector<ChipTarget> tokens;      ///< of each line
};

/// One box of a prompt's text; batch items are lines of State::text() and the corresponding lines of this text.
struct PromptBox {
  const char* name;
  std::string& text;
  const char* hint;
  std::uint32_t sequence = 0;  ///< of its tokens
  shell::Color ink = 0;        ///< of the text; 0: the theme's
  BoxTokens* shown = nullptr;  ///< null: its tokens have no lines
};

/// The tokens of one side of the run.
struct PromptSide {
  const model::TokenBatch& tokens;
  const std::vector<std::vector<text::Token>>& prompt;  ///< [batch][real token]
  bool is_query = false, is_key = false;                ///< in the selected kind of attention
};
/// Returns the side of the prompt; nullopt while the run on screen has none.
std::optional<PromptSide> prompt_side(const Frame& frame, bool is_target);
/// Returns the tokens of a batch where each is found in its line of the text, one after the other; others have no bytes.
std::vector<std::vector<text::Token>> find_tokens(const std::string& text, const model::TokenBatch& tokens);

/// Returns the first text box's keyboard action in this frame (Transient::text_focus); called once per frame.
shell::FieldFocus text_box_focus(Frame& frame);

/// Draws a small line above a box.
void draw_prompt_caption(Frame& frame, const char* text);

/// Draws a field of the window's first line: in large type, as high as its lines need, of which four are seen. Returns
/// whether the user changed it.
bool draw_line_field(Frame& frame, const char* name, std::string& text, shell::TextFieldOptions options,
                     shell::Color ink = 0);

/// Draws a box; returns the token at the mouse or else at the caret. A right click on a token opens its menu. `side`: its
/// tokens; null without any. `pointed`: a token whose characters are marked. `is_changed`, if given, says whether the user
/// changed the text.
std::optional<ChipTarget> draw_prompt_box(Frame& frame, const PromptBox& box, const PromptSide* side,
                                          const std::optional<ChipTarget>& pointed, bool* is_changed = nullptr);

/// Draws the chips below a box. `remembered`: the one under the pointer, from frame to frame. `in_text`: another one to
/// highlight.
void draw_prompt_chips(Frame& frame, const char* name, const PromptSide& side, ChipLayout& layout,
                       std::optional<ChipTarget>& remembered, const std::optional<ChipTarget>& in_text);

}  // namespace headlight::app
