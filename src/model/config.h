#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace headlight {

/// A layer's number; no other index converts to it.
struct LayerIndex {
  std::uint32_t value = 0;

  constexpr auto operator<=>(const LayerIndex&) const = default;
};

}  // namespace headlight

namespace headlight::model {

/// How raw scores q·k are scaled before the mask ("Attention Is All You Need", eq. 1; notebook 003 does not scale).
struct Scale {
  enum class Kind : std::uint8_t { InverseSqrtKey, None, Value };
  Kind kind = Kind::InverseSqrtKey;
  float value = 1.0f;  ///< only for Kind::Value

  /// 1/√d_k, 1, or the value.
  float factor(std::uint32_t d_k) const;
  bool operator==(const Scale&) const = default;
};

/// How the heads' outputs [head, token, d_v] become rows of [token, heads·d_v].
enum class MergeOrder : std::uint8_t {
  Concatenate,       ///< transpose(1, 2).reshape: token i holds head 0 … head h−1 side by side
  WithoutTranspose,  ///< reshape alone, the bug of notebook 003: rows mix tokens of one head
};

/// One multi-head attention: sizes and options, no weights.
struct AttentionConfig {
  std::uint32_t d_model = 0;  ///< width of query_input, key_input and value_input
  std::uint32_t heads = 1;
  std::uint32_t d_k = 0;  ///< width of a head's queries and keys
  std::uint32_t d_v = 0;  ///< width of a head's values
  Scale scale = {};
  MergeOrder merge = MergeOrder::Concatenate;
  /// KV heads; head h reads KV head h / (heads / kv_heads) (grouped-query attention, Ainslie et al. 2023).
  /// 0: as many as heads.
  std::uint32_t kv_heads = 0;
  float clip = 0.0f;                         ///< projected queries, keys and values are cut to ±clip (OLMo); 0: off
  float softcap = 0.0f;                      ///< scaled scores s become softcap · tanh(s / softcap) (Gemma 2); 0: off
  std::uint32_t window = 0;                  ///< trained with |i − j| < window (sliding-window attention); 0: none
  std::optional<std::uint32_t> rotary = {};  ///< index in Layers::rotaries: rotates queries and keys (RoPE)
  std::optional<std::uint32_t> position_bias = {};  ///< index in Layers::position_biases: added to scaled scores
  std::optional<std::uint32_t> distances = {};      ///< index in Layers::distances: added to scores before the scale …
  bool has_content_position = false, has_position_content = false;  ///< … these of their terms

  std::uint32_t kv_head_count() const { return kv_heads == 0 ? heads : kv_heads; }

  bool operator==(const AttentionConfig&) const = default;
};

/// Which attention of a transformer a block is (FIELD terms: encoder self, decoder self, cross).
enum class BlockKind : std::uint8_t { EncoderSelf, DecoderSelf, Cross };
inline constexpr std::size_t kBlockKinds = 3;

/// "encoder", "decoder", "cross": prefixes of exported files and names in menus.
std::string_view to_string(BlockKind kind);

/// Names one attention block of a network.
struct BlockRef {
  BlockKind kind = BlockKind::EncoderSelf;
  LayerIndex layer = {};

  auto operator<=>(const BlockRef&) const = default;
};

}  // namespace headlight::model
