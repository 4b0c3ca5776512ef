#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "attention/stage.h"

namespace headlight::app {

/// The tokens of one side of a map, gathered into rows or columns of a smaller one.
struct TokenGroups {
  static constexpr std::uint32_t kLeftOut = std::numeric_limits<std::uint32_t>::max();

  std::vector<std::uint32_t> of_token;  ///< [token]: its group, ascending, or kLeftOut
  std::uint32_t count = 0;              ///< of groups

  bool operator==(const TokenGroups&) const = default;
};

/// The properties of a token that grouping needs.
struct GroupedToken {
  bool begins_word = true;
  bool is_special = false;   ///< special tokens and padding; each is a group of its own, or left out
  bool is_left_out = false;  ///< in no group: padding that isn't shown
};

/// Returns a group for each word if `joins_words`, else for each token. `leaves_out_special`: special tokens are in none.
TokenGroups group_tokens(std::span<const GroupedToken> tokens, bool joins_words, bool leaves_out_special);

/// Weights between groups: G_rc = mean over the queries i of r of Σ_{j in c} A_ij. A query's weights to a word add up, and a
/// word gives what its tokens give on average, so rows still sum to 1 where no key is left out.
struct GroupedMap {
  std::uint32_t rows = 0, columns = 0;
  std::vector<float> values;         ///< [rows, columns]
  std::vector<std::uint8_t> masked;  ///< [rows, columns]: 1 where all of its cells are
  float largest = 0.0F;              ///< of the values
};

/// Groups the weights of an exact tile of a whole map; groups have one entry for each of its rows and columns.
/// `renormalizes`: what a query gives to keys that aren't left out is divided by its sum, before the mean over queries; a
/// query that gives them nothing counts as zeros. Sums are of double precision.
GroupedMap group_weights(const attention::Tile& weights, const TokenGroups& queries, const TokenGroups& keys,
                         bool renormalizes);

/// Bars beside a map [rows, columns].
struct Marginals {
  std::vector<float> received;  ///< [columns]: the mean over queries of what they give to the key
  std::vector<float> given;     ///< [rows]: the sum of what the query gives to the keys of the map, itself left out

  bool operator==(const Marginals&) const = default;
};
/// Returns the marginals of `values` [rows, columns]; rows [first_counted, end_counted) count for what keys receive: those
/// that aren't padding. `has_self`: rows and columns are the same tokens, so that row i gives values[i, i] to itself.
Marginals marginals_of(std::span<const float> values, std::uint32_t rows, std::uint32_t columns, std::uint32_t first_counted,
                       std::uint32_t end_counted, bool has_self);

}  // namespace headlight::app
