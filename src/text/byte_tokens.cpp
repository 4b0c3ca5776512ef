#include "text/byte_tokens.h"

#include <fmt/format.h>

namespace headlight::text {

ByteTokens::ByteTokens(const Vocabulary& vocabulary) {
  for (unsigned byte = 0; byte < ids_.size(); ++byte) ids_[byte] = vocabulary.find(fmt::format("<0x{:02X}>", byte));
}

int byte_of_token(std::string_view token_string) {
  if (token_string.size() != 6 || !token_string.starts_with("<0x") || token_string[5] != '>') return -1;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  const int high = digit(token_string[3]);
  const int low = digit(token_string[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

}  // namespace headlight::text
