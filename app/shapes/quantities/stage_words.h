#pragma once

#include "app/shapes/quantities/quantity.h"
#include "attention/layer_graph.h"

namespace headlight::app {

/// The words for a stage wherever it is shown, but for those that follow from its operation (formulas.h).
struct StageWords {
  std::string_view title, symbol;        ///< as in Quantity, and the next four
  std::string_view figure_title = "";    ///< empty: title and symbol
  std::string_view value_title = "";     ///< empty: the title
  std::string_view width = "d_{model}";  ///< of maps nothing
  Role role = Role::Output;
  std::string_view computed, from;                       ///< which operation of the engine makes it, and what that reads
  std::string_view explanation = "";                     ///< one sentence, for its tooltip
  std::string_view missing = "no feed-forward follows";  ///< why a block doesn't have it
  std::string_view exported;                             ///< what the Export dialog says of it
};
const StageWords& words_of(attention::Stage stage);

/// Returns the sentence about a stage, as its block makes it.
std::string_view explanation_of(const attention::LayerNode& node);

/// Returns "Q" of W_Q.
std::string_view letter_of(attention::LayerWeight weight);

}  // namespace headlight::app
