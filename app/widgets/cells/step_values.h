#pragma once

#include <tuple>

#include "app/frame.h"
#include "app/widgets/cells/cell_sources.h"
#include "app/widgets/cells/step_matrix.h"

namespace headlight::app {

/// The selected head's attention, its layer (null while there is no network) and its geometry.
struct HeadSubject {
  model::BlockRef block;
  const model::AttentionLayer* layer = nullptr;
  BlockGeometry geometry;

  bool has_all_heads = false;                   ///< Steps: weights of all heads
  const model::Embedding* embedding = nullptr;  ///< of layer 0, where its vectors come from a table; else null
  const model::TokenBatch* tokens = nullptr;    ///< whose vectors they are
  /// Returns the RoPE of queries and keys; null where the layer has none.
  const model::Rotary* rotary(const Frame& frame) const;
};

/// A matrix of all heads: the stage whose matrices it puts side by side, their number and width. 0 heads: it is none.
struct JoinedHeads {
  attention::Stage stage = attention::Stage::Q;
  std::uint32_t heads = 0, width = 0;
};
JoinedHeads joined_heads(StepMatrix matrix, const inference::BlockShape& shape);

/// Returns the linear layer of a weight matrix, and which of its outputs are the matrix' columns; without a layer for any
/// other.
model::HeadWeight weight_columns(StepMatrix matrix, const HeadSubject& subject);

/// Returns rows and columns of a matrix that isn't a stage; nullopt where the layer has none.
std::optional<inference::BlockShape::Extent> size_of(StepMatrix matrix, const HeadSubject& subject);

/// Numbers of matrices that aren't tiles of one stage: weights as uploaded, the memory as downloaded (EngineResult::memory),
/// parts of the embedding, heads side by side. The last windows of each matrix are kept.
class StepValues {
 public:
  struct Known {
    attention::Tile tile;  ///< values [rows, columns] of the window; its request only names sizes
    TileFacts facts;
    std::uint64_t revision = 0;  ///< changes with the values
  };
  /// Returns the known numbers of a window; null while the memory isn't known, which it then requests, and for a window that
  /// the matrix doesn't have.
  const Known* find(Frame& frame, StepMatrix matrix, const HeadSubject& subject, const chart::Region& window);

 private:
  using Key = std::tuple<const void*, std::uint64_t, std::uint32_t, std::uint32_t, bool, chart::Region>;
  struct Entry {
    Key key;
    Known known;
  };
  std::map<std::pair<StepMatrix, std::uint32_t>, Entry> entries_;  ///< by matrix and first column
  std::uint64_t revisions_ = 0;
};

/// Returns the selected item's row [d_model] of the memory; empty while it isn't known.
std::span<const float> memory_row(const Frame& frame, std::uint32_t row);

}  // namespace headlight::app
