#include "attribution/rollout.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace headlight::attribution {
namespace {

/// Less capacity than this is none: sums of doubles leave remainders.
constexpr double kNone = 1e-12;

/// A network of pipes in the form that Dinic's algorithm wants: every pipe is followed by its reverse.
class Pipes {
 public:
  explicit Pipes(std::size_t nodes) : of_node_(nodes), level_(nodes), next_(nodes) {}

  void add(std::uint32_t from, std::uint32_t to, double capacity) {
    of_node_[from].push_back(ends_.size());
    ends_.push_back({.to = to, .left = capacity});
    of_node_[to].push_back(ends_.size());
    ends_.push_back({.to = from, .left = 0.0});
  }
  double fill(std::uint32_t from, std::uint32_t to) {
    double sum = 0.0;
    while (find_levels(from, to)) {
      std::fill(next_.begin(), next_.end(), 0);
      while (const double more = push(from, to, std::numeric_limits<double>::infinity())) sum += more;
    }
    return sum;
  }
  /// What pipe `number` carries, in the order of add().
  double carried(std::size_t number) const { return ends_[2 * number + 1].left; }

 private:
  struct End {
    std::uint32_t to = 0;
    double left = 0.0;
  };

  bool find_levels(std::uint32_t from, std::uint32_t to) {
    std::fill(level_.begin(), level_.end(), -1);
    level_[from] = 0;
    std::vector<std::uint32_t> queue{from};
    for (std::size_t at = 0; at < queue.size() && level_[to] < 0; ++at) {
      for (const std::size_t end : of_node_[queue[at]]) {
        const End& pipe = ends_[end];
        if (!(pipe.left > kNone) || level_[pipe.to] >= 0) continue;
        level_[pipe.to] = level_[queue[at]] + 1;
        queue.push_back(pipe.to);
      }
    }
    return level_[to] >= 0;
  }

  /// Through one path of the levels; 0 when there is none. As deep as the path is long.
  double push(std::uint32_t from, std::uint32_t to, double most) {  // NOLINT(misc-no-recursion)
    if (from == to) return most;
    for (std::size_t& next = next_[from]; next < of_node_[from].size(); ++next) {
      const std::size_t end = of_node_[from][next];
      const End& pipe = ends_[end];
      if (!(pipe.left > kNone) || level_[pipe.to] != level_[from] + 1) continue;
      const double pushed = push(pipe.to, to, std::min(most, pipe.left));
      if (pushed <= 0.0) continue;
      ends_[end].left -= pushed;
      ends_[end ^ 1U].left += pushed;
      return pushed;
    }
    return 0.0;
  }

  std::vector<End> ends_;
  std::vector<std::vector<std::size_t>> of_node_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
};

}  // namespace

void roll_down(double mass, std::uint32_t layer, std::uint32_t query, std::span<const double> weights,
               double residual_weight, double least, std::span<double> below, std::vector<FlowEdge>& edges) {
  for (std::uint32_t key = 0; key < weights.size(); ++key) {
    const double share = mass * (1.0 - residual_weight) * weights[key];
    below[key] += share;
    if (share >= least) edges.push_back({.layer = layer, .from = key, .to = query, .share = share});
  }
  const double kept = mass * residual_weight;
  below[query] += kept;
  if (kept >= least) {
    edges.push_back({.layer = layer, .from = query, .to = query, .share = kept, .is_residual = true});
  }
}

TokenFlow largest_flow(const FlowCapacities& capacities, std::uint32_t from, std::uint32_t to, double least) {
  const std::uint32_t tokens = capacities.tokens;
  const auto layers = static_cast<std::uint32_t>(capacities.layers.size());
  Pipes pipes(std::size_t{layers + 1} * tokens);
  std::vector<FlowEdge> edges;
  for (std::uint32_t layer = layers; layer-- > 0;) {
    for (std::uint32_t query = 0; query < tokens; ++query) {
      for (std::uint32_t key = 0; key < tokens; ++key) {
        const double capacity = capacities.layers[layer][std::size_t{query} * tokens + key];
        if (!(capacity > kNone)) continue;  // NaN is none
        pipes.add((layer + 1) * tokens + query, layer * tokens + key, capacity);
        edges.push_back({.layer = layer, .from = key, .to = query, .is_residual = query == key});
      }
    }
  }
  TokenFlow flow{.value = pipes.fill(layers * tokens + from, to)};
  for (std::size_t number = 0; number < edges.size(); ++number) {
    edges[number].share = pipes.carried(number);
    if (edges[number].share >= least) flow.edges.push_back(edges[number]);
  }
  return flow;
}

}  // namespace headlight::attribution
