#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/shapes/table.h"
#include "app/widgets/cells/arithmetic.h"
#include "model/network.h"
#include "model/positions.h"

namespace headlight::app {

/// One line of the way from the products qᵢ · kᵢ to the weight.
struct ChainLine {
  std::string name;                  ///< "scale"
  std::string formula;               ///< "scores[2,5] / √dₖ"
  std::string numbers = {};          ///< "1.250 / √64"; empty while a number is being computed
  std::optional<double> value = {};  ///< the line's result, from the lines before it in double precision
  std::string note = {};             ///< in words: why a key is masked; may be empty
};

/// A query's and a key's score, from its parts.
struct ScoreChain {
  std::vector<Product> products;  ///< [d_k] qᵢ · kᵢ, by component; empty while Q or K are being computed
  std::vector<ChainLine>
      lines;  ///< sum, scale, soft cap, position bias, expression, mask, m, l, weight: those that the layer has
  std::optional<double> score;            ///< before the mask, computed from the products
  std::optional<double> weight;           ///< computed from the score, m and l; 0 where the query sees no key
  std::optional<float> evaluated;         ///< stage Scaled of the same cell, as the device computed it
  std::optional<float> evaluated_weight;  ///< stage Weights of the same cell, as the device computed it
};

/// Returns the whole way of the cell (question.row, question.column); the question's stage is ignored. `layers` has the
/// position biases that the layer may refer to; null: there are none.
ScoreChain explain_score(const CellQuestion& question, const model::Layers* layers, NumberSource& numbers);

/// Returns what a layer adds to the scaled score of a query and a key of a head: T5's bucket or ALiBi's slope, by their
/// distance key − query; nullopt where it adds nothing.
std::optional<double> position_bias(const CellQuestion& question, const model::Layers* layers);

/// Returns a query or a key [d_k] before RoPE (Su et al. 2021) turned it, by the exact inverse rotation in double precision:
/// the engine keeps only rotated vectors. Where a norm covers the head's width (Qwen 3), it is the normed vector. `length`:
/// positions of the sequence, which choose between short and long frequencies.
std::vector<float> before_rotation(const model::Rotary& rotary, std::span<const float> rotated, std::uint32_t position,
                                   std::uint32_t length);

/// Returns the other component of the pair that RoPE turns; nullopt for those that it leaves as they are.
std::optional<std::uint32_t> rotation_partner(const model::Rotary& rotary, std::uint32_t component);

/// Returns the names of query and key, the products by component, then the chain's lines.
Table score_table(const ScoreChain& chain, const std::string& query, const std::string& key);

}  // namespace headlight::app
