#include "app/cells/stage_text.h"

#include <fmt/format.h>

namespace headlight::app {
namespace {

using attention::Stage;

/// The factor of the scores in a formula: "S / √d_k".
std::string scaled_formula(const model::AttentionLayer* layer) {
  if (!layer) return "scaled = c · S";
  const model::AttentionConfig& config = layer->config;
  const bool is_plain = config.softcap == 0.0F && !config.position_bias;
  std::string scaled = is_plain ? "S (no scale)" : "S";
  if (config.scale.kind == model::Scale::Kind::InverseSqrtKey) scaled = "S / √d_k";
  if (config.scale.kind == model::Scale::Kind::Value) scaled = fmt::format("{:.4g} · S", config.scale.value);
  if (config.softcap > 0.0F) scaled = fmt::format("{0:.4g} · tanh( {1} / {0:.4g} )", config.softcap, scaled);
  if (config.position_bias) scaled += " + bias";
  return "scaled = " + scaled;
}

/// "Q = X W_Q + b_Q" for one of the three input projections.
std::string projection_formula(char letter, const char* input, const model::Linear* linear) {
  if (!linear) return fmt::format("{} is given", letter);
  return fmt::format("{0} = {1} W_{0}{2}", letter, input, linear->has_bias() ? fmt::format(" + b_{}", letter) : "");
}

/// The same for queries and keys that are normed or RoPE-rotated afterwards.
std::string turned_formula(char letter, const char* input, const model::AttentionLayer* layer) {
  const model::AttentionWeights* weights = layer && layer->weights ? &*layer->weights : nullptr;
  const model::Linear* linear = !weights ? nullptr : letter == 'Q' ? &weights->query : &weights->key;
  const std::string formula = projection_formula(letter, input, linear);
  const bool has_norm = weights && (letter == 'Q' ? weights->query_norm.has_value() : weights->key_norm.has_value());
  const bool is_rotated = weights && layer->config.rotary.has_value();
  if (!has_norm && !is_rotated) return formula;
  const std::string inside = formula.substr(4);
  if (has_norm && is_rotated) return fmt::format("{} = rotate(norm( {} ))", letter, inside);
  return fmt::format("{} = {}( {} )", letter, has_norm ? "norm" : "rotate", inside);
}

}  // namespace

const char* kind_text(model::BlockKind kind) {
  switch (kind) {
    case model::BlockKind::EncoderSelf:
      return "encoder self-attention";
    case model::BlockKind::DecoderSelf:
      return "decoder self-attention";
    case model::BlockKind::Cross:
      return "cross-attention";
  }
  return "";
}

std::string head_title(model::BlockRef block, std::uint32_t head) {
  return fmt::format("Layer {} · head {} · {}", block.layer.value, head, kind_text(block.kind));
}

const char* stage_title(Stage stage) {
  switch (stage) {
    case Stage::X:
      return "input";
    case Stage::Q:
      return "queries";
    case Stage::K:
      return "keys";
    case Stage::V:
      return "values";
    case Stage::Scores:
      return "scores";
    case Stage::Scaled:
      return "scaled scores";
    case Stage::Masked:
      return "masked scores";
    case Stage::Weights:
      return "attention weights";
    case Stage::Heads:
      return "head output";
    case Stage::Merged:
      return "merged heads";
    case Stage::Output:
      return "output";
  }
  return "";
}

const char* stage_symbol(Stage stage) {
  switch (stage) {
    case Stage::X:
      return "X";
    case Stage::Q:
      return "Q";
    case Stage::K:
      return "K";
    case Stage::V:
      return "V";
    case Stage::Scores:
      return "S";
    case Stage::Scaled:
      return "scaled";
    case Stage::Masked:
      return "masked";
    case Stage::Weights:
      return "A";
    case Stage::Heads:
      return "H";
    case Stage::Merged:
      return "M";
    case Stage::Output:
      return "Y";
  }
  return "";
}

std::string stage_formula(Stage stage, model::BlockRef block, const model::AttentionLayer* layer, std::uint32_t head) {
  const model::AttentionWeights* weights = layer && layer->weights ? &*layer->weights : nullptr;
  const char* memory = block.kind == model::BlockKind::Cross ? "memory" : "X";
  switch (stage) {
    case Stage::X:
      if (block.layer.value > 0) {
        const std::string state = fmt::format("state after layer {}", block.layer.value - 1);
        return layer && layer->norms.before ? fmt::format("norm( {} )", state) : state;
      }
      return block.kind == model::BlockKind::Cross ? "the queries' tokens" : "token vectors";
    case Stage::Q:
      return turned_formula('Q', "X", layer);
    case Stage::K:
      return turned_formula('K', memory, layer);
    case Stage::V:
      return projection_formula('V', memory, weights ? &weights->value : nullptr);
    case Stage::Scores:
      return "S = Q K^T";
    case Stage::Scaled:
      return scaled_formula(layer);
    case Stage::Masked:
      return "the scaled score, or the fill";
    case Stage::Weights:
      return "A = softmax(masked)";
    case Stage::Heads:
      return fmt::format("H_{{{}}} = A V", head);
    case Stage::Merged:
      if (layer && layer->config.heads > 1) {
        const bool is_concatenated = layer->config.merge == model::MergeOrder::Concatenate;
        return fmt::format("M = {}(H_0 … H_{{{}}})", is_concatenated ? "concat" : "reshape", layer->config.heads - 1);
      }
      return "M = H_0";
    case Stage::Output:
      return weights && weights->output && weights->output->has_bias() ? "Y = M W_O + b_O" : "Y = M W_O";
  }
  return {};
}

std::string stage_space(Stage stage, const inference::BlockShape& shape, model::BlockKind kind) {
  const bool has_two_lengths = kind == model::BlockKind::Cross || shape.queries != shape.keys;
  const char* queries = has_two_lengths ? "n_q" : "n";
  const char* keys = has_two_lengths ? "n_k" : "n";
  switch (stage) {
    case Stage::X:
      return fmt::format("ℝ^{{{}×d_{{model}}}}", queries);
    case Stage::Q:
      return fmt::format("ℝ^{{{}×d_k}}", queries);
    case Stage::K:
      return fmt::format("ℝ^{{{}×d_k}}", keys);
    case Stage::V:
      return fmt::format("ℝ^{{{}×d_v}}", keys);
    case Stage::Heads:
      return fmt::format("ℝ^{{{}×d_v}}", queries);
    case Stage::Merged:
      return fmt::format("ℝ^{{{}×h·d_v}}", queries);
    case Stage::Output:
      return fmt::format("ℝ^{{{}×d_{{model}}}}", queries);
    default:
      return fmt::format("ℝ^{{{}×{}}}", queries, keys);
  }
}

shell::Color stage_color(Stage stage, const shell::Theme& theme) {
  switch (stage) {
    case Stage::X:
      return theme.text;
    case Stage::Q:
      return theme.query;
    case Stage::K:
      return theme.key;
    case Stage::V:
      return theme.value;
    default:
      return theme.output;
  }
}

const char* fill_text(attention::MaskFill fill) {
  switch (fill) {
    case attention::MaskFill::NegativeInfinity:
      return "−∞";
    case attention::MaskFill::MinusOneBillion:
      return "−10⁹";
    case attention::MaskFill::MinusTenBillion:
      return "−10¹⁰";
  }
  return "";
}

std::string subscript(std::uint32_t number) {
  std::string text;
  for (const char digit : fmt::format("{}", number)) {
    text += "\xE2\x82";  // U+2080 … U+2089
    text += static_cast<char>(0x80 + (digit - '0'));
  }
  return text;
}

}  // namespace headlight::app
