#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "text/vocabulary.h"

namespace headlight::text {

/// Ids of the tokens "<0x00>" … "<0xFF>", for bytes that no other token contains.
class ByteTokens {
 public:
  explicit ByteTokens(const Vocabulary& vocabulary);
  std::optional<std::uint32_t> find(unsigned char byte) const { return ids_[byte]; }

 private:
  std::array<std::optional<std::uint32_t>, 256> ids_;
};

/// The byte of a token "<0x41>", −1 for any other token string.
int byte_of_token(std::string_view token_string);

}  // namespace headlight::text
