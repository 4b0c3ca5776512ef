#pragma once

#include "app/cells/arithmetic.h"
#include "app/cells/cell_sources.h"
#include "app/cells/step_values.h"

namespace headlight::app {

/// The selected head's attention, its layer (null while there is no network) and its geometry.
struct HeadSubject {
  model::BlockRef block;
  const model::AttentionLayer* layer = nullptr;
  BlockGeometry geometry;

  bool has_all_heads = false;                   ///< Steps: weights of all heads
  const model::Embedding* embedding = nullptr;  ///< of layer 0, where its vectors come from a table; else null
  const model::TokenBatch* tokens = nullptr;    ///< whose vectors they are

  StepLayer step_layer() const {
    return {.layer = layer,
            .head = geometry.head,
            .block = block,
            .shape = geometry.shape,
            .has_all_heads = has_all_heads,
            .embedding = embedding,
            .tokens = tokens};
  }
  /// The KV head that the head reads; with grouped queries several heads read the same one.
  std::uint32_t kv_head() const;
  /// RoPE of queries and keys; null where the layer has none.
  const model::Rotary* rotary(const Frame& frame) const;
};

/// Of a run with the selected block.
HeadSubject selected_subject(const Frame& frame);

/// The question about a cell of one of the head's matrices, with the reason why a cell of a map is masked.
CellQuestion question_about(const Frame& frame, const HeadSubject& subject, attention::Stage stage, attention::Cell cell);

/// A token of the selected line as it is shown: "short"; its index where the text isn't known.
std::string token_name(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t index);

}  // namespace headlight::app
