#include "text/utf8_repair.h"

#include <algorithm>

#include "core/utf8.h"

namespace headlight::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

RepairedUtf8::RepairedUtf8(std::string_view text) : original_(text) {
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Sequence sequence = utf8_sequence(text, at);
    if (!sequence.is_valid) {
      repaired_.append(text, copied, at - copied);
      repaired_ += kReplacement;
      copied = at + sequence.length;
      broken_.push_back(
          {.repaired = static_cast<std::uint32_t>(repaired_.size()), .original = static_cast<std::uint32_t>(copied)});
    }
    at += sequence.length;
  }
  if (!broken_.empty()) repaired_.append(text, copied);
}

std::uint32_t RepairedUtf8::original(std::uint32_t at) const {
  const auto after = std::upper_bound(broken_.begin(), broken_.end(), at,
                                      [](std::uint32_t position, const Broken& part) { return position < part.repaired; });
  if (after == broken_.begin()) return at;
  const Broken& before = *(after - 1);
  return before.original + (at - before.repaired);
}

ByteRange RepairedUtf8::original(ByteRange range) const {
  if (broken_.empty()) return range;
  return {original(range.begin), original(range.end)};
}

}  // namespace headlight::text
