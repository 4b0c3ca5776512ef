#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace headlight::text {

/// Finds every token of a vocabulary that is a prefix of a text. A byte trie in breadth-first order: the children of a node
/// are neighbours, sorted by their byte.
class PrefixTree {
 public:
  explicit PrefixTree(const Vocabulary& vocabulary);

  /// Calls visit(length, id) for each, shortest first.
  template <typename Visit>
  void for_each_prefix(std::string_view text, Visit visit) const {
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<unsigned char>(text[i]));
      if (node == 0) return;
      if (nodes_[node].id >= 0) visit(i + 1, static_cast<std::uint32_t>(nodes_[node].id));
    }
  }

 private:
  struct Node {
    std::uint32_t children = 0;  ///< index of the first
    std::int32_t id = -1;        ///< −1: no token ends here
    std::uint16_t count = 0;     ///< of children
    unsigned char byte = 0;      ///< that leads here
  };
  /// 0, the root, when there is none.
  std::uint32_t child(std::uint32_t node, unsigned char byte) const;

  std::vector<Node> nodes_;
};

}  // namespace headlight::text
