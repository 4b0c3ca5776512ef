#include "evaluation/batches.h"

#include <algorithm>
#include <numeric>

namespace headlight::evaluation {

std::vector<std::vector<std::size_t>> batches_by_length(std::span<const std::size_t> lengths, std::size_t most_lines,
                                                        std::size_t most_tokens) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<std::size_t>> batches;
  for (const std::size_t line : order) {
    const bool is_full = batches.empty() || batches.back().size() >= most_lines ||
                         (batches.back().size() + 1) * lengths[batches.back().front()] > most_tokens;
    if (is_full) batches.emplace_back();
    batches.back().push_back(line);
  }
  return batches;
}

}  // namespace headlight::evaluation
