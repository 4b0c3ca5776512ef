#pragma once

#include "app/frame.h"
#include "app/widgets/token_chips.h"

namespace headlight::app {

/// "7 tokens", "9 tokens × 2 lines, padded to the longest".
std::string token_count_text(const model::TokenBatch& tokens);

/// Before any side is drawn: tokens that were pointed at in the last frame aren't any more, but the row that was decides how
/// the keys' chips are shaded in this one (Transient::followed_query).
void forget_pointed_tokens(Frame& frame);

/// The chips of one side of the run, the encoder's or the decoder's tokens: pointing lights the token's row or column of the
/// map, a click pins it. `also_marked`: a chip to light besides. Returns what the pointer is over.
std::optional<ChipTarget> draw_token_side(Frame& frame, const char* name, const model::TokenBatch& tokens,
                                          ChipLayout& layout, const std::optional<ChipTarget>& also_marked = {});

}  // namespace headlight::app
