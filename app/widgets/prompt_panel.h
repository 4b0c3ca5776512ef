#pragma once

#include "app/widgets/next_tokens.h"
#include "app/widgets/token_chips.h"

namespace headlight::app {

/// The panel's state between frames.
struct PromptPanelMemory {
  ChipLayout source, target;
  std::optional<ChipTarget> pointed_source, pointed_target;  ///< chips under the pointer in the last frame
  std::string typed_ids;                                     ///< as typed: "5, 7," is the same list as "5, 7"
  NextTokens next;
  std::string translation;  ///< the text of the target's box while the model generates it
};

/// Draws a model's text: the box, its tokens as chips, a second sentence where the model accepts one. Pointing at a token
/// marks its characters, pointing at characters their token.
void draw_prompt_panel(Frame& frame, PromptPanelMemory& memory);

// The panel's parts, for a panel with another layout.

/// Draws box and chips of the text, or of the ids given instead.
void draw_prompt_source(Frame& frame, PromptPanelMemory& memory);
/// Draws the number of tokens, and the option to add special ones.
void draw_prompt_switches(Frame& frame);

/// Ids as text: a line for each item.
std::string ids_text(const std::vector<std::vector<std::uint32_t>>& lines);

}  // namespace headlight::app
