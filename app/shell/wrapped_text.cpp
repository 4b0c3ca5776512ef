#include "app/shell/wrapped_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "app/shell/shaped_text.h"
#include "imgui.h"

namespace headlight::shell {
namespace {

constexpr std::uint32_t kLargest16 = 0xFFFF;
constexpr bool kIsNarrow = sizeof(ImWchar) == 2;

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

std::size_t next_character(std::string_view text, std::size_t at) {
  if (at < text.size()) ++at;
  while (at < text.size() && continues_character(text[at])) ++at;
  return at;
}

std::size_t previous_character(std::string_view text, std::size_t at) {
  if (at > 0) --at;
  while (at > 0 && continues_character(text[at])) --at;
  return at;
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::size_t common_suffix(std::string_view a, std::string_view b) {
  std::size_t count = 0;
  while (count < a.size() && count < b.size() && a[a.size() - 1 - count] == b[b.size() - 1 - count]) ++count;
  return count;
}

}  // namespace

WrappedText::WrappedText(std::string text, float width, const Measure& measure) : text_(std::move(text)) {
  if (std::isinf(width)) {
    shown_ = text_;
    lines_ = static_cast<std::size_t>(std::ranges::count(text_, '\n')) + 1;
    return;
  }
  shown_.reserve(text_.size() + text_.size() / 16);
  lines_ = 0;
  for (std::size_t begin = 0; begin <= text_.size();) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    if (begin > 0) shown_ += '\n';
    break_line(std::string_view(text_).substr(begin, end - begin), width, measure);
    begin = end + 1;
  }
}

void WrappedText::break_line(std::string_view line, float width, const Measure& measure) {
  ++lines_;
  std::size_t begin = 0;  // of the row in `line`
  std::size_t space = 0;  // the last one; after `begin`, the row may be broken there
  float x = 0.0F;
  float x_behind_space = 0.0F;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t next = next_character(line, at);
    const float advance = measure(line.substr(at, next - at));
    const bool is_space = line[at] == ' ';
    const bool fits = x + advance <= width || at == begin;
    if (is_space) {
      space = at;
      x_behind_space = x + advance;
    }
    if (fits) {
      x += advance;
      at = next;
      continue;
    }
    ++lines_;
    if (space > begin) {
      shown_.append(line.substr(begin, space - begin)).push_back('\n');
      begin = space + 1;
      x = is_space ? 0.0F : x - x_behind_space;
      if (is_space) at = next;
    } else {
      shown_.append(line.substr(begin, at - begin));
      added_.push_back(shown_.size());
      shown_.push_back('\n');
      begin = at;
      x = 0.0F;
    }
  }
  shown_.append(line.substr(begin));
}

std::size_t WrappedText::to_text(std::size_t shown) const {
  const auto before = std::ranges::lower_bound(added_, shown) - added_.begin();
  return std::min(shown - static_cast<std::size_t>(before), text_.size());
}

std::size_t WrappedText::to_shown(std::size_t text) const {
  // The i-th added newline is in front of the text's byte added_[i] − i.
  std::size_t low = 0;
  std::size_t high = added_.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (added_[middle] - middle <= text) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return std::min(text + low, shown_.size());
}

WrappedText::Edit WrappedText::edited(std::string_view now, std::size_t caret, std::size_t caret_before) const {
  // The caret after an edit is after the inserted text, and the text after the caret is unchanged. The caret also
  // distinguishes a typed newline from the break beside it.
  std::size_t tail = std::min(now.size() - caret, shown_.size());
  if (std::string_view(shown_).substr(shown_.size() - tail) != now.substr(now.size() - tail)) {
    tail = common_suffix(shown_, now);
    caret = now.size() - tail;
  }
  const std::size_t last = shown_.size() - tail;
  const std::size_t first = common_prefix(std::string_view(shown_).substr(0, last), now.substr(0, caret));
  const std::string_view inserted = now.substr(first, caret - first);
  std::size_t begin = to_text(first);
  std::size_t end = to_text(last);
  if (inserted.empty() && begin == end && first < last) {
    if (caret_before > first) {
      begin = previous_character(text_, begin);
    } else {
      end = next_character(text_, end);
    }
  }
  Edit edit{.text = text_.substr(0, begin), .caret = begin + inserted.size()};
  edit.text.append(inserted).append(text_, end);
  return edit;
}

std::string WrappedText::copied(std::string_view piece, std::size_t begin) const {
  const std::string_view shown = shown_;
  const bool is_there = begin <= shown.size() && shown.substr(begin, piece.size()) == piece;
  if (!is_there) begin = shown.find(piece);
  if (begin == std::string_view::npos) return std::string(piece);
  const std::size_t first = to_text(begin);
  return text_.substr(first, to_text(begin + piece.size()) - first);
}

std::size_t end_of_change(std::string_view before, std::string_view after) {
  const std::size_t prefix = common_prefix(before, after);
  return after.size() - common_suffix(before.substr(prefix), after.substr(prefix));
}

NarrowText::NarrowText(std::string_view utf8, const Replace& replace) {
  for (std::size_t at = 0; at < utf8.size();) {
    const std::size_t begin = at;
    const std::uint32_t code = next_code_point(utf8, at);
    const std::string_view character = utf8.substr(begin, at - begin);
    if (kIsNarrow && code > kLargest16) {
      replaced_.push_back(text_.size());
      text_ += replace(character);
    } else {
      text_ += character;
    }
  }
}

std::size_t NarrowText::from_original(std::size_t position) const {
  // The i-th replaced character begins i bytes later in the original, since four bytes are three here.
  std::size_t before = 0;
  while (before < replaced_.size() && replaced_[before] + before < position) ++before;
  return position - before;
}

std::size_t NarrowText::to_original(std::size_t position) const {
  const auto before = std::ranges::lower_bound(replaced_, position);
  return position + static_cast<std::size_t>(std::distance(replaced_.begin(), before));
}

}  // namespace headlight::shell
