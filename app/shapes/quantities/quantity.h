#pragma once

#include <compare>

#include "app/state/state.h"
#include "attention/stage.h"
#include "inference/run.h"
#include "model/network.h"

namespace headlight::capture {
struct CapturedScore;
}

namespace headlight::app {

template <typename Result>
class Task;
struct EvaluationSubject;
struct TileQuery;

/// The kind of a matrix's rows or of its columns.
enum class Axis : std::uint8_t {
  Query,     ///< tokens that attend
  Key,       ///< tokens that are attended to
  Token,     ///< tokens of the queries' side
  KeyToken,  ///< tokens of the keys' side
  Feature,   ///< components of a vector
  Expert,    ///< of a mixture
};

/// The way in which values become colours.
enum class ColorKind : std::uint8_t {
  Sequential,  ///< from 0 up
  Diverging,   ///< both signs alike, 0 in the middle
};

/// The role whose colour a matrix has in the interface.
enum class Role : std::uint8_t { Input, Query, Key, Value, Output };

/// The part of a run that has one such matrix, in each batch item.
enum class Scope : std::uint8_t {
  Head,   ///< each head of each block
  Block,  ///< each block
  Kind,   ///< all blocks of a kind together
};

/// A line of quantities(). The stages are the first lines, and each converts to its own.
class QuantityId {
 public:
  constexpr explicit QuantityId(std::size_t index) : index_(static_cast<std::uint16_t>(index)) {}
  constexpr QuantityId(attention::Stage stage) : index_(static_cast<std::uint16_t>(stage)) {}  // NOLINT: a stage is one

  constexpr std::size_t index() const { return index_; }
  constexpr auto operator<=>(const QuantityId&) const = default;

 private:
  std::uint16_t index_;
};

/// Means over heads, of weights.
inline constexpr QuantityId kMeanOfLayer{attention::kStages};     ///< over the heads of a block
inline constexpr QuantityId kMeanOfKind{attention::kStages + 1};  ///< over the heads of all blocks of a kind

/// Norm-weighted attention (Kobayashi et al. 2020), and its means over heads like those of weights.
inline constexpr QuantityId kNorms{attention::kStages + 2};
inline constexpr QuantityId kNormsOfLayer{attention::kStages + 3};
inline constexpr QuantityId kNormsOfKind{attention::kStages + 4};

/// The attention that a formula is written for. `layer` may be null: its options aren't known.
struct FormulaSubject {
  model::BlockRef block;
  const model::AttentionLayer* layer = nullptr;
  std::uint32_t head = 0;
  const attention::MaskSpec* mask = nullptr;  ///< whose score expression and biases are shown; null: none
  std::optional<attention::ReplacementPattern> pattern = std::nullopt;  ///< that takes the place of the head's own
  const capture::CapturedScore* score = nullptr;                        ///< of a capture: its bias and sinks
};

/// A quantity that can be drawn of a run, or of two: one matrix for each head, block or kind of attention.
struct Quantity {
  std::string id = {};            ///< of files and flags, never changed: "weights", "mean-layer", "difference-weights"
  std::string title = {};         ///< "attention weights"
  std::string symbol = {};        ///< in formulas and cells, as math_text sets it: "A"
  std::string figure_title = {};  ///< in figures, which have no formula: "raw scores Q·Kᵀ"
  std::string value_title = {};   ///< of a figure's colour bar: "attention weight"
  std::string unit = {};          ///< of one value: "weight", "score", "norm"; empty: a component of a vector
  Axis rows = Axis::Query, columns = Axis::Key;
  std::string width = {};  ///< of columns that are features, in the field's letters: "d_k"
  ColorKind colors = ColorKind::Diverging;
  Role role = Role::Output;
  attention::Stage stage = attention::Stage::X;  ///< whose extent, masked cells and pooling it has
  Scope scope = Scope::Head;
  std::optional<QuantityId> base = {};  ///< of a difference of two runs, or of the baseline alone: of what
  bool is_of_baseline = false;          ///< the baseline's numbers of `base`, instead of a difference
  std::string (*formula)(const FormulaSubject& subject) = nullptr;
  Task<attention::Tile> (*evaluate)(const TileQuery& query, const EvaluationSubject& subject) = nullptr;  ///< a tile of it

  /// Returns [rows, columns] of one matrix; nullopt where the block has none.
  std::optional<inference::BlockShape::Extent> shape(const inference::BlockShape& block) const {
    return block.extent(stage);
  }
  /// Is there a mask over its cells, whether it is before or after them?
  bool is_map() const { return attention::is_map(stage); }
};

/// Returns all of them: the stages in the order of computation, the means over heads, norms, then the differences of two
/// runs in each, then the baseline's weights and their means.
std::span<const Quantity> quantities();
const Quantity& quantity(QuantityId id);
std::optional<QuantityId> find_quantity(std::string_view id);

/// Returns run − baseline of a quantity that isn't a difference itself.
QuantityId difference_of(QuantityId id);

/// Returns the baseline's weights, or a mean of them: of Stage::Weights, kMeanOfLayer or kMeanOfKind.
QuantityId baseline_of(QuantityId id);

/// Returns "query", "key", "token", "key token", "feature" or "expert".
std::string_view to_string(Axis axis);
/// Returns the space of a matrix in the field's letters: "ℝ^{n×d_k}".
std::string space_of(const Quantity& quantity, const inference::BlockShape& shape, model::BlockKind kind);

}  // namespace headlight::app
