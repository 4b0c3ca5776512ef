#include "text/byte_tokens.h"

#include <fmt/format.h>

namespace headlight::text {

ByteTokens::ByteTokens(const Vocabulary& vocabulary) {
  for (unsigned byte = 0; byte < ids_.size(); ++byte) ids_[byte] = vocabulary.find(fmt::format("<0x{:02X}>", byte));
}

int byte_of_token(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling[5] != '>') return -1;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  const int high = digit(spelling[3]);
  const int low = digit(spelling[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

}  // namespace headlight::text
