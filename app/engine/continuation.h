#pragma once

#include "app/engine/engine.h"
#include "app/engine/predictions.h"
#include "app/state/state.h"

namespace headlight::app {

/// The text that `ids` add after `before`; empty for special tokens. An incomplete character ends in U+FFFD
/// (ends_inside_character).
std::string continuation_text(const text::Tokenizer& tokenizer, std::span<const std::uint32_t> before,
                              std::span<const std::uint32_t> ids);
bool ends_inside_character(const std::string& text);

/// Makes a single item's text one text of several lines, so that it may have line breaks; false for a batch, whose items are
/// lines.
bool take_line_breaks(State& state);

/// Adds text at the end of a batch item's line: the typed text's, the assistant's turn in a chat, or the target's of an
/// encoder–decoder.
void append_to_item(State& state, const EngineResult& result, std::uint32_t item, const std::string& text);

/// Inserts a predicted token at its position: after the last token, instead of the next one, or instead of a mask. Returns
/// false, without a change, when the token has no text that could be there (special tokens, line ends).
bool put_token(State& state, const EngineResult& result, const PredictionPosition& position, std::uint32_t id);

/// Ids of an item's real tokens on the predicted side.
std::vector<std::uint32_t> predicted_ids(const EngineResult& result, std::uint32_t item);

}  // namespace headlight::app
