#pragma once

#include "app/quantities/quantity.h"

/// Formulas of the stages with the options of their layer, as math_text sets them: "Q = X W_Q + b_Q".
namespace headlight::app::formulas {

std::string residual(const FormulaSubject& subject);
std::string x(const FormulaSubject& subject);
std::string q(const FormulaSubject& subject);
std::string k(const FormulaSubject& subject);
std::string v(const FormulaSubject& subject);
std::string scores(const FormulaSubject& subject);
std::string content_position(const FormulaSubject& subject);
std::string position_content(const FormulaSubject& subject);
std::string scaled(const FormulaSubject& subject);
std::string masked(const FormulaSubject& subject);
std::string weights(const FormulaSubject& subject);
std::string heads(const FormulaSubject& subject);
std::string merged(const FormulaSubject& subject);
std::string output(const FormulaSubject& subject);
std::string attention_sum(const FormulaSubject& subject);
std::string attended(const FormulaSubject& subject);
std::string ffn_input(const FormulaSubject& subject);
std::string ffn_router(const FormulaSubject& subject);
std::string ffn_gates(const FormulaSubject& subject);
std::string ffn_gate(const FormulaSubject& subject);
std::string ffn_hidden(const FormulaSubject& subject);
std::string ffn_active(const FormulaSubject& subject);
std::string ffn_output(const FormulaSubject& subject);
std::string ffn_sum(const FormulaSubject& subject);
std::string next(const FormulaSubject& subject);

/// What makes a stage of the stream, or X, from its inputs, in a few letters: "+ x", "LayerNorm", "n · W_1". Of a network.
std::string operation(attention::Stage stage, const FormulaSubject& subject);

/// "LayerNorm" or "RMSNorm".
const char* norm_name(const model::Norm& norm);
/// "ReLU", "GELU", "SiLU"; "" for none.
const char* activation_name(model::Activation activation);

/// A map of a head as one formula from Q and K: "softmax( QK^T / √d_k )". `stage`: scores, scaled or weights.
std::string map(attention::Stage stage, const FormulaSubject& subject);

/// Of kMeanOfLayer and kMeanOfKind.
std::string mean(const FormulaSubject& subject);
/// Of kNorms, and of kNormsOfLayer and kNormsOfKind.
std::string norms(const FormulaSubject& subject);
std::string mean_of_norms(const FormulaSubject& subject);

}  // namespace headlight::app::formulas
