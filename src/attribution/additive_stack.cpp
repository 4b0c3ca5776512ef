#include "attribution/additive_stack.h"

#include <fmt/format.h>

namespace headlight::attribution {
namespace {

std::string complaint(const model::AttentionLayer& layer) {
  if (!layer.weights || !layer.weights->output) return "its heads write into no residual stream: they have no W_O";
  if (layer.config.merge != model::MergeOrder::Concatenate) {
    return "its heads are merged without a transpose, so a row of W_O's input mixes tokens";
  }
  if (layer.norms.is_empty()) return "its layers have no residual connection";
  if (layer.norms.after || layer.feed_forward_norms.after) {
    return "it normalises the sum after each branch (post-norm, as BERT does), so later norms rescale earlier parts";
  }
  if (layer.norms.inside || layer.feed_forward_norms.inside) {
    return "it normalises what a branch writes (as Gemma 2 does), so heads don't add up one by one";
  }
  return {};
}

}  // namespace

std::string why_not_additive(const model::Network& network) {
  const model::Layers& layers = *network.layers;
  if (!layers.decoder.empty()) return "it has an encoder and a decoder; this view needs a model with one stack";
  if (layers.encoder.empty()) return "it has no layers";
  for (const model::AttentionLayer& layer : layers.encoder) {
    if (std::string why = complaint(layer); !why.empty()) return why;
  }
  return {};
}

std::string why_not_attributable(const model::Network& network) {
  const std::optional<model::Unembedding>& unembedding = network.layers->unembedding;
  if (!unembedding) return "it has no unembedding, so it predicts no tokens";
  if (std::string why = why_not_additive(network); !why.empty()) return why;
  if (unembedding->transform || unembedding->norm || unembedding->activation != model::Activation::None) {
    return "another layer follows its last state before the unembedding";
  }
  if (unembedding->softcap > 0.0F) return "it caps logits by tanh, so they are no sum of parts";
  return {};
}

}  // namespace headlight::attribution
