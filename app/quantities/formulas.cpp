#include "app/quantities/formulas.h"

#include <fmt/format.h>

namespace headlight::app::formulas {
namespace {

const model::AttentionWeights* weights_of(const model::AttentionLayer* layer) {
  return layer && layer->weights ? &*layer->weights : nullptr;
}

/// What keys and values are projected from.
const char* memory_of(const FormulaSubject& subject) {
  return subject.block.kind == model::BlockKind::Cross ? "memory" : "X";
}

constexpr std::size_t kLongestExpression = 48;  // bytes

/// What the softmax is taken of, from `scores`: "S / √d_k", with the layer's softcap and bias and the score expression.
std::string scaled_from(const FormulaSubject& subject, const std::string& scores) {
  std::string scaled = scores;
  if (subject.pattern == attention::FixedPattern::Uniform) return "0";
  if (!subject.layer) {
    scaled = "c · " + scores;
  } else {
    const model::AttentionConfig& config = subject.layer->config;
    if (config.scale.kind == model::Scale::Kind::InverseSqrtKey) scaled = scores + " / √d_k";
    if (config.scale.kind == model::Scale::Kind::Value) scaled = fmt::format("{:.4g} · {}", config.scale.value, scores);
    if (config.softcap > 0.0F) scaled = fmt::format("{0:.4g} · tanh( {1} / {0:.4g} )", config.softcap, scaled);
    if (config.position_bias) scaled += " + bias";
  }
  if (!subject.mask) return scaled;
  const char* painted = subject.mask->biases.empty() ? "" : " + painted bias";
  if (!subject.mask->score_expression) return scaled + painted;
  const std::string& text = subject.mask->score_expression.text();
  const bool is_cut = text.size() > kLongestExpression;
  return fmt::format("{}{}{}, score = {}", text.substr(0, kLongestExpression), is_cut ? "…" : "", painted, scaled);
}

/// "Q = X W_Q + b_Q" for one of the three input projections.
std::string projection_formula(char letter, const char* input, const model::Linear* linear) {
  if (!linear) return fmt::format("{} is given", letter);
  return fmt::format("{0} = {1} W_{0}{2}", letter, input, linear->has_bias() ? fmt::format(" + b_{}", letter) : "");
}

/// The same for queries and keys that are normed or RoPE-rotated afterwards.
std::string rotated_formula(char letter, const char* input, const model::AttentionLayer* layer) {
  const model::AttentionWeights* weights = weights_of(layer);
  const model::Linear* linear = !weights ? nullptr : letter == 'Q' ? &weights->query : &weights->key;
  std::string formula = projection_formula(letter, input, linear);
  const bool has_norm = weights && (letter == 'Q' ? weights->query_norm.has_value() : weights->key_norm.has_value());
  const bool is_rotated = weights && layer->config.rotary.has_value();
  if (!has_norm && !is_rotated) return formula;
  const std::string inside = formula.substr(4);
  if (has_norm && is_rotated) return fmt::format("{} = rotate(norm( {} ))", letter, inside);
  return fmt::format("{} = {}( {} )", letter, has_norm ? "norm" : "rotate", inside);
}

}  // namespace

std::string x(const FormulaSubject& subject) {
  const model::BlockRef block = subject.block;
  if (block.layer.value > 0) {
    const std::string state = fmt::format("state after layer {}", block.layer.value - 1);
    return subject.layer && subject.layer->norms.before ? fmt::format("norm( {} )", state) : state;
  }
  return block.kind == model::BlockKind::Cross ? "the queries' tokens" : "token vectors";
}

std::string q(const FormulaSubject& subject) { return rotated_formula('Q', "X", subject.layer); }

std::string k(const FormulaSubject& subject) { return rotated_formula('K', memory_of(subject), subject.layer); }

std::string v(const FormulaSubject& subject) {
  const model::AttentionWeights* weights = weights_of(subject.layer);
  return projection_formula('V', memory_of(subject), weights ? &weights->value : nullptr);
}

std::string scores(const FormulaSubject& /*subject*/) { return "S = Q K^T"; }

std::string scaled(const FormulaSubject& subject) {
  const std::string from = scaled_from(subject, "S");
  return from == "S" ? "scaled = S (no scale)" : "scaled = " + from;
}

std::string masked(const FormulaSubject& /*subject*/) { return "the scaled score, or the fill"; }

std::string weights(const FormulaSubject& subject) {
  if (!subject.pattern) return "A = softmax(masked)";
  return fmt::format("A = softmax(masked), of the {} pattern", attention::to_string(subject.pattern->kind));
}

std::string map(attention::Stage stage, const FormulaSubject& subject) {
  if (stage == attention::Stage::Scores) return subject.pattern == attention::FixedPattern::Uniform ? "0" : "QK^T";
  std::string scaled = scaled_from(subject, "QK^T");
  if (stage == attention::Stage::Scaled) return scaled;
  if (subject.pattern) return fmt::format("replaced by the {} pattern", attention::to_string(subject.pattern->kind));
  return fmt::format("softmax( {} )", scaled);
}

std::string heads(const FormulaSubject& subject) { return fmt::format("H_{{{}}} = A V", subject.head); }

std::string merged(const FormulaSubject& subject) {
  if (!subject.layer || subject.layer->config.heads <= 1) return "M = H_0";
  const model::AttentionConfig& config = subject.layer->config;
  const bool is_concatenated = config.merge == model::MergeOrder::Concatenate;
  return fmt::format("M = {}(H_0 … H_{{{}}})", is_concatenated ? "concat" : "reshape", config.heads - 1);
}

std::string output(const FormulaSubject& subject) {
  const model::AttentionWeights* weights = weights_of(subject.layer);
  return weights && weights->output && weights->output->has_bias() ? "Y = M W_O + b_O" : "Y = M W_O";
}

std::string mean(const FormulaSubject& /*subject*/) { return "mean over heads of A"; }

std::string norms(const FormulaSubject& subject) {
  const model::AttentionWeights* weights = weights_of(subject.layer);
  const bool has_output = !subject.layer || (weights && weights->output);
  const std::string norm = has_output ? "N_{ij} = ‖A_{ij} · v_j W_O‖" : "N_{ij} = ‖A_{ij} · v_j‖";
  const bool is_before_norm = subject.layer && subject.layer->norms.inside;
  return is_before_norm ? norm + ", before the output's norm" : norm;
}

std::string mean_of_norms(const FormulaSubject& subject) { return "mean over heads of " + norms(subject); }

}  // namespace headlight::app::formulas
