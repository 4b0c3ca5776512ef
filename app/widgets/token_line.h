#pragma once

#include "app/frame.h"
#include "model/network.h"

namespace headlight::app {

/// What a line of chips keeps from frame to frame.
struct TokenLineMemory {
  std::uint64_t run = 0;
  std::uint32_t item = 0;
  const model::TokenBatch* tokens = nullptr;
  std::vector<float> ends;              ///< [token] where each chip ends, from the line's beginning
  std::optional<std::uint32_t> chosen;  ///< that was scrolled into view
};

/// The tokens of one line of the batch as a single row of chips that scrolls sideways, one of them chosen.
struct TokenLine {
  const char* name = "";         ///< of its controls: "neuron.query" gives "neuron.query.3", "neuron.query.next"
  const char* title = "";        ///< "query"
  const char* explanation = "";  ///< tooltip of the chips
  const model::TokenBatch* tokens = nullptr;
  std::uint32_t item = 0;
  std::uint32_t chosen = 0;
  shell::Color color = 0, fill = 0;    ///< of the chosen chip's border and ground, and of the title
  std::span<const float> shades = {};  ///< [token] 0 … 1: how strongly a chip is tinted; empty: not at all
};

struct TokenLineEvents {
  std::optional<std::uint32_t> hovered;
  std::optional<std::uint32_t> chosen;  ///< clicked, or stepped to by the buttons at the line's end
};

inline constexpr float kTokenLineHeight = 26.0F;

/// Draws the line from the cursor on, as wide as the region. Its cost doesn't depend on the number of tokens, except when
/// the run changes.
TokenLineEvents draw_token_line(Frame& frame, const TokenLine& line, TokenLineMemory& memory);

}  // namespace headlight::app
