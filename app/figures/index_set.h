#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace headlight::app {

/// Indices from the first up to `end`, one past the last.
struct IndexRange {
  std::uint32_t first = 0, end = 0;

  std::uint32_t count() const { return end - first; }
  auto operator<=>(const IndexRange&) const = default;
};

/// Indices of one axis: ranges in ascending order with a gap between any two; none is empty.
class IndexSet {
 public:
  IndexSet() = default;
  IndexSet(std::uint32_t index) : ranges_{{.first = index, .end = index + 1}} {}  // NOLINT: an index is a set of one
  IndexSet(IndexRange range) : ranges_{range} {}                                  // NOLINT: and so is a range

  void add(IndexRange range);

  const std::vector<IndexRange>& ranges() const { return ranges_; }
  bool is_empty() const { return ranges_.empty(); }
  bool contains(std::uint32_t index) const;
  std::uint32_t count() const;
  std::uint32_t largest() const { return ranges_.back().end - 1; }
  std::vector<std::uint32_t> indices() const;

  bool operator==(const IndexSet&) const = default;

 private:
  std::vector<IndexRange> ranges_;
};

/// "5", "0-3,7", "0:4" (the second number is one past the last). Throws UsageError, which names the `flag`.
IndexSet parse_index_set(const std::string& flag, const std::string& text);

/// Does a text say more than one number, so that it can only be a selection?
bool is_index_list(const std::string& text);

/// "0-3, 7".
std::string to_string(const IndexSet& set);

}  // namespace headlight::app
