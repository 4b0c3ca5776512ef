#pragma once

#include <optional>
#include <string>

#include "panels/panel.h"
#include "panels/token_chips.h"

namespace headlight::app {

/// What the panel keeps from frame to frame.
struct PromptPanelMemory {
  ChipLayout source, target;
  std::optional<ChipTarget> pointed_source, pointed_target;  ///< chips under the pointer in the last frame
  std::string typed_ids;  ///< as they are being typed: "5, 7," is no other list than "5, 7"
};

/// A model's text: the box, its tokens as chips, a second sentence or a target where the model takes one. Pointing at a
/// token marks its characters, pointing at characters their token. `error`: why the text can't be shown; empty when it can.
void draw_prompt_panel(Frame& frame, PromptPanelMemory& memory, const std::string& error);

}  // namespace headlight::app
