#include "app/quantities/formulas.h"

#include "capture/attention_of.h"

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
  if (subject.layer && subject.layer->config.distances) {
    const model::AttentionConfig& config = subject.layer->config;
    scaled = fmt::format("( {}{}{} )", scores, config.has_content_position ? " + C" : "",
                         config.has_position_content ? " + P" : "");
  }
  const std::string raw = scaled;
  if (subject.pattern == attention::FixedPattern::Uniform) return "0";
  if (!subject.layer) {
    scaled = "c · " + scores;
  } else {
    const model::AttentionConfig& config = subject.layer->config;
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

/// "Q = X W_Q + b_Q" for one of the three input projections.
std::string projection_formula(char letter, const char* input, const model::Linear* linear) {
  if (!linear) return fmt::format("{} is given", letter);
  return fmt::format("{0} = {1} W_{0}{2}", letter, input, linear->has_bias() ? fmt::format(" + b_{}", letter) : "");
}

/// "V = clip(X W_V)" where projections are cut to a range.
std::string clipped(const model::AttentionLayer* layer, const std::string& formula) {
  if (!layer || !layer->weights || layer->config.clip == 0.0F) return formula;
  return fmt::format("{}clip( {}, ±{:.4g} )", formula.substr(0, 4), formula.substr(4), layer->config.clip);
}

/// The same for queries and keys that are normed or RoPE-rotated afterwards.
std::string rotated_formula(char letter, const char* input, const model::AttentionLayer* layer) {
  const model::AttentionWeights* weights = weights_of(layer);
  const model::Linear* linear = !weights ? nullptr : letter == 'Q' ? &weights->query : &weights->key;
  std::string formula = projection_formula(letter, input, linear);
  const bool has_norm = weights && (letter == 'Q' ? weights->query_norm.has_value() : weights->key_norm.has_value());
  const bool is_rotated = weights && layer->config.rotary.has_value();
  if (!has_norm && !is_rotated) return clipped(layer, formula);
  if (has_norm) formula = fmt::format("{} = norm( {} )", letter, formula.substr(4));
  formula = clipped(layer, formula);
  return is_rotated ? fmt::format("{} = rotate( {} )", letter, formula.substr(4)) : formula;
}

const model::FeedForward* ffn_of(const FormulaSubject& subject) {
  return subject.layer && subject.layer->feed_forward ? &*subject.layer->feed_forward : nullptr;
}

const model::Experts* experts_of(const FormulaSubject& subject) {
  return subject.layer && subject.layer->experts ? &*subject.layer->experts : nullptr;
}

/// "0.22 · " before a branch that is scaled.
std::string branch_scale(const model::BranchNorms& norms) {
  return norms.scale == 1.0F ? std::string() : fmt::format("{:.4g} · ", norms.scale);
}

/// The sum after attention: "x + Y".
std::string attention_added(const FormulaSubject& subject) {
  if (!subject.layer) return "x + Y";
  const model::AttentionWeights* weights = weights_of(subject.layer);
  const char* added = weights && weights->output ? "Y" : "M";
  const auto& inside = subject.layer->norms.inside;
  return inside ? fmt::format("x + {}({})", norm_name(*inside), added)
                : fmt::format("x + {}{}", branch_scale(subject.layer->norms), added);
}

std::string ffn_added(const FormulaSubject& subject) {
  if (!subject.layer) return "y + m";
  const model::BranchNorms& norms = subject.layer->feed_forward_norms;
  return norms.inside ? fmt::format("y + {}(m)", norm_name(*norms.inside)) : fmt::format("y + {}m", branch_scale(norms));
}

/// What the feed-forward reads of the stream: y, or x where it is parallel to attention.
const char* ffn_read(const FormulaSubject& subject) { return subject.layer && subject.layer->is_parallel ? "x" : "y"; }

std::string inner_formula(char letter, char weight, const FormulaSubject& subject, const model::Linear* linear) {
  const bool is_normed = subject.layer && subject.layer->feed_forward_norms.before;
  return fmt::format("{} = {} W_{}{}", letter, is_normed ? "n" : ffn_read(subject), weight,
                     linear && linear->has_bias() ? fmt::format(" + b_{}", weight) : "");
}

}  // namespace

std::string x(const FormulaSubject& subject) {
  const std::string state = residual(subject);
  return subject.layer && subject.layer->norms.before
             ? fmt::format("{}( {} )", norm_name(*subject.layer->norms.before), state)
             : state;
}

std::string residual(const FormulaSubject& subject) {
  const model::BlockRef block = subject.block;
  if (block.layer.value > 0) return fmt::format("state after layer {}", block.layer.value - 1);
  return block.kind == model::BlockKind::Cross ? "the queries' tokens" : "token vectors";
}

std::string q(const FormulaSubject& subject) { return rotated_formula('Q', "X", subject.layer); }

std::string k(const FormulaSubject& subject) { return rotated_formula('K', memory_of(subject), subject.layer); }

std::string v(const FormulaSubject& subject) {
  const model::AttentionWeights* weights = weights_of(subject.layer);
  return clipped(subject.layer, projection_formula('V', memory_of(subject), weights ? &weights->value : nullptr));
}

std::string scores(const FormulaSubject& /*subject*/) { return "S = Q K^T"; }

std::string scaled(const FormulaSubject& subject) {
  const std::string from = scaled_from(subject, "S");
  return from == "S" ? "scaled = S (no scale)" : "scaled = " + from;
}

std::string content_position(const FormulaSubject& /*subject*/) { return "C_{ij} = q_i · r_k(i − j)"; }

std::string position_content(const FormulaSubject& /*subject*/) { return "P_{ij} = k_j · r_q(i − j)"; }

std::string masked(const FormulaSubject& /*subject*/) { return "the scaled score, or the fill"; }

std::string weights(const FormulaSubject& subject) {
  if (!subject.pattern) return subject.score && subject.score->sinks ? "A = softmax(masked, sink)" : "A = softmax(masked)";
  return fmt::format("A = softmax(masked), of the {} pattern", attention::to_string(subject.pattern->kind));
}

std::string map(attention::Stage stage, const FormulaSubject& subject) {
  if (stage == attention::Stage::Scores) return subject.pattern == attention::FixedPattern::Uniform ? "0" : "QK^T";
  if (stage == attention::Stage::ContentPosition) return content_position(subject);
  if (stage == attention::Stage::PositionContent) return position_content(subject);
  std::string scaled = scaled_from(subject, "QK^T");
  if (stage == attention::Stage::Scaled) return scaled;
  if (subject.pattern) return fmt::format("replaced by the {} pattern", attention::to_string(subject.pattern->kind));
  return fmt::format("softmax( {}{} )", scaled, subject.score && subject.score->sinks ? ", sink" : "");
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

std::string attention_sum(const FormulaSubject& subject) { return "r = " + attention_added(subject); }

std::string attended(const FormulaSubject& subject) {
  const bool is_normed = subject.layer && subject.layer->norms.after;
  return is_normed ? fmt::format("y = {}(r)", norm_name(*subject.layer->norms.after)) : "y = " + attention_added(subject);
}

std::string ffn_input(const FormulaSubject& subject) {
  const model::Norm* norm =
      subject.layer && subject.layer->feed_forward_norms.before ? &*subject.layer->feed_forward_norms.before : nullptr;
  return fmt::format("n = {}({})", norm ? norm_name(*norm) : "norm", ffn_read(subject));
}

std::string ffn_router(const FormulaSubject& subject) {
  const auto* experts = experts_of(subject);
  return inner_formula('z', 'R', subject, experts ? &experts->router : nullptr);
}

std::string ffn_gates(const FormulaSubject& subject) {
  const auto* experts = experts_of(subject);
  if (!experts) return "G = gates of the chosen experts";
  const std::string top = fmt::format("top_{{{}}}", experts->per_token);
  return experts->gates_sum_to_one ? fmt::format("G = softmax({}(z))", top) : fmt::format("G = {}(softmax(z))", top);
}

std::string ffn_gate(const FormulaSubject& subject) {
  const model::FeedForward* ffn = ffn_of(subject);
  return inner_formula('g', 'G', subject, ffn && ffn->gate ? &*ffn->gate : nullptr);
}

std::string ffn_hidden(const FormulaSubject& subject) {
  const model::FeedForward* ffn = ffn_of(subject);
  return inner_formula('h', '1', subject, ffn ? &ffn->in : nullptr);
}

std::string ffn_active(const FormulaSubject& subject) {
  const model::FeedForward* ffn = ffn_of(subject);
  if (!ffn) return "a = activation(h)";
  return fmt::format("a = {}{}", activation_name(ffn->activation), ffn->gate ? "(g) ⊙ h" : "(h)");
}

std::string ffn_output(const FormulaSubject& subject) {
  if (const auto* experts = experts_of(subject)) {
    const char* read = subject.layer->feed_forward_norms.before ? "n" : ffn_read(subject);
    std::string shared = experts->shared ? fmt::format(" + {}shared({})", experts->shared_gate ? "σ · " : "", read) : "";
    return fmt::format("m = Σ_e G_e · expert_e({}){}", read, shared);
  }
  const model::FeedForward* ffn = ffn_of(subject);
  return ffn && !ffn->out.has_bias() ? "m = a W_2" : "m = a W_2 + b_2";
}

std::string ffn_sum(const FormulaSubject& subject) { return "s = " + ffn_added(subject); }

std::string next(const FormulaSubject& subject) {
  const bool is_normed = subject.layer && subject.layer->feed_forward_norms.after;
  return is_normed ? fmt::format("x' = {}(s)", norm_name(*subject.layer->feed_forward_norms.after))
                   : "x' = " + ffn_added(subject);
}

std::string operation(attention::Stage stage, const FormulaSubject& subject) {
  using attention::Stage;
  if (!subject.layer) return {};
  const model::BranchNorms &attention = subject.layer->norms, &ffn = subject.layer->feed_forward_norms;
  const auto name = [](const std::optional<model::Norm>& norm) { return norm ? norm_name(*norm) : ""; };
  const auto added = [&](const model::BranchNorms& norms, const char* to) {
    const std::string scaled = norms.scale == 1.0F ? "" : fmt::format("× {:.4g}, ", norms.scale);
    return fmt::format("{}{}{}+ {}", name(norms.inside), norms.inside ? ", " : "", scaled, to);
  };
  const std::string read = ffn.before ? "n" : ffn_read(subject);
  switch (stage) {
    case Stage::X:
      return name(attention.before);
    case Stage::Attended:
      if (attention.after) return name(attention.after);
      [[fallthrough]];
    case Stage::AttentionSum:
      return added(attention, "x");
    case Stage::FfnInput:
      return name(ffn.before);
    case Stage::FfnRouter:
      return read + " · W_R";
    case Stage::FfnGates:
      return subject.layer->experts ? fmt::format("top {}", subject.layer->experts->per_token) : std::string();
    case Stage::FfnGate:
      return read + " · W_G";
    case Stage::FfnHidden:
      return read + " · W_1";
    case Stage::FfnActive: {
      const model::FeedForward* inner = ffn_of(subject);
      const char* activation = inner ? activation_name(inner->activation) : "";
      return inner && inner->gate ? fmt::format("{}(g) ⊙ h", activation) : activation;
    }
    case Stage::FfnOutput:
      return subject.layer->experts ? "experts" : "a · W_2";
    case Stage::Next:
      if (ffn.after) return name(ffn.after);
      [[fallthrough]];
    case Stage::FfnSum:
      return added(ffn, "y");
    default:
      return {};
  }
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
  const model::AttentionWeights* weights = weights_of(subject.layer);
  const bool has_output = !subject.layer || (weights ? weights->output : subject.layer->given_output);
  const std::string norm = has_output ? "N_{ij} = ‖A_{ij} · v_j W_O‖" : "N_{ij} = ‖A_{ij} · v_j‖";
  const bool is_before_norm = subject.layer && subject.layer->norms.inside;
  return is_before_norm ? norm + ", before the output's norm" : norm;
}

std::string mean_of_norms(const FormulaSubject& subject) { return "mean over heads of " + norms(subject); }

}  // namespace headlight::app::formulas
