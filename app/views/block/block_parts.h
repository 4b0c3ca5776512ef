#pragma once

#include "app/widgets/block_flow.h"

namespace headlight::app {

/// Draws the view's header from the cursor on: the layer and head on show, how the family computes them, the query heads
/// over the KV heads that they read, and the size of the residual stream by layer. `token`: the token whose vector the chart
/// shows beside the mean. `is_low`: the header takes two lines and the sentence, without the chart, with kHeaderTools left
/// free at the right of the first.
void draw_block_header(Frame& frame, const HeadSubject& subject, std::uint32_t token, bool is_low);

/// The width left free for tools beside the title of a low header.
inline constexpr float kHeaderTools = 372.0F;

/// Draws the node's matrix with numbers, row and column labels, in a region that scrolls, from the cursor on. Returns the
/// cell under the pointer.
std::optional<attention::Cell> draw_unfolded(Frame& frame, const BlockNode& node,
                                             const std::optional<attention::Cell>& marked);

/// Draws a cell of one of the layer's matrices, written out with real numbers, in a strip of this height; an empty one
/// without a node.
void draw_cell_strip(Frame& frame, const HeadSubject& subject, const BlockNode* node, attention::Cell cell, float height,
                     bool& shows_all_terms);

/// Lengths of the residual stream's vectors [layers + 1]: the mean over tokens, and of one token.
struct ResidualCurve {
  std::vector<float> mean, token;
};

/// Returns the curve of lengths [layers + 1, tokens]; padding isn't counted: tokens [first, end). Only whole layers count.
ResidualCurve residual_curve(std::span<const float> lengths, std::uint32_t tokens, std::uint32_t first, std::uint32_t end,
                             std::uint32_t token);

/// Draws the link to the largest activations in these words, whose upper right corner is `corner`. Returns its width.
float draw_largest_link(Frame& frame, const std::string& words, glm::vec2 corner);
/// Draws how long the residual stream's vectors are before the first layer and after each, on the mean and of the token, in
/// `area`; the selected layer is marked, and a click on another one selects it.
void draw_residual_chart(Frame& frame, const chart::Rect& area, std::uint32_t token);

}  // namespace headlight::app
