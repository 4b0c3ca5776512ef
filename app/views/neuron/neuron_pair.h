#pragma once

#include "app/widgets/cells/score_chain.h"
#include "app/widgets/head_controls.h"
#include "attention/mask.h"

namespace headlight::app {

/// A query and a key of the selected head with all numbers between them.
struct NeuronPair {
  attention::Cell cell;
  std::string query_name, key_name;       ///< tokens: "short"
  ScoreChain chain;                       ///< its products' left and right factors are q and k
  std::vector<float> query_before;        ///< [d_k] before RoPE; empty without RoPE
  std::vector<float> key_before;          ///< likewise
  std::vector<std::size_t> order;         ///< of the products, as the view's settings say
  const model::Rotary* rotary = nullptr;  ///< null without RoPE
  bool is_captured = false;               ///< read from a file, evaluated on the host

  bool is_known() const { return !chain.products.empty(); }
  /// q, k [d_k].
  std::vector<float> factors(float Product::*side) const;
};

/// Reads the pair's numbers from known tiles and asks for those that are missing.
NeuronPair read_pair(Frame& frame, const HeadSubject& subject, attention::Cell cell);

/// What the products amount to, in words: the largest one, and the sums of both signs.
std::string describe_products(std::span<const Product> products);

/// Strips of colour over all components, from the cursor on: q, k and their products, before RoPE too where the layer has
/// it. `hovered` is the component under the pointer, here or in the table; set when it is here.
void draw_product_strips(Frame& frame, const NeuronPair& pair, std::optional<std::uint32_t>& hovered);

/// One line for each component, in the pair's order: its numbers on their colours and the product as a signed bar. Fills the
/// rest of the region and scrolls; only visible lines cost anything.
void draw_product_table(Frame& frame, const NeuronPair& pair, std::optional<std::uint32_t>& hovered);

/// The lines from the sum of the products to the weight, each with its formula, its numbers and its result, and beside them
/// what the device computed. Fills the region and scrolls where that is too low.
void draw_chain(Frame& frame, const ScoreChain& chain);
/// Draws the weights of the query's row as bars. A click pins the key.
void draw_row_of_weights(Frame& frame, attention::Cell cell);

/// "On the device: score 0.41832, …: what the parts add up to differs by 3e-8 …", once both are known; of a capture "On the
/// map".
std::string compare_with_device(const ScoreChain& chain, bool is_captured);

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

/// Rows [key, token, products…, score, weight] of all keys; nullopt while numbers are being computed. Asks for them. Of more
/// than `most_keys` keys only the first ones.
std::optional<Table> key_table(Frame& frame, const HeadSubject& subject, std::uint32_t query, std::uint32_t most_keys);

/// Products that key_table() takes at most: a megabyte of numbers.
inline constexpr std::uint32_t kMaxCopiedProducts = 1U << 18U;

}  // namespace headlight::app
