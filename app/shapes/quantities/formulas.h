#pragma once

#include "app/shapes/quantities/quantity.h"
#include "attention/layer_graph.h"

/// Formulas of the stages with the options of their layer, as math_text sets them: "Q = X W_Q + b_Q".
namespace headlight::app::formulas {

/// Returns the formula of a stage, "Q = X W_Q + b_Q", or its symbol where the layer hasn't the stage.
std::string formula(attention::Stage stage, const FormulaSubject& subject);

/// The length of an arrow's label: Steps leaves out what is drawn beside it (Brief), Block names the layer's switches
/// (Full).
enum class Detail : std::uint8_t { Brief, Full };
/// Returns the operation that makes a stage from its inputs, in a few letters: "+ x", "LayerNorm", "n · W_1"; empty: none
/// does.
std::string label(const attention::LayerNode& node, const FormulaSubject& subject, Detail detail);

/// Returns "LayerNorm" or "RMSNorm".
const char* norm_name(const model::Norm& norm);
/// Returns "ReLU", "GELU", "SiLU"; "" for none.
const char* activation_name(model::Activation activation);

/// Returns a map of a head as one formula from Q and K: "softmax( QK^T / √d_k )". `stage`: scores, scaled or weights.
std::string map(attention::Stage stage, const FormulaSubject& subject);

/// Returns the formula of kMeanOfLayer and kMeanOfKind.
std::string mean(const FormulaSubject& subject);
/// Returns the formulas of kNorms, and of kNormsOfLayer and kNormsOfKind.
std::string norms(const FormulaSubject& subject);
std::string mean_of_norms(const FormulaSubject& subject);

}  // namespace headlight::app::formulas
