#include "inference/notebooks.h"

#include <array>

#include <fmt/ranges.h>

#include "core/error.h"
#include "inference/notebook_builders.h"

namespace headlight::inference {
namespace {

struct Preset {
  std::string_view name;
  Notebook (*make)();
};

constexpr std::array<Preset, 10> kPresets = {{{"notebook-000", boolean_mask},
                                              {"notebook-000-class", boolean_mask_class},
                                              {"notebook-001", causal_seeded},
                                              {"notebook-002", encoder_decoder},
                                              {"notebook-003", single_head},
                                              {"notebook-003-fused", fused_projection},
                                              {"notebook-003-fused-512", fused_wide},
                                              {"notebook-004", from_scratch},
                                              {"notebook-004-heads", from_scratch_heads},
                                              {"notebook-004-encoder", from_scratch_encoder}}};

}  // namespace

std::vector<std::string_view> notebook_names() {
  std::vector<std::string_view> names;
  for (const Preset& preset : kPresets) names.push_back(preset.name);
  return names;
}

Notebook make_notebook(std::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset.make();
  }
  throw Error("unknown preset '{}': choose from {}", name, fmt::join(notebook_names(), ", "));
}

std::shared_ptr<const model::Network> encoder_network(std::vector<model::AttentionLayer> layers,
                                                      std::shared_ptr<const model::Embedding> embedding) {
  return std::make_shared<model::Network>(
      model::Network{.source_embedding = std::move(embedding),
                     .target_embedding = nullptr,
                     .layers = std::make_shared<model::Layers>(model::Layers{.encoder = std::move(layers)})});
}

model::AttentionLayer attention_layer(const model::AttentionConfig& config, model::AttentionWeights weights) {
  return {.config = config, .weights = std::move(weights)};
}

model::Norm fresh_norm(std::uint32_t width) {
  return {.weight = Tensor(Shape{width}, std::vector<float>(width, 1.0f)), .bias = Tensor(Shape{width})};
}

model::TokenBatch numbered_tokens(std::uint32_t batch, std::uint32_t length) {
  std::vector<std::string> line;
  for (std::uint32_t i = 0; i < length; ++i) line.push_back(fmt::format("t{}", i));
  return labelled_tokens(std::vector<std::vector<std::string>>(batch, line));
}

model::TokenBatch labelled_tokens(std::vector<std::vector<std::string>> labels) {
  model::TokenBatch tokens;
  tokens.batch = static_cast<std::uint32_t>(labels.size());
  tokens.length = static_cast<std::uint32_t>(labels.front().size());
  tokens.lengths.assign(tokens.batch, tokens.length);
  tokens.texts = std::move(labels);
  return tokens;
}

}  // namespace headlight::inference
