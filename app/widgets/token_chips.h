#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The layout of one side's chips; computed once per run and width, so that a frame's cost depends only on the visible
/// ones.
struct ChipLayout {
  struct Chip {
    glm::vec2 origin{0.0F};  ///< from the area's top left corner
    float width = 0.0F;
    std::uint32_t item = 0, token = 0;
    bool is_padding = false, is_special = false;
  };
  std::vector<Chip> chips;      ///< by y
  std::vector<float> item_top;  ///< [batch + 1] start of each line of the batch, and the end of the last
  std::uint64_t run = 0;
  float width = 0.0F;

  float height() const { return item_top.empty() ? 0.0F : item_top.back(); }
};

/// A token of one side.
struct ChipTarget {
  std::uint32_t item = 0, token = 0;

  bool operator==(const ChipTarget&) const = default;
};

/// The chips' events in this frame.
struct ChipEvents {
  std::optional<ChipTarget> hovered, clicked, right_clicked;
};

/// The marks of chips.
struct ChipMarks {
  std::uint32_t item = 0;                    ///< the selected line
  std::optional<std::uint32_t> query, key;   ///< under the pointer: tinted in the role's colour
  std::optional<std::uint32_t> pinned = {};  ///< outlined
  std::optional<ChipTarget> pointed = {};    ///< highlighted like the one under the pointer
  /// [token] of the selected line, 0 … 1: how much the chips are shaded in the keys' colour; empty: not at all.
  std::span<const float> shades = {};
  /// [batch][real token] of a model's prompt, to distinguish special ones; null without a model.
  const std::vector<std::vector<text::Token>>* special = nullptr;
  /// A line of the tooltip about a token; empty: there is none.
  std::function<std::string(const ChipTarget& token)> about = {};
  bool shows_padding = false;  ///< pad tokens as quiet chips; else a line has its own tokens alone
};

/// Draws tokens as chips, every line of the batch on rows of its own; scrolls when there are many.
/// Visible chips are named "<name>.<item>.<token>" for tests.
ChipEvents draw_token_chips(Frame& frame, const std::string& name, const model::TokenBatch& tokens, const ChipMarks& marks,
                            ChipLayout& layout);

/// The state of a line of chips from frame to frame.
struct TokenLineMemory {
  std::uint64_t run = 0;
  std::uint32_t item = 0;
  const model::TokenBatch* tokens = nullptr;
  std::vector<std::string> names;       ///< TokenLine::names
  std::vector<float> ends;              ///< [token] where each chip ends, from the line's beginning
  std::optional<std::uint32_t> chosen;  ///< that was scrolled into view
};

/// The tokens of one line of the batch as a single row of chips that scrolls sideways, one of them chosen.
struct TokenLine {
  const char* name = "";         ///< of its controls: "neuron.query" gives "neuron.query.3", "neuron.query.next"
  const char* title = "";        ///< "query"
  const char* explanation = "";  ///< tooltip of the chips
  const model::TokenBatch* tokens = nullptr;
  const std::vector<std::string>* names = nullptr;  ///< [token] in place of the batch's labels
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
