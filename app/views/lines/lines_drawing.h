#pragma once

#include "app/frame.h"
#include "app/views/lines/line_layout.h"

namespace headlight::app {

/// A column of tokens beside the lines: the queries or the keys of the selected line of the batch.
struct LineSide {
  std::vector<std::string> labels;      ///< [token]; the token's index where its text isn't known
  attention::KeyRange real = 0;         ///< that aren't padding
  std::vector<std::uint8_t> sentences;  ///< [token] as LineFilter::query_sentences; empty without a pair
  const char* name = "";                ///< "query", "writes", "key"
  float width = 0.0F;                   ///< of the widest label in the font of labels, UI units
};

struct LineSides {
  LineSide queries, keys;
};

/// Returns both sides of the selected map. Asks for the prediction that names the last row of a target.
LineSides line_sides(Frame& frame);

/// The contents of the area of the lines.
struct DrawnLines {
  const LineLayout& layout;
  const LineSides& sides;
  const LineSet& set;
  std::optional<LockedToken> token = {};     ///< whose lines alone are drawn: hovered or locked
  std::optional<LockedToken> locked = {};    ///< outlined
  std::optional<LockedToken> hovered = {};   ///< its label is tinted
  std::optional<attention::Cell> told = {};  ///< of the sentence: its labels are tinted while no token is pointed at
  const WeightLine* pointed = nullptr;       ///< under the pointer: it is drawn opaque and over the others; null: none
  std::size_t printed = 0;                   ///< weights beside a label, at most
  bool is_difference = false;                ///< of two runs: lines have the colours of signed numbers
  glm::vec2 origin{0.0F};                    ///< of the layout, on screen
};

inline constexpr float kLineThickness = 2.0F;
/// Returns the colour of a line of this weight: its head's, or of a change its sign's, as opaque as in the figure.
shell::Color line_color(const Frame& frame, std::uint32_t head, float weight);

/// Returns the room for so many weights beside a label.
float printed_width(const Frame& frame, std::size_t count);

/// Draws the lines that are visible, in the colours of their heads or signs, then the labels, and beside them the weights of
/// `token`. Visible labels are marked "lines.query.3", "lines.key.0", printed weights "lines.weights.key.0".
void draw_lines(Frame& frame, const DrawnLines& drawn);

/// Is the head drawn?
bool shows_head(const LineChoices& choices, std::uint32_t head, std::uint32_t selected);
/// Changes LineChoices::hidden_heads: one head the other way, or this one alone of `heads`.
void toggle_head(LineChoices& choices, std::uint32_t head, std::uint32_t selected, std::uint32_t heads);
void show_only(LineChoices& choices, std::uint32_t head, std::uint32_t heads);

/// Draws the title, the sentence that explains the view, threshold, sentences of a pair (if `has_pair`), and the legend of
/// heads. Returns the head whose legend the pointer is over. `shown`: the lines of the last frame, which it counts.
std::optional<std::uint32_t> draw_lines_header(Frame& frame, bool has_pair, const LineSet& shown);

}  // namespace headlight::app
