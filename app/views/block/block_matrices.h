#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "app/analyses/block_states.h"
#include "app/frame.h"
#include "app/views/block/block_plan.h"
#include "app/widgets/head_subject.h"
#include "attention/mask.h"

namespace headlight::app {

/// What the matrices of a layer are read from.
struct BlockSource {
  HeadSubject subject;
  const BlockStates* states = nullptr;  ///< null while they aren't known, or where there is no residual stream
  std::uint64_t states_run = 0;         ///< the run that they are of
  std::shared_ptr<const AnalysisResult> kept_states = {};  ///< owns `states`
  std::string no_states;                                   ///< why there are none; empty: they are being computed
  bool is_compared = false;                                ///< matrices are drawn as differences to the baseline
  std::shared_ptr<const BlockStates> changes = {};         ///< then: `states` less the baseline's; null: not known yet
  const Analysed* baseline = nullptr;                      ///< the baseline's states, in this frame; null: as above
};

/// Asks for the states of the selected block around a token.
BlockSource read_block(Frame& frame, std::uint32_t token);

/// Numbers [tokens, width] of a state in this run; empty while they aren't known or can't be had.
std::span<const float> state_values(const BlockSource& source, StateMatrix state);
/// Likewise what is drawn of it: the run's numbers, or what they changed by.
std::span<const float> drawn_values(const BlockSource& source, StateMatrix state);
/// One number of it; `row` counts from the first token of the sequence.
std::optional<float> state_value(const BlockSource& source, StateMatrix state, std::uint32_t row, std::uint32_t column);

/// The rows of a matrix that are shown: all, or of a state the window of tokens that is known.
struct ShownRows {
  std::uint32_t first = 0, count = 0;
};
ShownRows shown_rows(const BlockSource& source, const BlockNode& node);

/// Why a node has no numbers; empty: it has, or they are being computed.
std::string why_empty(const BlockSource& source, const BlockNode& node);

/// What is asked for a stage's matrix that is drawn in `area`, UI units.
TileQuery node_query(const Frame& frame, const BlockSource& source, const BlockNode& node, glm::vec2 area);

/// The node's matrix as a small heatmap in `area`, of which only `clip` is drawn. `place` names the use: one node may be
/// drawn twice in a frame. Returns whether its numbers are known.
bool draw_node_heatmap(Frame& frame, const BlockSource& source, const BlockNode& node, const view::Rect& area,
                       const view::Rect& clip, std::uint32_t place);

/// The node's matrix with numbers, row and column labels, in a region that scrolls, from the cursor on. Returns the cell
/// under the pointer.
std::optional<attention::Cell> draw_unfolded(Frame& frame, const BlockSource& source, const BlockNode& node,
                                             const std::optional<attention::Cell>& marked);

}  // namespace headlight::app
