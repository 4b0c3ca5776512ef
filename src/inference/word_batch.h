#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/network.h"

namespace headlight::inference {

/// The typed texts as padded batches of word ids.
struct WordBatch {
  model::TokenBatch text;
  std::optional<model::TokenBatch> key_text;  ///< as many sequences as `text`
  std::uint32_t vocabulary = 0;               ///< rows that the embedding of both texts needs
};

/// Lines become batch items, padded to the longest with kPaddingId. One line of `key_text` serves every line of `text`.
/// Throws Error in one line: invalid UTF-8, no word, more words than kMaxTokens or kMaxBatchTokens, different numbers of
/// lines.
WordBatch batch_words(std::string_view text, std::string_view key_text);

}  // namespace headlight::inference
