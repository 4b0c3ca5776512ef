#pragma once

#include <array>
#include <functional>
#include <vector>

#include "attention/layer_graph.h"
#include "model/reference.h"

namespace headlight::model::reference {

/// A layer as its graph describes it, in plain loops: each stage by its operation, from its inputs.

/// torch.nn.functional's relu, gelu, gelu(approximate="tanh") and silu, relu squared, and transformers' quick_gelu.
double activated(Activation activation, double x);

/// The numbers of a block's stages: [batch, head, row, column] of each head, K and V with config.kv_heads heads; else
/// [batch, row, column]. A stage that the block doesn't have is empty, and so are maps that a pass doesn't keep.
class AttentionStages {
 public:
  const Array& operator[](attention::Stage stage) const { return arrays_[static_cast<std::size_t>(stage)]; }
  Array& operator[](attention::Stage stage) { return arrays_[static_cast<std::size_t>(stage)]; }

  Array row_max, row_sum;  ///< [batch, head, query]: m and l of softmax; −inf and 0 where nothing is visible

 private:
  std::array<Array, attention::kStages> arrays_;
};

/// Is key j visible to query i in this batch item and head of a block, whose window it knows?
using Visibility =
    std::function<bool(BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query, std::uint32_t key)>;

/// Changes a cell's number and returns it: a scaled score before the mask, softcap and position bias included, or a weight
/// after softmax.
using ScoreEdit = std::function<double(BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query,
                                       std::uint32_t key, double number)>;

/// Changes the numbers of a site [batch, head, token, d] of a block where the pass has computed them; sites without heads
/// have one. Of Site::Weights the numbers are the queries, where a uniform pattern begins.
using SiteEdit = std::function<void(BlockRef block, Site site, Array& values)>;

/// The rules of one attention beside its Q, K and V. Its functions may be called from several threads.
struct Attention {
  AttentionConfig config;
  BlockRef block;
  Visibility is_visible;
  double fill = 0.0;                            ///< of masked scores
  ScoreEdit score = {};                         ///< none: they stay
  ScoreEdit weight = {};                        ///< likewise
  bool is_single = false;                       ///< Arithmetic::is_single
  std::uint32_t item = 0, head = 0, query = 0;  ///< of the stages' first matrix and row, as its functions count them
};

/// One row of a head's maps, every key.
struct AttentionRow {
  std::array<std::vector<double>, attention::kMaps> maps;
  std::vector<std::uint8_t> is_visible;
  double max = 0.0, sum = 0.0;  ///< m and l

  std::vector<double>& operator[](attention::Stage map) { return maps[attention::map_index(map)]; }
};
/// `stages` has Q and K, and what distances add to the scores. `only_visible`: scores of masked cells stay 0, which their
/// weights don't depend on.
AttentionRow attention_row(const Attention& attention, const AttentionStages& stages, std::uint32_t batch,
                           std::uint32_t head, std::uint32_t query, bool only_visible = false);

/// How a pass computes. The oracle's way is the plain one: one thread, double precision, every map kept.
struct Arithmetic {
  /// y = x · weightᵀ + bias over the last axis; none: apply().
  std::function<Array(const Linear& linear, const Array& x)> multiply = {};
  /// Calls part(0) … part(count − 1), perhaps on several threads; none: one after the other.
  std::function<void(std::uint32_t count, double multiply_adds, const std::function<void(std::uint32_t)>& part)> loop = {};
  bool keeps_maps = true;  ///< [query, key] of every head
  bool is_single = false;  ///< each stage is rounded to float32, as a device's are, and may be infinite where these are

  Array multiplied(const Linear& linear, const Array& x) const { return multiply ? multiply(linear, x) : apply(linear, x); }
  /// Returns x as such a pass writes it.
  Array written(Array x) const;
};

/// One attention from given Q, K, V and what distances add to the scores: its maps, row_max, row_sum, heads and merged.
void attend(const Attention& attention, AttentionStages& stages, const Arithmetic& arithmetic = {});

/// Returns the projection of a head's vectors of distances, by which `stage` multiplies; null: they are used as they are.
const Linear* distance_projection(const AttentionLayer& layer, attention::Stage stage);
/// Returns a row [key] of `stage`: what distances add to the scores of a query. `vectors` [row, d_k] are of its head, and so
/// are its query, [d_k], and its keys, [key, d_k].
std::vector<double> distance_row(attention::Stage stage, const DistanceVectors& distances, const Array& vectors,
                                 std::uint32_t query_number, const double* query, const double* keys, std::uint32_t count);

/// Rules of a pass that aren't in the network: visibility, edits, arithmetic. Objects that its functions refer to must
/// outlive the pass.
struct PassRules {
  Visibility is_visible;
  /// The number that replaces masked scores, indexed by BlockKind; −inf leaves fully masked rows without weights
  /// (zeros).
  std::array<double, kBlockKinds> fills = {};
  SiteEdit edit = {};
  ScoreEdit score = {}, weight = {};
  Arithmetic arithmetic = {};
  /// Gets each block when its layer is computed, with the layer's input, and then Run has neither stages nor
  /// logits; without this function it has both.
  std::function<void(BlockRef block, const Array& x, AttentionStages&& stages)> take = {};

  /// Applies the edit of a site without heads to x [batch, token, d].
  Array edited(BlockRef block, Site site, Array x) const;
};

/// The attention of a block as a pass computes it. All arguments must outlive it.
Attention attention_of(const Network& network, const ModelInput& input, const PassRules& rules, BlockRef block);

/// The stages of a block, from its layer's input [batch, token, d_model]; `memory` is the encoder's result, which a
/// cross-attention reads. The last stage of the block's graph is what the layer returns.
AttentionStages run_block(const Network& network, const ModelInput& input, const PassRules& rules, BlockRef block,
                          const Array& x, const Array& memory);

}  // namespace headlight::model::reference
