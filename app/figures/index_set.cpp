#include "app/figures/index_set.h"

#include <algorithm>

#include "app/state/usage.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kLargestIndex = 1U << 22;  // more than any axis has

IndexRange parse_part(const std::string& flag, const std::string& text) {
  const auto index = [&](const std::string& number) {
    return static_cast<std::uint32_t>(parse_integer(flag, number, 0, kLargestIndex));
  };
  const std::size_t separator = text.find_first_of(":-");
  if (separator == std::string::npos) {
    const std::uint32_t only = index(text);
    return {.first = only, .end = only + 1};
  }
  const std::uint32_t first = index(text.substr(0, separator)), second = index(text.substr(separator + 1));
  const std::uint32_t end = text[separator] == '-' ? second + 1 : second;
  if (first >= end) throw UsageError("{}: {} is empty; write the smaller number first", flag, text);
  return {.first = first, .end = end};
}

}  // namespace

void IndexSet::add(IndexRange range) {
  if (range.first >= range.end) return;
  std::vector<IndexRange> all = ranges_;
  all.push_back(range);
  std::ranges::sort(all);
  ranges_.clear();
  for (const IndexRange& next : all) {
    if (!ranges_.empty() && next.first <= ranges_.back().end) {
      ranges_.back().end = std::max(ranges_.back().end, next.end);
    } else {
      ranges_.push_back(next);
    }
  }
}

bool IndexSet::contains(std::uint32_t index) const {
  return std::ranges::any_of(ranges_, [=](const IndexRange& range) { return range.first <= index && index < range.end; });
}

std::uint32_t IndexSet::count() const {
  std::uint32_t sum = 0;
  for (const IndexRange& range : ranges_) sum += range.count();
  return sum;
}

std::vector<std::uint32_t> IndexSet::indices() const {
  std::vector<std::uint32_t> all;
  for (const IndexRange& range : ranges_) {
    for (std::uint32_t index = range.first; index < range.end; ++index) all.push_back(index);
  }
  return all;
}

IndexSet parse_index_set(const std::string& flag, const std::string& text) {
  IndexSet set;
  for (const std::string& part : split_list(flag, {text})) set.add(parse_part(flag, part));
  return set;
}

bool is_index_list(const std::string& text) { return text == "all" || text.find_first_of(",:-") != std::string::npos; }

std::string to_string(const IndexSet& set) {
  std::string text;
  for (const IndexRange& range : set.ranges()) {
    if (!text.empty()) text += ", ";
    text += range.count() == 1 ? std::to_string(range.first) : fmt::format("{}-{}", range.first, range.end - 1);
  }
  return text;
}

}  // namespace headlight::app
