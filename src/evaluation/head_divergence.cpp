#include "evaluation/head_divergence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headlight::evaluation {
namespace {

/// −x log₂ x, 0 for 0. A NaN stays one.
double entropy_of(double x) { return x == 0.0 ? 0.0 : -x * std::log2(x); }

/// Groups while they are joined: the group of index i has the distances of row i, until it is joined with another one.
class Linkage {
 public:
  Linkage(std::span<const float> distances, std::uint32_t count)
      : count_(count), given_(distances), distances_(distances.begin(), distances.end()), groups_(count) {
    for (std::uint32_t i = 0; i < count; ++i) groups_[i] = {i};
  }

  std::vector<std::uint32_t> order() {
    std::vector<std::uint32_t> chain;
    for (std::uint32_t joined = 0; joined + 1 < count_;) {
      if (chain.empty()) chain.push_back(first_group());
      const std::uint32_t last = chain.back();
      const std::uint32_t before = chain.size() > 1 ? chain[chain.size() - 2] : last;
      const std::uint32_t nearest = nearest_to(last, before);
      if (chain.size() > 1 && nearest == before) {
        chain.resize(chain.size() - 2);
        join(before, last);
        ++joined;
      } else {
        chain.push_back(nearest);
      }
    }
    return count_ == 0 ? std::vector<std::uint32_t>() : groups_[first_group()];
  }

 private:
  double& distance(std::uint32_t a, std::uint32_t b) { return distances_[std::size_t{a} * count_ + b]; }
  double given(std::uint32_t a, std::uint32_t b) const { return double{given_[std::size_t{a} * count_ + b]}; }

  std::uint32_t first_group() const {
    return static_cast<std::uint32_t>(std::ranges::find_if(groups_, [](const auto& group) { return !group.empty(); }) -
                                      groups_.begin());
  }

  /// Returns the group nearest to `to`. Of equally near ones it is `before`, so that a chain ends (`before` equal to
  /// `to`: there is none), else the first.
  std::uint32_t nearest_to(std::uint32_t to, std::uint32_t before) {
    std::uint32_t nearest = before;
    double least = before == to ? std::numeric_limits<double>::infinity() : distance(to, before);
    for (std::uint32_t other = 0; other < count_; ++other) {
      if (other == to || groups_[other].empty() || !(distance(to, other) < least)) continue;
      least = distance(to, other);
      nearest = other;
    }
    return nearest;
  }

  void join(std::uint32_t a, std::uint32_t b) {
    const auto of_a = static_cast<double>(groups_[a].size()), of_b = static_cast<double>(groups_[b].size());
    for (std::uint32_t other = 0; other < count_; ++other) {
      if (other == a || other == b || groups_[other].empty()) continue;
      const double mean = (of_a * distance(a, other) + of_b * distance(b, other)) / (of_a + of_b);
      distance(a, other) = mean;
      distance(other, a) = mean;
    }
    append(groups_[a], groups_[b]);
  }

  /// `b`'s members after `a`'s, both turned so that the nearest of their ends meet.
  void append(std::vector<std::uint32_t>& a, std::vector<std::uint32_t>& b) const {
    const double ends[] = {given(a.back(), b.front()), given(a.back(), b.back()), given(a.front(), b.front()),
                           given(a.front(), b.back())};
    const auto nearest = std::ranges::min_element(ends) - std::begin(ends);
    if (nearest >= 2) std::ranges::reverse(a);
    if (nearest == 1 || nearest == 3) std::ranges::reverse(b);
    a.insert(a.end(), b.begin(), b.end());
    b.clear();
  }

  std::uint32_t count_;
  std::span<const float> given_;
  std::vector<double> distances_;
  std::vector<std::vector<std::uint32_t>> groups_;  ///< empty: joined with another one
};

}  // namespace

HeadDivergence::HeadDivergence(std::uint32_t heads) : heads_(heads), own_(heads, 0.0), joint_(pairs(), 0.0) {}

void HeadDivergence::begin(std::vector<float> weights) {
  weights_ = std::move(weights);
  cells_ = weights_.size() / std::max(heads_, 1U);
  first_ = 0;
  second_ = 1;
  for (std::uint32_t head = 0; head < heads_; ++head) {
    for (const float weight : std::span(weights_).subspan(head * cells_, cells_)) own_[head] += entropy_of(double{weight});
  }
}

bool HeadDivergence::go_on(std::size_t most_cells) {
  std::size_t done = 0;
  while (first_ + 1 < heads_ && (done == 0 || done + cells_ <= most_cells)) {
    const auto first = std::span(weights_).subspan(first_ * cells_, cells_);
    const auto second = std::span(weights_).subspan(second_ * cells_, cells_);
    double sum = 0.0;
    for (std::size_t cell = 0; cell < cells_; ++cell) {
      sum += entropy_of(0.5 * (double{first[cell]} + double{second[cell]}));
    }
    // Pairs before (first, first + 1): those of all heads before it.
    const std::size_t before = std::size_t{first_} * (2 * std::size_t{heads_} - first_ - 1) / 2;
    joint_[before + (second_ - first_ - 1)] += sum;
    done += std::max<std::size_t>(cells_, 1);
    if (++second_ < heads_) continue;
    ++first_;
    second_ = first_ + 1;
  }
  return first_ + 1 >= heads_;
}

std::vector<float> HeadDivergence::means(std::uint32_t queries) const {
  std::vector<float> means(std::size_t{heads_} * heads_, 0.0F);
  std::size_t pair = 0;
  for (std::size_t a = 0; a < heads_; ++a) {
    for (std::size_t b = a + 1; b < heads_; ++b, ++pair) {
      const double divergence = (joint_[pair] - 0.5 * (own_[a] + own_[b])) / std::max(queries, 1U);
      // Below 0 by rounding only; a NaN stays one.
      means[a * heads_ + b] = means[b * heads_ + a] = divergence < 0.0 ? 0.0F : static_cast<float>(divergence);
    }
  }
  return means;
}

std::vector<std::uint32_t> order_by_similarity(std::span<const float> distances, std::uint32_t count) {
  return Linkage(distances, count).order();
}

}  // namespace headlight::evaluation
