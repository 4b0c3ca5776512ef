#pragma once

#include "app/exports/line_set.h"
#include "app/frame.h"

namespace headlight::app {

/// Is the head drawn?
bool shows_head(const LineChoices& choices, std::uint32_t head, std::uint32_t selected);
/// Changes LineChoices::hidden_heads: one head the other way, or this one alone of `heads`.
void toggle_head(LineChoices& choices, std::uint32_t head, std::uint32_t selected, std::uint32_t heads);
void show_only(LineChoices& choices, std::uint32_t head, std::uint32_t heads);

/// Title, the sentence that explains the view, threshold, sentences of a pair (if `has_pair`), and the legend of heads.
/// Returns the head whose legend the pointer is over. `shown`: the lines of the last frame, which it counts.
std::optional<std::uint32_t> draw_lines_header(Frame& frame, bool has_pair, const LineSet& shown);

}  // namespace headlight::app
