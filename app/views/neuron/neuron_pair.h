#pragma once

#include "app/cells/score_chain.h"
#include "app/widgets/head_subject.h"
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

/// The components in the order of the setting.
std::vector<std::size_t> order_products(std::span<const Product> products, ProductOrder order);

}  // namespace headlight::app
