#pragma once

#include "app/views/neuron/neuron_pair.h"

namespace headlight::app {

/// What the map of all keys keeps from frame to frame.
struct KeyRowsMemory {
  std::vector<float> products;           ///< [shown keys, d_k] of the rows in sight, columns in the pair's order
  std::optional<std::uint32_t> in_view;  ///< the key that was scrolled to
};

/// The products of one query with every key as a map [key, d_k], a row a key, with its score and its weight beside it; from
/// the cursor on. Only rows in sight are asked for and computed. `pair` is the chosen key, whose row is marked. Returns the
/// key that was clicked.
std::optional<std::uint32_t> draw_key_rows(Frame& frame, const HeadSubject& subject, const NeuronPair& pair,
                                           KeyRowsMemory& memory);

/// Rows [key, token, products…, score, weight] of all keys as tab-separated text; nullopt while numbers are being computed.
/// Asks for them. Of more than `most_keys` keys only the first ones.
std::optional<std::string> write_key_rows(Frame& frame, const HeadSubject& subject, std::uint32_t query,
                                          std::uint32_t most_keys);

/// Keys that write_key_rows() takes at most: a megabyte of numbers.
inline constexpr std::uint32_t kMostCopiedProducts = 1U << 18U;

}  // namespace headlight::app
