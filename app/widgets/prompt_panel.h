#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/frame.h"
#include "app/widgets/token_chips.h"

namespace headlight::app {

/// What the panel keeps from frame to frame.
struct PromptPanelMemory {
  ChipLayout source, target;
  std::optional<ChipTarget> pointed_source, pointed_target;  ///< chips under the pointer in the last frame
  std::string typed_ids;    ///< as they are being typed: "5, 7," is no other list than "5, 7"
  std::string translation;  ///< what the target's box shows while the model writes it
};

/// A model's text: the box, its tokens as chips, a second sentence where the model takes one. Pointing at a token marks its
/// characters, pointing at characters their token. `error`: why the text can't be shown; empty when it can.
void draw_prompt_panel(Frame& frame, PromptPanelMemory& memory, const std::string& error);

// Its parts, for a panel that sets them out otherwise.

/// Box and chips of the text, or of the ids given instead.
void draw_prompt_source(Frame& frame, PromptPanelMemory& memory, const std::string& error);
/// How many tokens there are, and whether special ones are added.
void draw_prompt_switches(Frame& frame);

/// Ids as people read and type them: a line for each item.
std::string ids_text(const std::vector<std::vector<std::uint32_t>>& lines);

}  // namespace headlight::app
