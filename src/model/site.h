#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headlight::model {

/// A named place of a layer at which its numbers can be changed while a pass runs. The first five are of heads,
/// the others rows of a token, which count as one head.
enum class Site : std::uint8_t {
  Query,       ///< q [head, query, d_k] that scores are computed from: after bias, norm and RoPE
  Key,         ///< k [KV head, key, d_k], likewise
  Value,       ///< v [KV head, key, d_v]
  Weights,     ///< softmax of the masked scores [head, query, key]; its operations are ReplacePattern and Dropout
  HeadOutput,  ///< z = weights · v [head, query, d_v] before the heads are merged and W_O is applied
  Residual,    ///< the layer's input [query, d_model], before its norm; the residual connection carries the change on
  /// What W_O returns [query, d_model], before the residual is added and before a norm of either.
  AttentionOutput,
  FeedForward,  ///< what the feed-forward network returns [query, d_model], likewise
  Inner,        ///< a dense feed-forward's inner layer [query, d_ff], after the activation and times the gate
};

inline constexpr std::size_t kSites = 9;

/// For messages and menus.
constexpr std::string_view to_string(Site site) {
  constexpr std::array<std::string_view, kSites> kNames = {"queries",
                                                           "keys",
                                                           "values",
                                                           "weights",
                                                           "head outputs",
                                                           "residual stream",
                                                           "attention output",
                                                           "feed-forward output",
                                                           "feed-forward inside"};
  return kNames[static_cast<std::size_t>(site)];
}

/// Is it one tensor of each head?
constexpr bool has_heads(Site site) { return site <= Site::HeadOutput; }
/// Are its rows keys, and its heads KV heads?
constexpr bool is_of_keys(Site site) { return site == Site::Key || site == Site::Value; }

}  // namespace headlight::model
