#include "app/engine/copy_count.h"

#include <algorithm>
#include <bit>

namespace headlight::app {
namespace {

/// Tokens of all copies together: memory of a pass is that of a text of so many at most.
constexpr std::size_t kMaxCopiedTokens = 4'096;
constexpr double kMaxMilliseconds = 50.0;
/// Of the time of fewer passes: noise of two measurements is less.
constexpr double kClearlyFaster = 0.9;

}  // namespace

void CopyCount::begin(const Of& of) {
  // While a text is typed its size changes by a token at a time: what was measured holds up to twice as many.
  const Of rounded{.layers = of.layers, .tokens = std::bit_ceil(std::max(of.tokens, 1U))};
  if (rounded == of_) return;
  of_ = rounded;
  limit_ = std::clamp<std::size_t>(kMaxCopiedTokens / of_.tokens, 1, kMax);
  times_.clear();
}

std::size_t CopyCount::next(std::size_t most) const {
  most = std::max<std::size_t>(std::min(most, limit_), 1);
  std::size_t best = 1;
  for (std::size_t passes = 1; passes <= most; passes *= 2) {
    const auto known = times_.find(passes);
    if (known == times_.end()) return passes;
    if (passes > 1) {
      if (known->second.of_pass_and_layer >= kClearlyFaster * times_.at(best).of_pass_and_layer) break;
      best = passes;
    }
    if (2.0 * known->second.all > kMaxMilliseconds) break;
  }
  return best;
}

void CopyCount::measured(std::size_t passes, double milliseconds, std::size_t layers) {
  const Time time{.of_pass_and_layer = milliseconds / static_cast<double>(passes * std::max<std::size_t>(layers, 1)),
                  .all = milliseconds};
  const auto [known, is_new] = times_.try_emplace(passes, time);
  if (is_new) return;
  known->second.of_pass_and_layer = std::min(known->second.of_pass_and_layer, time.of_pass_and_layer);
  known->second.all = std::min(known->second.all, time.all);
}

}  // namespace headlight::app
