#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight::test {

/// A measured number that a model's card claims.
struct CardFigure {
  std::string type;   ///< "bleu", "perplexity", "previous_stripe", "duplicate_stripe", "induction_stripe"
  std::string split;  ///< of the data set it was measured on; empty where the card names none
  std::string name;   ///< for readers: "induction head L2H5"
  double value = 0.0;
};

/// The numbers in the front matter of a model card, in Hugging Face's form: model-index, results, metrics, each with type,
/// value and name, in YAML's block or flow style. Reads no other YAML: such an index has no comments, anchors or multi-line
/// strings. Throws Error when there is no index, a metric has another type or no number as its value.
std::vector<CardFigure> card_figures(std::string_view card);

}  // namespace headlight::test
