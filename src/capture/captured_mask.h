#pragma once

#include <algorithm>

#include "attention/mask.h"

namespace headlight::capture {

/// Which rows and cells of a captured block are of real tokens, and which keys a row may see by what the file says.
struct CapturedMask {
  bool is_causal = false;
  /// Rows before it were not captured: their tokens were in a cache.
  std::uint32_t first_row = 0;
  std::vector<attention::KeyRange> queries = {}, keys = {};  ///< [batch] tokens that are no padding

  /// Keys [begin, end) that a query may see; empty where its row wasn't captured.
  attention::KeyRange visible(std::uint32_t item, std::uint32_t query) const {
    const auto [begin, all] = keys[item];
    const std::uint32_t end = query < first_row ? begin : is_causal ? std::min(query + 1, all) : all;
    return {begin, std::max(begin, end)};
  }
  /// Was the row captured, and is it a real token's?
  bool has_row(std::uint32_t item, std::uint32_t query) const { return query >= first_row && queries[item].holds(query); }
};

}  // namespace headlight::capture
