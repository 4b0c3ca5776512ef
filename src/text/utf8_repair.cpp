#include "text/utf8_repair.h"

#include <algorithm>

namespace headlight::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Sequence {
  std::size_t length = 1;
  bool is_valid = false;
};

/// The well-formed sequence at text[at], or the longest part of one (Unicode 15, table 3-7).
Sequence sequence_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  if (first < 0x80) return {1, true};
  if (first < 0xC2 || first > 0xF4) return {1, false};
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i >= text.size() || byte(at + i) < low || byte(at + i) > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

}  // namespace

RepairedUtf8::RepairedUtf8(std::string_view text) : original_(text) {
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Sequence sequence = sequence_at(text, at);
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
