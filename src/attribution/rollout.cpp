#include "attribution/rollout.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace headlight::attribution {
namespace {

/// Less capacity than this is none: sums of doubles leave remainders.
constexpr double kNone = 1e-12;

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

LargestFlow::LargestFlow(std::uint32_t layers, std::uint32_t tokens, std::uint32_t from, std::uint32_t to)
    : layer_(layers - 1),
      tokens_(tokens),
      from_(layers * tokens + from),
      to_(to),
      reached_(tokens, false),
      below_(tokens, false),
      of_node_(std::size_t{layers + 1} * tokens),
      level_(of_node_.size()),
      next_(of_node_.size()) {
  reached_[from] = true;
}

void LargestFlow::add_pipe(std::uint32_t from, std::uint32_t to, double capacity) {
  of_node_[from].push_back(static_cast<std::uint32_t>(ends_.size()));
  ends_.push_back({.to = to, .left = capacity});
  of_node_[to].push_back(static_cast<std::uint32_t>(ends_.size()));
  ends_.push_back({.to = from, .left = 0.0});
}

void LargestFlow::add(std::uint32_t query, std::span<const double> capacities) {
  const std::uint32_t first = layer_ == 0 ? to_ : 0;  // from the lowest layer on only one token vector counts
  const std::uint32_t end = layer_ == 0 ? to_ + 1 : tokens_;
  for (std::uint32_t key = first; key < end; ++key) {
    if (!(capacities[key] > kNone)) continue;  // NaN is none
    add_pipe((layer_ + 1) * tokens_ + query, layer_ * tokens_ + key, capacities[key]);
    below_[key] = true;
  }
}

void LargestFlow::end_layer() {
  reached_ = std::exchange(below_, std::vector<bool>(tokens_, false));
  if (layer_ > 0) --layer_;
}

bool LargestFlow::find_levels() {
  std::fill(level_.begin(), level_.end(), -1);
  level_[from_] = 0;
  std::vector<std::uint32_t> queue{from_};
  for (std::size_t at = 0; at < queue.size() && level_[to_] < 0; ++at) {
    for (const std::uint32_t end : of_node_[queue[at]]) {
      const End& pipe = ends_[end];
      if (!(pipe.left > kNone) || level_[pipe.to] >= 0) continue;
      level_[pipe.to] = level_[queue[at]] + 1;
      queue.push_back(pipe.to);
    }
  }
  return level_[to_] >= 0;
}

/// Through one path of the levels; 0 when there is none. As deep as the path is long.
double LargestFlow::push(std::uint32_t from, double most) {  // NOLINT(misc-no-recursion)
  if (from == to_) return most;
  for (std::size_t& next = next_[from]; next < of_node_[from].size(); ++next) {
    const std::uint32_t end = of_node_[from][next];
    const End& pipe = ends_[end];
    if (!(pipe.left > kNone) || level_[pipe.to] != level_[from] + 1) continue;
    const double pushed = push(pipe.to, std::min(most, pipe.left));
    if (pushed <= 0.0) continue;
    ends_[end].left -= pushed;
    ends_[end ^ 1U].left += pushed;
    return pushed;
  }
  return 0.0;
}

bool LargestFlow::step() {
  if (!find_levels()) return true;
  std::fill(next_.begin(), next_.end(), 0);
  while (const double more = push(from_, std::numeric_limits<double>::infinity())) value_ += more;
  return false;
}

TokenFlow LargestFlow::result(double least) const {
  TokenFlow flow{.value = value_};
  for (std::size_t pipe = 0; pipe < ends_.size(); pipe += 2) {
    const double carried = ends_[pipe + 1].left;
    if (carried < least) continue;
    const std::uint32_t above = ends_[pipe + 1].to, below = ends_[pipe].to;  // nodes
    const std::uint32_t query = above % tokens_, key = below % tokens_;
    flow.edges.push_back(
        {.layer = below / tokens_, .from = key, .to = query, .share = carried, .is_residual = query == key});
  }
  return flow;
}

}  // namespace headlight::attribution
