#include "text/prefix_tree.h"

#include <algorithm>
#include <numeric>

namespace headlight::text {

PrefixTree::PrefixTree(const Vocabulary& vocabulary) {
  struct Group {
    std::uint32_t node, begin, end;  ///< sorted token strings [begin, end) pass through `node`
    std::uint32_t depth;
  };
  std::vector<std::pair<std::string_view, std::uint32_t>> sorted;
  sorted.reserve(vocabulary.size());
  for (std::uint32_t id = 0; id < vocabulary.id_end(); ++id) {
    const auto token_string = vocabulary.token_string(id);
    if (token_string && !token_string->empty() && vocabulary.find(*token_string) == id)
      sorted.emplace_back(*token_string, id);
  }
  std::sort(sorted.begin(), sorted.end());

  nodes_.emplace_back();
  std::vector<Group> level = {{0, 0, static_cast<std::uint32_t>(sorted.size()), 0}};
  for (std::size_t done = 0; done < level.size(); ++done) {
    const Group group = level[done];
    std::uint32_t at = group.begin;
    if (group.depth > 0 && at < group.end && sorted[at].first.size() == group.depth)
      nodes_[group.node].id = static_cast<std::int32_t>(sorted[at++].second);
    nodes_[group.node].children = static_cast<std::uint32_t>(nodes_.size());
    while (at < group.end) {
      const auto byte = static_cast<unsigned char>(sorted[at].first[group.depth]);
      const std::uint32_t begin = at;
      while (at < group.end && static_cast<unsigned char>(sorted[at].first[group.depth]) == byte) ++at;
      level.push_back({static_cast<std::uint32_t>(nodes_.size()), begin, at, group.depth + 1});
      nodes_.push_back({.byte = byte});
      ++nodes_[group.node].count;
    }
  }
}

std::uint32_t PrefixTree::child(std::uint32_t node, unsigned char byte) const {
  const auto begin = nodes_.begin() + nodes_[node].children;
  const auto end = begin + nodes_[node].count;
  const auto found =
      std::lower_bound(begin, end, byte, [](const Node& of, unsigned char wanted) { return of.byte < wanted; });
  return found == end || found->byte != byte ? 0 : static_cast<std::uint32_t>(found - nodes_.begin());
}

}  // namespace headlight::text
