#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/network.h"

namespace headlight::capture {

/// Tokens as a file has them: a list for each line of the batch, or one list.
struct TokenLists {
  std::string where;  ///< file and key, for messages: "run.json, query_tokens"
  std::vector<std::vector<std::string>> lines = {};
};

/// What a capture says of an image whose patches are its tokens.
struct ImageWords {
  std::vector<std::string> files = {};  ///< one, or one for each line of the batch; as the capture names them
  std::optional<std::array<std::uint32_t, 2>> patches = {};  ///< rows and columns
  std::optional<std::uint32_t> first_patch = {};             ///< the token of the first one
  std::string problem = {};                                  ///< in one line what of this can't be read; empty: nothing
};

/// What a capture says in words.
struct CaptureWords {
  std::optional<TokenLists> tokens = {}, query_tokens = {}, key_tokens = {};
  bool is_causal = false;
  ImageWords image = {};
};

/// From the file's own metadata and from the JSON file beside it (run.npz: run.json), whose members win. Throws Error in one
/// line where one of them isn't what docs/CAPTURES.md says; of an image ImageWords::problem says it.
CaptureWords read_words(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata);

/// Tokens of `batch` lines of `length`; without lists their positions. Throws Error where a list has another length.
model::TokenBatch token_batch(const std::optional<TokenLists>& lists, std::uint32_t batch, std::uint32_t length);

}  // namespace headlight::capture
