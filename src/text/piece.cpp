#include "text/piece.h"

#include <algorithm>

namespace headlight::text {
namespace {

/// Joins spans to the previous one where `joins(is_match, previous_is_match)`.
template <typename Joins>
std::vector<TextSpan> merge(const std::vector<TextSpan>& spans, Joins joins) {
  std::vector<TextSpan> merged;
  bool previous = false;
  for (const TextSpan& span : spans) {
    if (joins(span.is_match, previous) && !merged.empty()) {
      ByteRange& last = merged.back().range;
      last = {std::min(last.begin, span.range.begin), std::max(last.end, span.range.end)};
    } else {
      merged.push_back({span.range, false});
    }
    previous = span.is_match;
  }
  return merged;
}

std::vector<TextSpan> arrange(std::vector<TextSpan> spans, SplitBehavior behavior) {
  const auto match_after_other = [](bool is_match, bool previous) { return is_match && !previous; };
  switch (behavior) {
    case SplitBehavior::Removed:
      return spans;
    case SplitBehavior::Isolated:
      return merge(spans, [](bool, bool) { return false; });
    case SplitBehavior::Contiguous:
      return merge(spans, [](bool is_match, bool previous) { return is_match == previous; });
    case SplitBehavior::MergedWithPrevious:
      return merge(spans, match_after_other);
    case SplitBehavior::MergedWithNext:
      break;
  }
  std::reverse(spans.begin(), spans.end());
  spans = merge(spans, match_after_other);
  std::reverse(spans.begin(), spans.end());
  return spans;
}

}  // namespace

std::vector<TextSpan> to_spans(const std::vector<ByteRange>& matches, std::size_t text_size) {
  std::vector<TextSpan> spans;
  spans.reserve(2 * matches.size() + 1);
  std::uint32_t at = 0;
  for (const ByteRange& match : matches) {
    if (at != match.begin) spans.push_back({{at, match.begin}, false});
    spans.push_back({match, true});
    at = match.end;
  }
  const auto end = static_cast<std::uint32_t>(text_size);
  if (at != end) spans.push_back({{at, end}, false});
  return spans;
}

void split(const NormalizedText& text, std::vector<TextSpan> spans, SplitBehavior behavior, std::vector<Piece>& pieces) {
  for (const TextSpan& span : arrange(std::move(spans), behavior)) {
    if (span.is_match || span.range.is_empty()) continue;
    pieces.push_back({text.slice(span.range.begin, span.range.end), std::nullopt});
  }
}

}  // namespace headlight::text
