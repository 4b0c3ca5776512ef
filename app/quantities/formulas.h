#pragma once

#include <string>

#include "app/quantities/quantity.h"

/// Formulas of the stages with the options of their layer, as math_text sets them: "Q = X W_Q + b_Q".
namespace headlight::app::formulas {

std::string x(const FormulaSubject& subject);
std::string q(const FormulaSubject& subject);
std::string k(const FormulaSubject& subject);
std::string v(const FormulaSubject& subject);
std::string scores(const FormulaSubject& subject);
std::string scaled(const FormulaSubject& subject);
std::string masked(const FormulaSubject& subject);
std::string weights(const FormulaSubject& subject);
std::string heads(const FormulaSubject& subject);
std::string merged(const FormulaSubject& subject);
std::string output(const FormulaSubject& subject);

/// A map of a head as one formula from Q and K: "softmax( QK^T / √d_k )". `stage`: scores, scaled or weights.
std::string map(attention::Stage stage, const FormulaSubject& subject);

/// Of kMeanOfLayer and kMeanOfKind.
std::string mean(const FormulaSubject& subject);
/// Of kNorms, and of kNormsOfLayer and kNormsOfKind.
std::string norms(const FormulaSubject& subject);
std::string mean_of_norms(const FormulaSubject& subject);

}  // namespace headlight::app::formulas
