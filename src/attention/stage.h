#pragma once

#include <array>
#include <vector>

#include "core/error.h"
#include "model/config.h"

namespace headlight::attention {

/// Every matrix of the calculation that can be shown, in the order in which it is computed.
enum class Stage : std::uint8_t {
  Residual,  ///< the residual stream that the block reads [token, d_model]; only of blocks that add to one, as all stages
             ///< from AttentionSum on
  X,         ///< query_input [token, d_model], after the norm before it
  Q,         ///< [token, d_k] of one head, after its norm and rotary positions where the model has them
  K,         ///< [key token, d_k], likewise
  V,         ///< [key token, d_v]
  Scores,    ///< Q·Kᵀ [query, key]
  ContentPosition,  ///< what the keys' distances add to a query's scores [query, key]: only of blocks with such vectors …
  PositionContent,  ///< … and what the queries' distances add to a key's
  Scaled,           ///< scale · (the sum of these), capped and with the position bias where the model has them
  Masked,           ///< scaled, masked cells replaced by the fill
  Weights,          ///< softmax over the keys
  Heads,            ///< weights · V [token, d_v], times the head's gain
  Merged,           ///< all heads side by side [token, heads·d_v]
  Output,           ///< merged · W_Oᵀ + b_O [token, d_model]
  AttentionSum,     ///< residual + output, where a norm follows the sum (post-norm) [token, d_model]
  Attended,         ///< the residual stream after attention, and after the norm of the sum where there is one
  FfnInput,         ///< norm(attended), where the feed-forward has a norm before it (pre-norm)
  FfnRouter,        ///< of experts: the router's logits [token, expert] …
  FfnGates,         ///< … and gates: what the chosen experts' results are multiplied by, 0 for the others
  FfnGate,          ///< of gated feed-forwards: gate layer before its activation [token, d_ff]
  FfnHidden,        ///< first linear layer before the activation [token, d_ff]
  FfnActive,        ///< activation(hidden), or activation(gate) ⊙ hidden [token, d_ff]
  FfnOutput,        ///< second linear layer, or the sum over experts [token, d_model]
  FfnSum,           ///< attended + what the feed-forward adds, where a norm follows the sum
  Next,             ///< the residual stream that the next layer reads, before any change of it
};
/// Names of files, flags and menus.
inline constexpr std::array<std::string_view, 25> kStageNames = {
    "residual",         "x",          "q",         "k",       "v",     "scores",   "content_position",
    "position_content", "scaled",     "masked",    "weights", "heads", "merged",   "output",
    "attention_sum",    "attended",   "ffn_input", "router",  "gates", "ffn_gate", "ffn_hidden",
    "ffn_active",       "ffn_output", "ffn_sum",   "next"};
inline constexpr std::size_t kStages = kStageNames.size();
constexpr std::string_view to_string(Stage stage) { return kStageNames[static_cast<std::size_t>(stage)]; }

/// Is the stage a map over (query, key)? Those are computed on demand and never stored.
constexpr bool is_map(Stage stage) { return stage >= Stage::Scores && stage <= Stage::Weights; }
/// The number of a map among the maps.
constexpr std::size_t map_index(Stage map) {
  return static_cast<std::size_t>(map) - static_cast<std::size_t>(Stage::Scores);
}
inline constexpr std::size_t kMaps = map_index(Stage::Weights) + 1;
/// Is it of keys, whose heads are the KV heads and whose rows are the other side's tokens in a cross-attention?
constexpr bool is_of_keys(Stage stage) { return stage == Stage::K || stage == Stage::V; }
/// Does the stage have a matrix for each head (true) or one for all of them?
constexpr bool is_per_head(Stage stage) { return stage >= Stage::Q && stage <= Stage::Heads; }
/// Is it of the residual stream or the feed-forward, where runs keep nothing and a question computes it again?
constexpr bool is_of_stream(Stage stage) { return stage == Stage::Residual || stage > Stage::Output; }
/// Does a pass keep it? Heads are parts of Merged.
constexpr bool is_stored(Stage stage) { return !is_map(stage) && !is_of_stream(stage) && stage != Stage::Heads; }

/// The meaning of one value of a pooled tile of weights for its square of cells. Other stages show the mean with
/// either.
enum class Pooling : std::uint8_t {
  Max,   ///< the largest weight: a peak never vanishes
  Mean,  ///< the mean over all cells of the square, those that are masked included
};

/// Edge of the squares from which on a sample of their rows can be asked for.
inline constexpr std::uint32_t kMinSampledPool = 32;

/// A rectangle of one stage's matrix, perhaps pooled: what a view asks for.
struct TileRequest {
  model::BlockRef block = {};
  std::uint32_t batch = 0;
  std::uint32_t head = 0;  ///< ignored by stages that are not per head
  Stage stage = Stage::Weights;
  std::uint32_t row = 0;      ///< first row
  std::uint32_t rows = 0;     ///< at least 1
  std::uint32_t column = 0;   ///< first column
  std::uint32_t columns = 0;  ///< at least 1
  /// Rows of the rectangle of cells that one value stands for of the tile, and its columns where `pooled_columns` gives no
  /// others: 1 is exact; above, weights are pooled as `pooling` says, every other stage by the mean; of masked scores the
  /// mean of those that are visible.
  std::uint32_t pool = 1;
  Pooling pooling = Pooling::Max;
  /// The number of first rows that are read of each square: a sample of the queries with all of their keys. 0: every
  /// row; only that is exact. It applies to the largest weights of squares of at least kMinSampledPool rows; (m, l) are
  /// still of every row.
  std::uint32_t sampled_rows = 0;
  /// Columns that one value stands for, so that the long side of a matrix isn't the reason to pool its short one: vectors of
  /// a long text, few queries with many keys. 0: as many as rows.
  std::uint32_t pooled_columns = 0;

  auto operator<=>(const TileRequest&) const = default;
  std::uint32_t column_pool() const { return pooled_columns > 0 ? pooled_columns : pool; }
  /// Is each value one cell?
  bool is_exact() const { return pool == 1 && column_pool() == 1; }
  std::uint32_t tile_rows() const { return (rows + pool - 1) / pool; }
  std::uint32_t tile_columns() const { return (columns + column_pool() - 1) / column_pool(); }
  /// Cells that are computed, at most.
  std::size_t cells() const {
    return (sampled_rows == 0 ? std::size_t{rows} : std::size_t{tile_rows()} * sampled_rows) * columns;
  }
};

/// The numbers of a request, in host memory.
struct Tile {
  TileRequest request;
  std::vector<float> values;  ///< [tile_rows, tile_columns]; a masked cell of Stage::Masked holds the fill (may be −inf)
  std::vector<std::uint8_t> masked;  ///< maps only: 1 where all cells of the value are masked
  /// Maps only, one per *matrix row* of the request: m = max of the masked scores, l = Σ exp(score − m).
  /// The row's log-sum-exp is m + ln l, its largest weight 1/l. A fully masked row under −inf has m = −inf, l = 0.
  std::vector<float> row_max;
  std::vector<float> row_sum;
  /// Of weights that were evaluated for a view or a figure the largest of the whole matrix, without rows of padding and
  /// those that see a single key, whose weight is 1 whatever the head does. 0: unknown, or there is no other row.
  float largest = 0.0F;

  float at(std::uint32_t tile_row, std::uint32_t tile_column) const {
    return values[std::size_t{tile_row} * request.tile_columns() + tile_column];
  }
  bool is_masked(std::uint32_t tile_row, std::uint32_t tile_column) const {
    return !masked.empty() && masked[std::size_t{tile_row} * request.tile_columns() + tile_column] != 0;
  }
};

}  // namespace headlight::attention
