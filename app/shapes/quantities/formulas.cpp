#include "app/shapes/quantities/formulas.h"

#include "app/shapes/quantities/stage_words.h"
#include "capture/attention_of.h"

namespace headlight::app::formulas {
namespace {

using attention::LayerNode, attention::LayerOperation, attention::Stage;

constexpr std::size_t kLongestExpression = 48;  // bytes

/// Returns the argument of the softmax, made from `scores`: "S / √d_k", with the layer's softcap and bias and the score
/// expression.
std::string scaled_from(const FormulaSubject& subject, const std::string& scores) {
  std::string scaled = scores;
  if (subject.layer && subject.layer->config.distances) {
    const auto& config = subject.layer->config;
    scaled = fmt::format("( {}{}{} )", scores, config.has_content_position ? " + C" : "",
                         config.has_position_content ? " + P" : "");
  }
  const std::string raw = scaled;
  if (subject.pattern == attention::FixedPattern::Uniform) return "0";
  if (!subject.layer) {
    scaled = "c · " + scores;
  } else {
    const auto& config = subject.layer->config;
    if (config.scale.kind == model::Scale::Kind::InverseSqrtKey) scaled = raw + " / √d_k";
    if (config.scale.kind == model::Scale::Kind::Value) scaled = fmt::format("{:.4g} · {}", config.scale.value, raw);
    if (config.softcap > 0.0F) scaled = fmt::format("{0:.4g} · tanh( {1} / {0:.4g} )", config.softcap, scaled);
    if (config.position_bias) scaled += " + bias";
  }
  if (subject.score && subject.score->bias) scaled += " + captured bias";
  if (!subject.mask) return scaled;
  const char* painted = subject.mask->biases.empty() ? "" : " + painted bias";
  if (!subject.mask->score_expression) return scaled + painted;
  const std::string& text = subject.mask->score_expression.text();
  const bool is_cut = text.size() > kLongestExpression;
  return fmt::format("{}{}{}, score = {}", text.substr(0, kLongestExpression), is_cut ? "…" : "", painted, scaled);
}

const std::string& symbol_of(Stage stage) { return quantity(stage).symbol; }

/// Returns the residual stream that enters the block, in words.
std::string state_before(model::BlockRef block) {
  if (block.layer.value > 0) return fmt::format("state after layer {}", block.layer.value - 1);
  return block.kind == model::BlockKind::Cross ? "the queries' tokens" : "token vectors";
}

/// Is it W_Q, W_K or W_V?
bool is_projection(const LayerNode& node) { return node.stage <= Stage::V; }

std::string projected(const LayerNode& node, const model::AttentionConfig& config) {
  const std::string_view letter = letter_of(*node.weight);
  std::string text = fmt::format("{} W_{}{}", node.reads_memory ? "memory" : symbol_of(node.inputs()[0]), letter,
                                 node.linear->has_bias() ? fmt::format(" + b_{}", letter) : "");
  if (!is_projection(node)) return text;
  if (node.norm) text = fmt::format("norm( {} )", text);
  if (config.clip != 0.0F) text = fmt::format("clip( {}, ±{:.4g} )", text, config.clip);
  return config.rotary && node.stage != Stage::V ? fmt::format("rotate( {} )", text) : text;
}

std::string softmax_of(const FormulaSubject& subject) {
  if (!subject.pattern) return subject.score && subject.score->sinks ? "softmax(masked, sink)" : "softmax(masked)";
  return fmt::format("softmax(masked), of the {} pattern", attention::to_string(subject.pattern->kind));
}

std::string routed(const model::Experts& experts) {
  const std::string top = fmt::format("top_{{{}}}", experts.per_token);
  return experts.gates_sum_to_one ? fmt::format("softmax({}(z))", top) : fmt::format("{}(softmax(z))", top);
}

/// Returns "x + Y", whose second term may be normed or scaled.
std::string sum_of(const LayerNode& node) {
  const std::string &stream = symbol_of(node.inputs()[0]), &branch = symbol_of(node.inputs()[1]);
  if (node.norm) return fmt::format("{} + {}({})", stream, norm_name(*node.norm), branch);
  return fmt::format("{} + {}{}", stream, node.factor == 1.0F ? "" : fmt::format("{:.4g} · ", node.factor), branch);
}

std::string merged(const model::AttentionConfig& config) {
  const char* order = config.merge == model::MergeOrder::Concatenate ? "concat" : "reshape";
  return config.heads > 1 ? fmt::format("{}(H_0 … H_{{{}}})", order, config.heads - 1) : "H_0";
}

std::string added_by_experts(const LayerNode& node, const model::Experts& experts) {
  const std::string& read = symbol_of(node.inputs()[0]);
  const std::string shared =
      experts.shared ? fmt::format(" + {}shared({})", experts.shared_gate ? "σ · " : "", read) : std::string();
  return fmt::format("Σ_e G_e · expert_e({}){}", read, shared);
}

std::string scale_label(const FormulaSubject& subject, Detail detail) {
  if (!subject.layer) return "scale";
  const auto& config = subject.layer->config;
  std::string text = "÷ √d_k";
  if (config.scale.kind == model::Scale::Kind::None) text = "× 1";
  if (config.scale.kind == model::Scale::Kind::Value) text = fmt::format("× {:.3g}", config.scale.value);
  if (detail == Detail::Full && config.softcap > 0.0F) text += ", cap";
  if (detail == Detail::Full && config.position_bias) text += ", + bias";
  return text;
}

std::string linear_label(const LayerNode& node, const FormulaSubject& subject, Detail detail) {
  if (node.linear == nullptr) return {};
  const bool is_beside = node.stage == Stage::Output && detail == Detail::Full;  // what it reads
  const std::string from = is_beside ? "" : node.reads_memory ? "E " : symbol_of(node.inputs()[0]) + " ";
  std::string text = fmt::format("{}· W_{}", from, letter_of(*node.weight));
  if (detail == Detail::Brief || !is_projection(node)) return text;
  if (subject.layer->config.clip > 0.0F) text += ", clip";
  if (node.norm) text += ", norm";
  if (subject.layer->config.rotary && node.stage != Stage::V) text += ", RoPE";
  return text;
}

/// Returns "RMSNorm, + x", "× 0.22, + x".
std::string sum_label(const LayerNode& node) {
  const std::string norm = node.norm ? fmt::format("{}, ", norm_name(*node.norm)) : "";
  const std::string scaled = node.factor == 1.0F ? "" : fmt::format("× {:.4g}, ", node.factor);
  return fmt::format("{}{}+ {}", norm, scaled, symbol_of(node.inputs()[0]));
}

}  // namespace

std::string formula(Stage stage, const FormulaSubject& subject) {
  static const model::AttentionLayer kUnknown;
  const auto& layer = subject.layer ? *subject.layer : kUnknown;
  const attention::LayerGraph graph(subject.block.kind, layer);
  const auto* node = graph.find(stage);
  if (node == nullptr) return symbol_of(stage);
  const std::string before = symbol_of(stage) + " = ";
  switch (node->operation) {
    case LayerOperation::Given:
    case LayerOperation::Same:
      return stage <= Stage::X ? state_before(subject.block) : symbol_of(stage) + " is given";
    case LayerOperation::Norm:
      if (stage == Stage::X) return fmt::format("{}( {} )", norm_name(*node->norm), state_before(subject.block));
      return fmt::format("{}{}({})", before, norm_name(*node->norm), symbol_of(node->inputs()[0]));
    case LayerOperation::Linear:
      return before + projected(*node, layer.config);
    case LayerOperation::Dot:
      return before + "Q K^T";
    case LayerOperation::Distance:
      return map(stage, subject);
    case LayerOperation::Scale: {
      const auto from = scaled_from(subject, "S");
      return before + (from == "S" ? "S (no scale)" : from);
    }
    case LayerOperation::Mask:
      return "the scaled score, or the fill";
    case LayerOperation::Softmax:
      return before + softmax_of(subject);
    case LayerOperation::Mix:
      return fmt::format("H_{{{}}} = A V", subject.head);
    case LayerOperation::Merge:
      return before + merged(layer.config);
    case LayerOperation::Add:
      return before + sum_of(*node);
    case LayerOperation::Route:
      return before + routed(*layer.experts);
    case LayerOperation::Activate:
      return fmt::format("{}{}{}", before, activation_name(layer.feed_forward->activation),
                         node->inputs().size() > 1 ? "(g) ⊙ h" : "(h)");
    case LayerOperation::Experts:
      return before + added_by_experts(*node, *layer.experts);
  }
  return {};
}

std::string label(const LayerNode& node, const FormulaSubject& subject, Detail detail) {
  switch (node.operation) {
    case LayerOperation::Given:
      return {};
    case LayerOperation::Same:
      return detail == Detail::Full ? "as it is" : "";
    case LayerOperation::Norm:
      return node.norm ? norm_name(*node.norm) : "";
    case LayerOperation::Linear:
      return linear_label(node, subject, detail);
    case LayerOperation::Dot:
      return "Q · K^T";
    case LayerOperation::Distance:
      return symbol_of(node.inputs()[0]) + " · r";
    case LayerOperation::Scale:
      return scale_label(subject, detail);
    case LayerOperation::Mask:
      return "mask";
    case LayerOperation::Softmax:
      return "softmax";
    case LayerOperation::Mix:
      return "A · V";
    case LayerOperation::Merge:
      if (subject.layer && subject.layer->config.merge == model::MergeOrder::WithoutTranspose) return "reshape";
      return detail == Detail::Full ? "merge heads" : "merge";
    case LayerOperation::Add:
      return sum_label(node);
    case LayerOperation::Route:
      return subject.layer ? fmt::format("top {}", subject.layer->experts->per_token) : "";
    case LayerOperation::Activate: {
      const char* activation = subject.layer ? activation_name(subject.layer->feed_forward->activation) : "";
      return node.inputs().size() > 1 ? fmt::format("{}(g) ⊙ h", activation) : activation;
    }
    case LayerOperation::Experts:
      return "experts";
  }
  return {};
}

std::string map(attention::Stage stage, const FormulaSubject& subject) {
  if (stage == attention::Stage::Scores) return subject.pattern == attention::FixedPattern::Uniform ? "0" : "QK^T";
  if (stage == attention::Stage::ContentPosition) return "C_{ij} = q_i · r_k(i − j)";
  if (stage == attention::Stage::PositionContent) return "P_{ij} = k_j · r_q(i − j)";
  std::string scaled = scaled_from(subject, "QK^T");
  if (stage == attention::Stage::Scaled) return scaled;
  if (subject.pattern) return fmt::format("replaced by the {} pattern", attention::to_string(subject.pattern->kind));
  return fmt::format("softmax( {}{} )", scaled, subject.score && subject.score->sinks ? ", sink" : "");
}

const char* norm_name(const model::Norm& norm) { return norm.kind == model::Norm::Kind::Layer ? "LayerNorm" : "RMSNorm"; }

const char* activation_name(model::Activation activation) {
  switch (activation) {
    case model::Activation::None:
      return "";
    case model::Activation::Relu:
      return "ReLU";
    case model::Activation::Gelu:
    case model::Activation::GeluTanh:
      return "GELU";
    case model::Activation::Silu:
      return "SiLU";
    case model::Activation::Relu2:
      return "ReLU²";
    case model::Activation::QuickGelu:
      return "quick GELU";
  }
  return "";
}

std::string mean(const FormulaSubject& /*subject*/) { return "mean over heads of A"; }

std::string norms(const FormulaSubject& subject) {
  const auto* layer = subject.layer;
  const bool has_output = !layer || (layer->weights ? layer->weights->output : layer->given_output);
  const std::string norm = has_output ? "N_{ij} = ‖A_{ij} · v_j W_O‖" : "N_{ij} = ‖A_{ij} · v_j‖";
  const bool is_before_norm = layer && layer->norms.inside;
  return is_before_norm ? norm + ", before the output's norm" : norm;
}

std::string mean_of_norms(const FormulaSubject& subject) { return "mean over heads of " + norms(subject); }

}  // namespace headlight::app::formulas
