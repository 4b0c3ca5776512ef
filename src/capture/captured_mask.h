#pragma once

#include <algorithm>

#include "attention/mask.h"

namespace headlight::capture {

/// The mask of a captured block: the rows and cells of real tokens, and the keys that a row may see according to the
/// file.
struct CapturedMask {
  bool is_causal = false;
  std::uint32_t window = 0;  ///< a query sees keys with |query − key| < window; 0: there is none
  /// Rows before it were not captured: their tokens were in a cache.
  std::uint32_t first_row = 0;
  std::vector<attention::KeyRange> queries = {}, keys = {};  ///< [batch] tokens that are no padding

  /// Keys [begin, end) that a query may see; empty where its row wasn't captured.
  attention::KeyRange visible(std::uint32_t item, std::uint32_t query) const {
    const auto [first, all] = keys[item];
    if (query < first_row) return {first, first};
    const std::uint32_t everywhere = all + query + 1, reach = window == 0 ? everywhere : std::min(window, everywhere);
    const std::uint32_t begin = std::max(first, query + 1 - std::min(query + 1, reach));
    const std::uint32_t end = std::min(all, query + (is_causal ? 1 : reach));
    return {begin, std::max(begin, end)};
  }
  /// Was the row captured, and is it a real token's?
  bool has_row(std::uint32_t item, std::uint32_t query) const { return query >= first_row && queries[item].holds(query); }
};

}  // namespace headlight::capture
