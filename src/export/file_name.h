#pragma once

#include "attention/stage.h"

namespace headlight::exporting {

/// Names of exported files: sorted by name they are sorted by block, layer, batch item and head. Numbers have the digits of
/// the largest, layers and heads at least two; a network with one kind of block leaves the kind out.
struct FileNaming {
  std::uint32_t layers = 1;
  std::uint32_t batch = 1;
  std::uint32_t heads = 1;
  bool has_kinds = false;  ///< the network has blocks of several kinds: names begin with "encoder_", "decoder_", "cross_"
  bool has_norms = false;  ///< weights are norms, and called so: "layer-00_batch-0_head-03_norms.png"

  /// Numbers are differences of two runs, and called so: "layer-00_batch-0_head-03_difference_weights.png".
  bool has_differences = false;

  /// One matrix: "encoder_layer-00_batch-0_head-03_weights.png". Stages that are not per head have no head.
  std::string matrix(model::BlockRef block, std::uint32_t batch_item, std::uint32_t head, attention::Stage stage,
                     std::string_view extension) const;
  /// The mean of a layer's heads, or of those of all layers of a kind: "layer-00_batch-0_mean_weights.png",
  /// "batch-0_mean_weights.png".
  std::string mean(model::BlockRef block, bool is_of_layer, std::uint32_t batch_item, std::string_view extension) const;
  /// All heads of a layer in one image: "layer-00_heads.png"; with several batch items "layer-00_batch-1_heads.png".
  /// Stages other than the weights are named: "layer-00_heads_scores.png".
  std::string contact_sheet(model::BlockRef block, std::uint32_t batch_item, attention::Stage stage,
                            std::string_view extension) const;
  /// A figure of another kind, `what`: of a head "layer-00_batch-0_head-03_steps.svg", of a layer "layer-00_lines.svg", of a
  /// kind of attention "cross_grid.svg"; the batch item is left out where there is one, unless it is of a head.
  struct FigurePlace {
    model::BlockRef block;
    std::uint32_t batch_item = 0;
    std::optional<std::uint32_t> head = {};
    bool is_of_layer = true, is_mean = false;
  };
  std::string figure(const FigurePlace& place, std::string_view what, std::string_view extension) const;
  /// Every layer, batch item and head of a stage in one file: "weights.npy", "encoder_weights.npy".
  std::string stage(model::BlockKind kind, attention::Stage stage, std::string_view extension) const;
};

}  // namespace headlight::exporting
