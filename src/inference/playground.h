#pragma once

#include <cstdint>
#include <string_view>

#include "model/network.h"

namespace headlight::inference {

/// The notebooks' own model, as the user edits it: word-level tokens, seeded embedding and sinusoidal positions, seeded
/// attention layers.
struct PlaygroundSettings {
  std::uint32_t d_model = 64;
  std::uint32_t heads = 8;
  std::uint32_t d_k = 0;  ///< 0: d_model / heads
  std::uint32_t d_v = 0;  ///< 0: d_model / heads
  std::uint32_t layers = 2;
  std::uint64_t seed = 123;
  model::Scale scale = {};
  bool bias = true;
  bool output_projection = true;
  bool positions = true;
  model::MergeOrder merge = model::MergeOrder::Concatenate;

  bool operator==(const PlaygroundSettings&) const = default;
};

inline constexpr std::uint32_t kMaxTokens = 32'768;        ///< a line; more is refused
inline constexpr std::uint32_t kMaxBatchTokens = 262'144;  ///< all lines together, padding included
inline constexpr std::uint32_t kMaxWidth = 8'192;          ///< d_model, d_k and d_v
inline constexpr std::uint32_t kMaxHeads = 64;
inline constexpr std::uint32_t kMaxHeadsWidth = 32'768;  ///< heads·d_k and heads·d_v
inline constexpr std::uint32_t kMaxLayers = 6;

struct Playground {
  std::shared_ptr<const model::Network> network;
  model::ModelInput input;
  PlaygroundSettings settings;   ///< what the network was drawn from
  std::uint32_t vocabulary = 0;  ///< rows of the embedding
};

/// Builds network and input. Lines of `text` are batch items. With a non-empty `key_text`, tokens of `text` are queries and
/// tokens of `key_text` keys and values (a cross-attention stack without self-attention).
/// PyTorch draws these numbers by manual_seed(seed); Embedding(words, d_model); manual_seed(seed); then for each layer
/// Linear W_Q, W_K, W_V, W_O. Several layers have a residual and a LayerNorm each; a single one is shown bare: its
/// output is the projection. Throws Error in one line: heads don't divide d_model, no word in the text, invalid UTF-8,
/// too many tokens, …. `previous` saves drawing the weights again: its layers stay the same object while their settings
/// do, its embedding while the dictionary has as many words, its network when both do. It may be empty.
Playground make_playground(const PlaygroundSettings& settings, const std::string& text, const std::string& key_text,
                           const Playground& previous = {});

}  // namespace headlight::inference
