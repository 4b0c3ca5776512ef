#pragma once

#include "app/widgets/token_chips.h"

namespace headlight::app {

/// Returns "7 tokens", "9 tokens × 2 lines, padded to the longest".
std::string token_count_text(const model::TokenBatch& tokens);

/// Returns "layer 3: expert 5 (0.61), expert 2 (0.39), shared": where the router of the selected block sends a token of its
/// queries; empty while that isn't known, and without experts.
std::string experts_of_token(Frame& frame, const ChipTarget& token);

/// Returns the weights [token] that the followed query gives these tokens; empty where none is followed, or it is another
/// side that has the keys.
std::vector<float> token_shades(Frame& frame, const model::TokenBatch& tokens);

/// Lights a token's row or column of the map, and opens its menu.
void point_at_token(Frame& frame, const model::TokenBatch& tokens, const ChipTarget& token);
void open_token_menu(Frame& frame, const model::TokenBatch& tokens, const ChipTarget& token);

/// Draws the chips of one side of the run, the encoder's or the decoder's tokens: pointing lights the token's row or column
/// of the map, a click pins it, a right click opens the token's menu. `also_marked`: another chip to highlight. Returns the
/// chip under the pointer.
std::optional<ChipTarget> draw_token_side(Frame& frame, const char* name, const model::TokenBatch& tokens,
                                          ChipLayout& layout, const std::optional<ChipTarget>& also_marked = {});

/// Draws a side whose tokens are the patches of one image as that image, small: pointing and clicks are those of the chips.
/// Tokens beside the patches, such as a class token, are buttons after it. Returns false, having drawn nothing, for others.
bool draw_image_side(Frame& frame, const char* name, const model::TokenBatch& tokens);

}  // namespace headlight::app
