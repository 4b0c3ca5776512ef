#include "evaluation/token_sketch.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "core/error.h"

namespace headlight::evaluation {

TokenSketch::TokenSketch(std::vector<TokenCount> counts) : counters_(std::move(counts)) { shrink(); }

TokenSketch::TokenSketch(std::vector<TokenCount> counters, double missed) : counters_(std::move(counters)), missed_(missed) {
  constexpr double kRounding = 1.0 + 1e-9;  // of two sums that are rounded by themselves
  bool is_right = counters_.size() <= kCounters && missed >= 0.0;
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    const TokenCount& counter = counters_[i];
    is_right = is_right && (i == 0 || counters_[i - 1].key < counter.key) && counter.count > 0 && counter.sure > 0.0 &&
               std::isfinite(counter.mass) && std::isfinite(counter.sure) && counter.sure <= counter.mass * kRounding;
  }
  if (!is_right) throw Error("the survey's statistics have a list of tokens that can't be");
}

void TokenSketch::merge(const TokenSketch& other) {
  std::vector<TokenCount> both;
  both.reserve(counters_.size() + other.counters_.size());
  auto left = counters_.begin();
  for (const TokenCount& right : other.counters_) {
    while (left != counters_.end() && left->key < right.key) both.push_back(*left++);
    both.push_back(right);
    if (left == counters_.end() || left->key != right.key) continue;
    both.back().mass += left->mass;
    both.back().count += left->count;
    both.back().sure += left->sure;
    ++left;
  }
  both.insert(both.end(), left, counters_.end());
  counters_ = std::move(both);
  missed_ += other.missed_;
  shrink();
}

void TokenSketch::shrink() {
  if (counters_.size() > kCounters) {
    std::vector<double> sure;
    sure.reserve(counters_.size());
    for (const TokenCount& counter : counters_) sure.push_back(counter.sure);
    const auto first_without_room = sure.begin() + kCounters;
    std::ranges::nth_element(sure, first_without_room, std::greater());
    for (TokenCount& counter : counters_) counter.sure -= *first_without_room;
    missed_ += *first_without_room;
  }
  std::erase_if(counters_, [](const TokenCount& counter) { return counter.sure <= 0.0; });
}

std::vector<TokenCount> TokenSketch::heaviest(std::size_t most) const {
  std::vector<TokenCount> sorted = counters_;
  std::ranges::sort(sorted, {}, [](const TokenCount& counter) { return std::tuple(-counter.mass, counter.key); });
  sorted.resize(std::min(sorted.size(), most));
  return sorted;
}

}  // namespace headlight::evaluation
