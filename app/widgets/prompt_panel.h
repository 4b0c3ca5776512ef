#pragma once

#include "app/widgets/examples.h"
#include "app/widgets/next_tokens.h"
#include "app/widgets/prompt_box.h"

namespace headlight::app {

/// The state of a model's text between frames.
struct PromptPanelMemory {
  ChipLayout source, target;
  BoxTokens source_tokens, pair_tokens, target_tokens;
  std::optional<ChipTarget> pointed_source, pointed_target;  ///< chips under the pointer in the last frame
  std::optional<ChipTarget> in_source, in_target;            ///< the token at the pointer or the caret in the boxes
  std::string typed_ids;                                     ///< as typed: "5, 7," is the same list as "5, 7"
  NextTokens next;
  std::string translation;  ///< the text of the target's box while the model generates it
};

/// Draws the box of the text, or of the ids given instead. Pointing at characters lights their token.
void draw_prompt_source(Frame& frame, PromptPanelMemory& memory);
/// Has the model a second sentence, and draw its box.
bool has_pair(const Frame& frame);
void draw_prompt_pair(Frame& frame, PromptPanelMemory& memory);
/// Draws a button that opens a list of example texts; nothing where there are none.
void offer_examples(Frame& frame, std::span<const Example> examples);
/// Draws what belongs to the text besides: examples, tokens as chips (pointing at one marks its characters), and switches.
void draw_prompt_settings(Frame& frame, PromptPanelMemory& memory);

/// Ids as text: a line for each item.
std::string ids_text(const std::vector<std::vector<std::uint32_t>>& lines);

}  // namespace headlight::app
