#include "text/piece.h"

#include <algorithm>

namespace headlight::text {
namespace {

/// Joins stretches to the one before where `joins(is_match, previous_is_match)` says so.
template <typename Joins>
std::vector<Stretch> merge(const std::vector<Stretch>& stretches, Joins joins) {
  std::vector<Stretch> merged;
  bool previous = false;
  for (const Stretch& stretch : stretches) {
    if (joins(stretch.is_match, previous) && !merged.empty()) {
      ByteRange& last = merged.back().range;
      last = {std::min(last.begin, stretch.range.begin), std::max(last.end, stretch.range.end)};
    } else {
      merged.push_back({stretch.range, false});
    }
    previous = stretch.is_match;
  }
  return merged;
}

std::vector<Stretch> arrange(std::vector<Stretch> stretches, SplitBehavior behavior) {
  const auto match_behind_other = [](bool is_match, bool previous) { return is_match && !previous; };
  switch (behavior) {
    case SplitBehavior::Removed:
      return stretches;
    case SplitBehavior::Isolated:
      return merge(stretches, [](bool, bool) { return false; });
    case SplitBehavior::Contiguous:
      return merge(stretches, [](bool is_match, bool previous) { return is_match == previous; });
    case SplitBehavior::MergedWithPrevious:
      return merge(stretches, match_behind_other);
    case SplitBehavior::MergedWithNext:
      break;
  }
  std::reverse(stretches.begin(), stretches.end());
  stretches = merge(stretches, match_behind_other);
  std::reverse(stretches.begin(), stretches.end());
  return stretches;
}

}  // namespace

std::vector<Stretch> to_stretches(const std::vector<ByteRange>& matches, std::size_t text_size) {
  std::vector<Stretch> stretches;
  stretches.reserve(2 * matches.size() + 1);
  std::uint32_t at = 0;
  for (const ByteRange& match : matches) {
    if (at != match.begin) stretches.push_back({{at, match.begin}, false});
    stretches.push_back({match, true});
    at = match.end;
  }
  const auto end = static_cast<std::uint32_t>(text_size);
  if (at != end) stretches.push_back({{at, end}, false});
  return stretches;
}

void split(const NormalizedText& text, std::vector<Stretch> stretches, SplitBehavior behavior, std::vector<Piece>& pieces) {
  for (const Stretch& stretch : arrange(std::move(stretches), behavior)) {
    if (stretch.is_match || stretch.range.is_empty()) continue;
    pieces.push_back({text.slice(stretch.range.begin, stretch.range.end), std::nullopt});
  }
}

}  // namespace headlight::text
