#pragma once

#include "core/tensor.h"
#include "model/network.h"
#include "ops/device_tensor.h"

namespace headlight::inference {

/// The token vectors [batch, rows.count, d] of some tokens of every batch item: rows of the embedding's table scaled, with
/// positions and types unless those come after a projection (zero vectors for padding, plus their position), or those that
/// the input brings itself. On the host: the table stays in its file, where a text needs few of its rows.
Tensor embed(const model::Embedding* embedding, const model::TokenBatch& tokens, ops::Rows rows);

/// The parts that embed() adds up: rows of the table times its scale, positions, types; or their sum.
enum class EmbeddingPart : std::uint8_t { Tokens, Positions, Types, Sum };
/// One of these parts for tokens of an item, [rows.count, d]; zeros of a table that the embedding lacks.
Tensor embed_part(const model::Embedding& embedding, const model::TokenBatch& tokens, std::uint32_t item, ops::Rows rows,
                  EmbeddingPart part);

/// Positions and types that are added to the vectors after their projection (OPT-350m), [batch, rows.count, d_model];
/// empty where embed() has added them.
Tensor embed_positions(const model::Embedding& embedding, const model::TokenBatch& tokens, ops::Rows rows);

}  // namespace headlight::inference
