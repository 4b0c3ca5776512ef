#pragma once

#include <cstdint>
#include <string_view>

namespace headlight::model {

/// A named place of an attention at which its numbers can be changed while a pass runs. Each is a tensor with heads.
enum class Site : std::uint8_t {
  Query,       ///< q [head, query, d_k] that scores are computed from: after bias, norm and RoPE
  Key,         ///< k [KV head, key, d_k], likewise
  Value,       ///< v [KV head, key, d_v]
  HeadOutput,  ///< z = weights · v [head, query, d_v] before the heads are merged and W_O is applied
};

/// "queries", "keys", "values", "head outputs".
constexpr std::string_view to_string(Site site) {
  switch (site) {
    case Site::Query:
      return "queries";
    case Site::Key:
      return "keys";
    case Site::Value:
      return "values";
    case Site::HeadOutput:
      break;
  }
  return "head outputs";
}

}  // namespace headlight::model
