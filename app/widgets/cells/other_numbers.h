#pragma once

#include "app/shapes/quantities/quantity.h"

namespace headlight::model {
class Parameter;
}

namespace headlight::app {

struct EngineResult;

/// The kind of an analysis's number, as far as its provenance differs.
enum class Finding : std::uint8_t {
  None,        ///< no finding: a number of a matrix or of a weight
  Prediction,  ///< of a token of the vocabulary at a position; `row` and `column` are those
  Flow,        ///< of an edge or a node; `row` and `column` are a query and a key
  Effect,      ///< of a change of the pass on a prediction
  Attention,   ///< of weights of attention
  Circuit,     ///< of weights of the model alone
};

/// A number that is no cell of a quantity.
struct OtherNumber {
  std::string_view id, title, computed, from;
  bool has_head = false;
  Axis rows = Axis::Token, columns = Axis::Feature;
  Finding finding = Finding::None;
};

/// Returns the number of this id; nullptr: there is none.
const OtherNumber* find_other_number(std::string_view id);

/// Returns where rows [first, first + count) of a weight come from: "transformer.h.0.attn.c_attn.weight [768, 2304] F32,
/// columns 64–127, model.safetensors"; of a network without a file how its weights are made.
std::string weight_origin(const EngineResult& result, const model::Parameter& weight, std::uint32_t first,
                          std::uint32_t count);

}  // namespace headlight::app
