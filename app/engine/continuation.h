#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "app/engine/engine.h"
#include "app/engine/predictions.h"
#include "app/state/state.h"

namespace headlight::app {

/// What reading `ids` after `before` adds to the text; empty for special tokens. A character whose bytes aren't complete yet
/// ends in U+FFFD (ends_inside_character).
std::string continuation_text(const text::Tokenizer& tokenizer, std::span<const std::uint32_t> before,
                              std::span<const std::uint32_t> ids);
bool ends_inside_character(const std::string& text);

/// Adds text at the end of a batch item's line: the typed text's, or the target's of an encoder–decoder.
void append_to_item(State& state, const EngineResult& result, std::uint32_t item, const std::string& text);

/// Puts a predicted token where it was predicted: behind the last token, in the place of the next one, or in the place of a
/// mask. Returns false when the token has no text that could stand there (special tokens, line ends); nothing has changed
/// then.
bool put_token(State& state, const EngineResult& result, const PredictionPlace& place, std::uint32_t id);

/// Ids of an item's real tokens on the side that predictions are of.
std::vector<std::uint32_t> predicted_ids(const EngineResult& result, std::uint32_t item);

}  // namespace headlight::app
