#include "text/normalized_text.h"

#include <algorithm>

#include "core/error.h"

namespace headlight::text {

namespace {

// Byte letters take 2 bytes for 1, the longest compatible decomposition 33 for 3, and marks before each word a few.
constexpr std::size_t kMinLimit = 65'536;
constexpr std::size_t kMaxGrowth = 64;

}  // namespace

NormalizedText::NormalizedText(std::string_view valid_utf8)
    : text_(valid_utf8), limit_(kMinLimit + kMaxGrowth * valid_utf8.size()) {
  ranges_.reserve(text_.size());
  for (std::size_t at = 0; at < text_.size();) {
    const std::size_t length = character_length(text_, at);
    const ByteRange place{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + length)};
    ranges_.insert(ranges_.end(), length, place);
    at += length;
  }
}

void NormalizedText::expect_within_limit(std::size_t bytes) const {
  if (bytes > limit_) throw Error("the tokenizer's stages make more than {} bytes of this text", limit_);
}

ByteRange NormalizedText::original(ByteRange range) const {
  if (range.is_empty()) return {begin_ + range.begin, begin_ + range.end};
  return {ranges_[range.begin].begin, ranges_[range.end - 1].end};
}

NormalizedText NormalizedText::slice(std::size_t begin, std::size_t end) const {
  NormalizedText piece;
  piece.text_ = text_.substr(begin, end - begin);
  piece.ranges_.assign(ranges_.begin() + static_cast<std::ptrdiff_t>(begin),
                       ranges_.begin() + static_cast<std::ptrdiff_t>(end));
  piece.limit_ = limit_;
  piece.begin_ = begin < end ? ranges_[begin].begin : begin_ + static_cast<std::uint32_t>(begin);
  return piece;
}

ByteRange NormalizedText::range_before(std::size_t at) const {
  return at == 0 ? ByteRange{begin_, begin_} : ranges_[at - 1];
}

void NormalizedText::transform_range(std::size_t begin, std::size_t end, std::span<const Change> changes,
                                     std::size_t removed) {
  expect_within_limit(changes.size());
  std::size_t at = begin;  // the next character of the old text that hasn't been replaced
  const auto skip = [&] { at += at < end ? character_length(text_, at) : 0; };
  for (std::size_t i = 0; i < removed; ++i) skip();

  std::string text = text_.substr(0, begin);
  std::vector<ByteRange> places(ranges_.begin(), ranges_.begin() + static_cast<std::ptrdiff_t>(begin));
  text.reserve(text_.size() + changes.size());
  places.reserve(text_.size() + changes.size());
  for (const Change& change : changes) {
    const bool inserts = change.change > 0 || at >= end;
    const ByteRange place = inserts ? range_before(at) : ranges_[at];
    append_utf8(text, change.code_point);
    places.resize(text.size(), place);
    if (inserts) continue;
    for (int i = change.change; i <= 0; ++i) skip();
  }
  text.append(text_, end);
  places.insert(places.end(), ranges_.begin() + static_cast<std::ptrdiff_t>(end), ranges_.end());
  expect_within_limit(text.size());
  text_ = std::move(text);
  ranges_ = std::move(places);
}

void NormalizedText::transform(std::span<const Change> changes, std::size_t removed) {
  if (!text_.empty()) transform_range(0, text_.size(), changes, removed);
}

void NormalizedText::prepend(std::string_view prefix) {
  if (text_.empty() || prefix.empty()) return;
  // The first character is replaced by the prefix and itself, so that all of them have its range.
  std::vector<Change> changes;
  for (std::size_t at = 0; at < prefix.size();) changes.push_back({next_code_point(prefix, at), changes.empty() ? 0 : 1});
  std::size_t first = 0;
  changes.push_back({next_code_point(text_, first), 1});
  transform_range(0, first, changes, 0);
}

void NormalizedText::replace(std::span<const ByteRange> matches, std::string_view content) {
  if (matches.empty()) return;
  // Every match at its full length: the products are below 2⁶⁴, a text and a file having less than 2³² bytes.
  expect_within_limit(matches.size() * content.size());
  std::string text;
  std::vector<ByteRange> places;
  text.reserve(text_.size());
  places.reserve(text_.size());
  std::size_t copied = 0;
  const auto copy_until = [&](std::size_t end) {
    text.append(text_, copied, end - copied);
    places.insert(places.end(), ranges_.begin() + static_cast<std::ptrdiff_t>(copied),
                  ranges_.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (const ByteRange& match : matches) {
    copy_until(match.begin);
    text += content;
    places.resize(text.size(), range_before(match.end));
    copied = match.end;
  }
  copy_until(text_.size());
  expect_within_limit(text.size());
  text_ = std::move(text);
  ranges_ = std::move(places);
}

}  // namespace headlight::text
