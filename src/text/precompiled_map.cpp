#include "text/precompiled_map.h"

#include <algorithm>
#include <span>

#include <utf8proc.h>

#include "core/error.h"

namespace headlight::text {
namespace {

// Fields of a unit of the double array (github.com/s-yata/darts-clone).
bool has_leaf(std::uint32_t unit) { return ((unit >> 8U) & 1U) == 1U; }
std::uint32_t without_flag(std::uint32_t unit) { return unit & 0x7FFFFFFFU; }
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000FFU; }
std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10U) << ((unit & 0x200U) >> 6U); }

std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

/// Replaces `part` of a text by `replacement`, character by character; the longer one's surplus comes last.
void push_replacement(std::vector<Change>& changes, std::string_view part, std::string_view replacement) {
  const auto before = static_cast<std::ptrdiff_t>(count_code_points(part));
  const auto after = static_cast<std::ptrdiff_t>(count_code_points(replacement));
  std::ptrdiff_t index = 0;
  for (std::size_t at = 0; at < replacement.size(); ++index)
    changes.push_back({next_code_point(replacement, at), index >= before ? 1 : 0});
  if (after < before && !changes.empty()) changes.back().change += static_cast<int>(after - before);
}

std::size_t grapheme_end(std::string_view text, std::size_t begin) {
  std::size_t at = begin;
  auto previous = static_cast<utf8proc_int32_t>(next_code_point(text, at));
  utf8proc_int32_t state = 0;
  while (at < text.size()) {
    std::size_t after = at;
    const auto next = static_cast<utf8proc_int32_t>(next_code_point(text, after));
    if (utf8proc_grapheme_break_stateful(previous, next, &state)) break;
    previous = next;
    at = after;
  }
  return at;
}

/// Follows every path of a trie once.
class TrieWalk {
 public:
  TrieWalk(std::span<const std::uint32_t> units, std::string_view replacements)
      : units_(units), replacements_(replacements), nodes_(units.size()) {}

  /// The reason why the map is unsound; nullopt when each walk stays inside.
  std::optional<std::string_view> problem() {
    if (units_.empty()) return "it has no root";
    if (!replacements_.ends_with('\0')) return "its last replacement has no end";
    // A node is the base index of a unit's children: the child of byte b is at node XOR b, if it exists.
    std::vector<Step> path = {{.node = offset_of(units_[0])}};
    while (!path.empty()) {
      Step& step = path.back();
      if (step.byte == 0) {
        if ((step.node | 0xFFU) >= units_.size()) return "a branch leads out of the trie";
        Node& node = nodes_[step.node];
        if (node.state == State::Entered) return "a branch goes in a circle";
        if (node.state == State::Left) {
          step.keys_below = node.keys_below;
          step.byte = kEnd;
        }
        node.state = State::Entered;
      }
      if (step.byte == kEnd) {
        const Step done = step;
        path.pop_back();
        if (done.keys_above + done.keys_below > kMaxKeys) return "too many keys begin one another";
        nodes_[done.node] = {State::Left, done.keys_below};
        if (!path.empty()) path.back().keys_below = std::max(path.back().keys_below, done.keys_below + done.own_key);
        continue;
      }
      const std::uint32_t byte = step.byte++;
      const std::uint32_t unit = units_[step.node ^ byte];
      if (label_of(unit) != byte) continue;
      const std::size_t child = step.node ^ byte ^ offset_of(unit);
      const std::uint32_t own_key = has_leaf(unit) ? 1 : 0;
      if (child >= units_.size()) return "a branch leads out of the trie";
      if (own_key == 1 && !is_replacement(without_flag(units_[child]))) return "a replacement is missing or too long";
      path.push_back({.node = child, .keys_above = step.keys_above + own_key, .own_key = own_key});
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint32_t kMaxKeys = 32;            // the library's limit on keys that are prefixes of one text
  static constexpr std::size_t kLongestReplacement = 256;  // bytes; Unicode's own have at most 33
  static constexpr std::uint32_t kEnd = 256;               // after the last byte

  enum class State : std::uint8_t { New, Entered, Left };
  struct Node {
    State state = State::New;
    std::uint32_t keys_below = 0;
  };
  struct Step {
    std::size_t node;
    std::uint32_t byte = 0;        ///< the next one to try
    std::uint32_t keys_above = 0;  ///< keys on the path from the root to here, this unit's included
    std::uint32_t keys_below = 0;  ///< most keys on any path below
    std::uint32_t own_key = 0;     ///< 1 where a key ends
  };

  bool is_replacement(std::size_t begin) const {
    return begin < replacements_.size() &&
           replacements_.substr(begin, kLongestReplacement + 1).find('\0') != std::string::npos;
  }

  std::span<const std::uint32_t> units_;
  std::string_view replacements_;
  std::vector<Node> nodes_;  ///< equal branches share their nodes
};

}  // namespace

PrecompiledMap::PrecompiledMap(std::string_view bytes) {
  if (bytes.size() < 4) throw Error("the precompiled map of characters is cut off: it has {} bytes", bytes.size());
  const std::size_t trie_bytes = read_u32(bytes, 0);
  if (trie_bytes % 4 != 0 || trie_bytes > bytes.size() - 4)
    throw Error("the precompiled map of characters is damaged: a trie of {} bytes in {}", trie_bytes, bytes.size());
  for (std::size_t at = 4; at < 4 + trie_bytes; at += 4) units_.push_back(read_u32(bytes, at));
  replacements_ = bytes.substr(4 + trie_bytes);
  require_utf8(replacements_, "the precompiled map of characters");
}

void PrecompiledMap::expect_sound() const {
  if (const auto problem = TrieWalk(units_, replacements_).problem())
    throw Error("the precompiled map of characters is damaged: {}", *problem);
}

std::optional<std::string_view> PrecompiledMap::find(std::string_view part) const {
  if (units_.empty()) return std::nullopt;
  std::size_t node = offset_of(units_[0]);
  for (const char c : part) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) break;
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) return std::nullopt;
    const std::uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    // The shortest key is used, even when it is only a prefix of the part.
    if (node >= units_.size()) return std::nullopt;
    const std::size_t begin = without_flag(units_[node]);
    const bool is_inside = begin < replacements_.size();
    if (!is_inside || (static_cast<unsigned char>(replacements_[begin]) & 0xC0U) == 0x80U) return std::nullopt;
    const std::size_t end = replacements_.find('\0', begin);
    return std::string_view(replacements_).substr(begin, end == std::string::npos ? end : end - begin);
  }
  return std::nullopt;
}

void PrecompiledMap::apply(NormalizedText& normalized) const {
  const std::string_view text = normalized.text();
  std::vector<Change> changes;
  changes.reserve(text.size());
  bool modified = false;
  const auto push = [&](std::string_view part) {
    const std::optional<std::string_view> replacement = find(part);
    if (replacement) push_replacement(changes, part, *replacement);
    modified = modified || replacement.has_value();
    normalized.expect_within_limit(changes.size());
    return replacement.has_value();
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = grapheme_end(text, begin);
    const std::string_view grapheme = text.substr(begin, end - begin);
    begin = end;
    if (grapheme.size() < 6 && push(grapheme)) continue;
    for (std::size_t at = 0; at < grapheme.size();) {
      const std::size_t from = at;
      const char32_t c = next_code_point(grapheme, at);
      if (!push(grapheme.substr(from, at - from))) changes.push_back({c, 0});
    }
  }
  if (modified) normalized.transform(changes);
}

std::optional<std::string> decode_base64(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+') return 62;
    return c == '/' ? 63 : -1;
  };
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  unsigned pending = 0;
  int bits = 0;
  for (const char c : text) {
    const int value = digit(c);
    if (value < 0) return std::nullopt;
    pending = (pending << 6U) | static_cast<unsigned>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>((pending >> static_cast<unsigned>(bits)) & 0xFFU);
    }
  }
  return bytes;
}

}  // namespace headlight::text
