#pragma once

#include <array>
#include <optional>
#include <span>

#include "attention/stage.h"
#include "model/head_weight.h"
#include "model/site.h"

namespace headlight::attention {

/// Sizes of one block of a run: what a view needs to lay out its matrices.
struct BlockShape {
  std::uint32_t batch = 0, heads = 0, queries = 0, keys = 0, d_model = 0, d_k = 0, d_v = 0;
  std::uint32_t kv_heads = 0;  ///< of K and V; divides heads
  std::uint32_t d_merged = 0;  ///< heads·d_v
  std::uint32_t d_output = 0;  ///< 0: no output projection, stage Output doesn't exist
  bool has_input = false;      ///< false: Q, K, V were given, stage X doesn't exist
  bool has_values = true;      ///< false: of a capture, stages V, Heads and Merged don't exist
  /// Distances add to the scores: stages ContentPosition and PositionContent exist.
  bool has_content_position = false, has_position_content = false;
  bool only_weights = false;  ///< of a capture that has weights alone: neither do Q, K and the scores
  /// The block adds to a residual stream: stages Residual and Attended exist, and AttentionSum where the sum is normed.
  bool has_residual = false, norms_sum = false;
  bool norms_input = false;  ///< X is a norm of Residual; else it is Residual itself
  /// A feed-forward follows this block, not another block: stages FfnOutput and Next exist.
  bool has_feed_forward = false;
  std::uint32_t d_ff = 0;     ///< its inner width, with stages FfnHidden and FfnActive; 0: it has experts
  std::uint32_t experts = 0;  ///< how many; 0: it has none, nor stages FfnRouter and FfnGates
  bool is_parallel = false;   ///< the feed-forward reads Residual instead of Attended
  bool has_gate = false;      ///< stage FfnGate exists
  bool norms_ffn_input = false, norms_ffn_sum = false;  ///< stages FfnInput and FfnSum exist

  bool operator==(const BlockShape&) const = default;

  /// [rows, columns] of one matrix of the stage, or nullopt when the block has no such stage.
  struct Extent {
    std::uint32_t rows = 0, columns = 0;
  };
  std::optional<Extent> extent(Stage stage) const;

  /// Heads that share a KV head.
  std::uint32_t group() const { return kv_heads == 0 ? 1 : heads / kv_heads; }
  /// Matrices of a batch item that a stage of the block has.
  std::uint32_t matrices(Stage stage) const { return is_of_keys(stage) ? kv_heads : is_per_head(stage) ? heads : 1; }
  /// The one of them that belongs to a head.
  std::uint32_t matrix_of(Stage stage, std::uint32_t head) const {
    return is_of_keys(stage) ? head / group() : is_per_head(stage) ? head : 0;
  }
};

/// Throws Error naming the stage when a request lies outside its matrix, or a block of this shape has no such stage.
void check(const BlockShape& shape, const TileRequest& request);

/// The operation that makes a stage from its inputs. Each one determines which of their cells are read; app/ has the
/// names shown to users.
enum class LayerOperation : std::uint8_t {
  Given,     ///< the input of the block, or what a capture has
  Same,      ///< its input, as it is
  Norm,      ///< norm(input)
  Linear,    ///< inside(input · W + b): of queries and keys normed, cut and rotated where the layer does so
  Dot,       ///< first · secondᵀ
  Distance,  ///< input · the vector of the distance between query and key
  Scale,     ///< scale · (the sum of the inputs), capped and with a position bias where the layer has them
  Mask,      ///< input, or the fill
  Softmax,   ///< over the keys
  Mix,       ///< first · second: weights times values
  Merge,     ///< all heads side by side
  Add,       ///< first + factor · norm(second)
  Route,     ///< gates from a router's logits
  Activate,  ///< activation(last), or activation(first) ⊙ second
  Experts,   ///< Σ gate · expert(first); the gates are the second input
};

/// A weight matrix of a layer.
enum class LayerWeight : std::uint8_t { Query, Key, Value, Output, Gate, Hidden, Ffn, Router };

/// A stage of a layer, and how it is made.
struct LayerNode {
  Stage stage = Stage::X;
  LayerOperation operation = LayerOperation::Given;
  BlockShape::Extent extent = {};
  std::array<Stage, 3> all_inputs = {};  ///< `inputs()` of them
  std::uint8_t input_count = 0;
  bool reads_memory = false;               ///< of cross-attention's keys and values, whose input is no stage
  std::optional<LayerWeight> weight = {};  ///< Linear's
  const model::Linear* linear = nullptr;   ///< the same as numbers; null: the layer isn't known, or has none
  const model::Norm* norm = nullptr;       ///< Norm's; of Linear after it, of Add before it; null: none, or not known
  float factor = 1.0F;                     ///< Add's

  std::span<const Stage> inputs() const { return std::span(all_inputs).first(input_count); }
};

/// The stages of a block in the order of computation.
class LayerGraph {
 public:
  /// `layer` may be null: only the shape is known.
  LayerGraph(const BlockShape& shape, model::BlockKind kind, const model::AttentionLayer* layer = nullptr);
  /// Builds the graph of a layer without a text: with one query and one key.
  LayerGraph(model::BlockKind kind, const model::AttentionLayer& layer);

  /// Returns the nodes of a graph that lives on: a loop over those of a temporary one would read what is gone.
  std::span<const LayerNode> nodes() const& { return std::span(nodes_).first(count_); }
  std::span<const LayerNode> nodes() && = delete;
  /// nullptr: the block has no such stage.
  const LayerNode* find(Stage stage) const;

 private:
  LayerNode& add(Stage stage, LayerOperation operation, std::initializer_list<Stage> inputs, BlockShape::Extent extent);
  /// Projects `from`, or the memory, with one of the layer's weights.
  LayerNode& add_linear(Stage stage, LayerWeight weight, Stage from, BlockShape::Extent extent);
  void add_attention(const BlockShape& shape, bool is_cross);
  void add_feed_forward(const BlockShape& shape);
  /// result ← after(stream + factor · inside(branch)), where the norm after it makes the sum a stage of its own.
  void add_sum(bool is_normed, Stage sum, Stage result, Stage stream, Stage branch, const model::BranchNorms* norms,
               BlockShape::Extent extent);

  const model::AttentionLayer* layer_;
  std::array<LayerNode, kStages> nodes_;
  std::size_t count_ = 0;
};

/// Sizes of a layer's block for so many tokens.
BlockShape shape_of(const model::AttentionLayer& layer, std::uint32_t batch, std::uint32_t queries, std::uint32_t keys);

/// The stage whose numbers are those of a site, as far as the block has it.
Stage stage_of(model::Site site);

/// The columns of a weight, in X · W: those of the head of W_Q, W_K and W_V, else all. Without a layer where it has none.
model::HeadWeight columns_of(const model::AttentionLayer& layer, LayerWeight weight, std::uint32_t head);
/// nullptr: the layer has none.
const model::Linear* linear_of(const model::AttentionLayer& layer, LayerWeight weight);

}  // namespace headlight::attention
