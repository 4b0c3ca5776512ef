#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace headlight::test {

/// A token as tools/make_tokenizer_golden.py stored it.
struct GoldenToken {
  std::uint32_t id = 0;
  text::ByteRange bytes;
  std::uint32_t type = 0;  ///< of pairs only
};

/// The reference packages' output for one text.
struct GoldenText {
  std::vector<GoldenToken> tokens;
  std::optional<std::string> decoded;               ///< without special tokens
  std::optional<std::vector<std::uint32_t>> plain;  ///< ids without special tokens
  std::optional<std::vector<GoldenToken>> pair;     ///< with the next text
};

struct GoldenTokenizer {
  std::uint32_t vocabulary_size = 0;
  std::uint64_t token_strings_check = 0;  ///< FNV-1a over "<id> <token string>\n" of every token
  std::vector<GoldenText> texts;
};

/// The texts that every tokenizer is compared on, as bytes.
const std::vector<std::string>& golden_texts();

/// tests/golden/tokenizers/<name>/expected.bin.
GoldenTokenizer read_golden_tokenizer(const std::string& name);

}  // namespace headlight::test
