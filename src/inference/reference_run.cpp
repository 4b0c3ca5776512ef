#include "inference/reference_run.h"

#include <cmath>

namespace headlight::model::reference {
namespace {

/// Computes blocks one after the other.
struct Pass {
  const Network& network;
  const ModelInput& input;
  const PassRules& rules;
  Run run = {};

  /// Computes the next block of the run and hands its stages to `rules.take`, or keeps them in the run where there is
  /// none.
  Array next(BlockRef block, const Array& x, const Array& memory) {
    AttentionStages stages = run_block(network, input, rules, block, x, memory);
    const attention::LayerGraph graph(block.kind, network.layer(block));
    Array y = stages[graph.nodes().back().stage];
    if (rules.take) {
      rules.take(block, x, std::move(stages));
    } else {
      run.blocks.push_back(block);
      run.stages.push_back(std::move(stages));
    }
    return y;
  }
};

}  // namespace

Array unembed(const Unembedding& unembedding, Array x, const Arithmetic& arithmetic) {
  if (unembedding.transform) x = arithmetic.multiplied(*unembedding.transform, x);
  for (double& value : x.values) value = activated(unembedding.activation, value);
  x = apply(unembedding.norm, std::move(x));
  for (double& value : x.values) value *= static_cast<double>(unembedding.scale);
  Array logits = arithmetic.multiplied(unembedding.linear, x);
  const auto cap = static_cast<double>(unembedding.softcap);
  for (double& value : logits.values) {
    if (cap > 0.0) value = cap * std::tanh(value / cap);
  }
  return logits;
}

Run run(const Network& network, const ModelInput& input, const Visibility& is_visible, double fill, const SiteEdit& edit,
        const ScoreEdit& score, const ScoreEdit& weight) {
  const auto is_within = [&](BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query,
                             std::uint32_t key) {
    const std::uint32_t window = network.layer(block).config.window, distance = query > key ? query - key : key - query;
    return (window == 0 || distance < window) && is_visible(block, batch, head, query, key);
  };
  return run(network, input,
             {.is_visible = is_within, .fills = {fill, fill, fill}, .edit = edit, .score = score, .weight = weight});
}

Run run(const Network& network, const ModelInput& input, const PassRules& rules) {
  check(network, input);
  const Layers& layers = *network.layers;
  Pass pass{network, input, rules};

  Array memory = rules.arithmetic.written(embed(network.source_embedding.get(), input.source));
  if (!layers.encoder.empty()) {
    pass.run.encoder_hidden.push_back(memory);
    for (std::uint32_t i = 0; i < layers.encoder.size(); ++i) {
      const BlockRef block{BlockKind::EncoderSelf, LayerIndex{i}};
      if (layers.encoder[i].weights) memory = rules.edited(block, Site::Residual, std::move(memory));
      pass.run.encoder_hidden.back() = memory;
      memory = pass.next(block, memory, {});
      pass.run.encoder_hidden.push_back(memory);
    }
    memory = apply(layers.encoder_norm, std::move(memory));
    pass.run.encoder_output = memory;
  }

  Array state = memory;
  if (!layers.decoder.empty()) {
    state = rules.arithmetic.written(embed(network.target_embedding.get(), *input.target));
    pass.run.decoder_hidden.push_back(state);
    for (std::uint32_t i = 0; i < layers.decoder.size(); ++i) {
      const DecoderLayer& layer = layers.decoder[i];
      if (layer.self) {
        const BlockRef block{BlockKind::DecoderSelf, LayerIndex{i}};
        state = rules.edited(block, Site::Residual, std::move(state));
        pass.run.decoder_hidden.back() = state;
        state = pass.next(block, state, {});
      }
      const BlockRef block{BlockKind::Cross, LayerIndex{i}};
      if (layer.cross.weights) state = rules.edited(block, Site::Residual, std::move(state));
      if (!layer.self) pass.run.decoder_hidden.back() = state;
      state = pass.next(block, state, memory);
      pass.run.decoder_hidden.push_back(state);
    }
    state = apply(layers.decoder_norm, std::move(state));
    pass.run.decoder_output = state;
  }
  if (layers.unembedding && !rules.take) pass.run.logits = unembed(*layers.unembedding, std::move(state), rules.arithmetic);
  return std::move(pass.run);
}

}  // namespace headlight::model::reference
