#include "evaluation/head_meter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

namespace headlight::evaluation {
namespace {

constexpr std::uint32_t kNone = ~0u;

/// Correctly rounded from the decimal digits, as Python's round() does.
double to_three_decimals(double value) { return std::strtod(fmt::format("{:.3f}", value).c_str(), nullptr); }

std::size_t exclusion_bits(const Exclusions& exclusions) {
  return (exclusions.first_token ? 1u : 0u) | (exclusions.current_token ? 2u : 0u);
}

bool is_excluded(std::size_t bits, std::uint32_t query, std::uint32_t key) {
  return ((bits & 1u) != 0 && key == 0) || ((bits & 2u) != 0 && key == query);
}

}  // namespace

TokenRepeats::TokenRepeats(std::span<const std::uint32_t> ids) : ids_(ids.begin(), ids.end()) {
  std::unordered_map<std::uint32_t, std::uint32_t> last;
  for (std::uint32_t token = 0; token < size(); ++token) {
    const auto [seen, is_new] = last.try_emplace(ids_[token], token);
    earlier_.push_back(is_new ? kNone : seen->second);
    seen->second = token;
  }
}

std::vector<std::uint32_t> TokenRepeats::keys(HeadMetric metric, std::uint32_t query) const {
  std::vector<std::uint32_t> keys;
  write_keys(metric, query, keys);
  return keys;
}

void TokenRepeats::write_keys(HeadMetric metric, std::uint32_t query, std::vector<std::uint32_t>& keys) const {
  keys.clear();
  if (metric == HeadMetric::PreviousToken) {
    if (query > 0) keys.push_back(query - 1);
    return;
  }
  const std::uint32_t after = metric == HeadMetric::Induction ? 1 : 0;
  for (std::uint32_t key = earlier_[query]; key != kNone; key = earlier_[key]) keys.push_back(key + after);
  std::ranges::reverse(keys);
}

std::string_view metric_name(HeadMetric metric) {
  constexpr std::array<std::string_view, kHeadMetrics> kNames = {"previous",      "duplicate", "induction", "sink",
                                                                 "concentration", "evenness",  "entropy",   "distance"};
  return kNames[static_cast<std::size_t>(metric)];
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (std::size_t metric = 0; metric < kHeadMetrics; ++metric) {
    names.emplace_back(metric_name(static_cast<HeadMetric>(metric)));
  }
  return names;
}

std::size_t HeadMetrics::index(const PatternScoring& scoring) {
  if (scoring.measure == PatternMeasure::Mean) return 0;
  return 1 + exclusion_bits(scoring.exclusions) * 2 + (scoring.measure == PatternMeasure::Abs ? 1 : 0);
}

double HeadMetrics::number(HeadMetric metric, const PatternScoring& scoring) const {
  const auto position = static_cast<std::size_t>(metric);
  if (!is_of_pattern(metric)) return means_[position - kPatternMetrics];
  const double found = patterns_[position][index(scoring)];
  // Rounded where it is asked for: for surveys, which don't, that was most of the work on a short text.
  return scoring.measure == PatternMeasure::Abs ? 1.0 - to_three_decimals(found) : found;
}

std::optional<double> HeadMetrics::value(HeadMetric metric, const PatternScoring& scoring) const {
  const double found = number(metric, scoring);
  if (!is_defined_[static_cast<std::size_t>(metric)] || !std::isfinite(found)) return std::nullopt;
  return found;
}

void HeadMeter::add(std::uint32_t query, std::span<const double> weights, std::uint32_t visible) {
  double sum = 0.0, largest = 0.0, entropy = 0.0, distance = 0.0;
  for (std::uint32_t key = 0; key < weights.size(); ++key) {
    const double weight = weights[key];
    if (weight == 0.0) continue;
    sum += weight;
    largest = std::max(largest, weight);
    if (weight > 0.0) entropy -= weight * std::log(weight);
    distance += weight * std::abs(static_cast<double>(query) - static_cast<double>(key));
  }
  // std::max and comparisons pass over NaN, and an infinite weight would leave some of the measures finite: a row with
  // either has none.
  const double spoilt = std::isfinite(sum) ? 0.0 : std::numeric_limits<double>::quiet_NaN();
  sum += spoilt;
  sink_ += spoilt;
  largest += spoilt;
  entropy += spoilt;
  distance += spoilt;
  relative_entropy_ += spoilt;
  sink_ += weights.empty() ? 0.0 : weights[0];
  concentration_ += largest;
  if (largest > 0.0) ++attending_queries_;
  entropy_ += entropy;
  distance_ += distance;
  ++queries_;
  if (visible > 1) {
    relative_entropy_ += entropy / std::log(static_cast<double>(visible));
    ++choosing_queries_;
  }
  if (repeats_) add_patterns(query, weights, sum);
}

void HeadMeter::add_patterns(std::uint32_t query, std::span<const double> weights, double sum) {
  const double first = weights[0], current = weights[query];
  for (std::size_t bits = 0; bits < kExclusions; ++bits) {
    double left = sum;
    if ((bits & 1u) != 0) left -= first;
    if ((bits & 2u) != 0 && ((bits & 1u) == 0 || query != 0)) left -= current;
    all_[bits] += left;
  }
  for (std::size_t pattern = 0; pattern < kPatternMetrics; ++pattern) {
    PatternSums& sums = patterns_[pattern];
    repeats_->write_keys(static_cast<HeadMetric>(pattern), query, keys_);
    sums.mean.add(weights, sum, keys_);
    for (const std::uint32_t key : keys_) {
      for (std::size_t bits = 0; bits < kExclusions; ++bits) {
        if (is_excluded(bits, query, key)) continue;
        sums.on[bits] += weights[key];
        sums.miss[bits] += std::abs(weights[key] - 1.0);
      }
    }
  }
}

double HeadMeter::pattern_number(std::size_t pattern, const PatternScoring& scoring) const {
  if (scoring.measure == PatternMeasure::Mean) return patterns_[pattern].mean.mass();
  const std::size_t bits = exclusion_bits(scoring.exclusions);
  const double all = all_[bits], on = patterns_[pattern].on[bits];
  // A remainder of a row's sum after its only weight was taken out is rounding, not attention.
  constexpr double kNothing = 1e-9;
  if (scoring.measure == PatternMeasure::Mul) return all <= kNothing ? 0.0 : on / all;
  return (all - on + patterns_[pattern].miss[bits]) / queries_;
}

HeadMetrics HeadMeter::metrics() const {
  HeadMetrics metrics;
  if (queries_ == 0) return metrics;
  const double queries = queries_;
  metrics.means_ = {sink_ / queries, concentration_ / std::max(attending_queries_, 1u),
                    relative_entropy_ / std::max(choosing_queries_, 1u), entropy_ / queries, distance_ / queries};
  metrics.is_defined_.fill(true);
  metrics.is_defined_[static_cast<std::size_t>(HeadMetric::RelativeEntropy)] = choosing_queries_ > 0;
  metrics.is_defined_[static_cast<std::size_t>(HeadMetric::Distance)] = repeats_ != nullptr;
  for (std::size_t pattern = 0; pattern < kPatternMetrics; ++pattern) {
    metrics.is_defined_[pattern] = patterns_[pattern].mean.match().has_value();
    if (!repeats_) continue;
    for (const PatternMeasure measure : {PatternMeasure::Mean, PatternMeasure::Mul, PatternMeasure::Abs}) {
      for (std::size_t bits = 0; bits < kExclusions; ++bits) {
        const PatternScoring scoring{.measure = measure,
                                     .exclusions = {.first_token = (bits & 1u) != 0, .current_token = (bits & 2u) != 0}};
        metrics.patterns_[pattern][HeadMetrics::index(scoring)] = pattern_number(pattern, scoring);
      }
    }
  }
  return metrics;
}

void PatternMeter::add(std::span<const double> weights, double sum, std::span<const std::uint32_t> keys, double chance) {
  if (!std::isfinite(sum)) mass_ = std::numeric_limits<double>::quiet_NaN();
  if (keys.empty()) return;
  for (const std::uint32_t key : keys) mass_ += weights[key];
  chance_ += chance;
  ++queries_;
}

void PatternMeter::add_evenness(std::span<const double> weights, std::span<const std::uint8_t> masked) {
  const auto hidden = static_cast<std::size_t>(std::ranges::count_if(masked, [](std::uint8_t is) { return is != 0; }));
  const std::size_t visible = weights.size() - hidden;
  if (visible < 2) return;
  const double even = 1.0 / static_cast<double>(visible);
  for (std::size_t key = 0; key < weights.size(); ++key) {
    if (!masked.empty() && masked[key] != 0) continue;
    mass_ += weights[key] > even ? even : weights[key];  // a NaN stays one
  }
  chance_ += 1.0;
  ++queries_;
}

double PatternMeter::mass() const { return queries_ == 0 ? mass_ : mass_ / queries_; }

std::optional<PatternMatch> PatternMeter::match() const {
  if (queries_ == 0 || !std::isfinite(mass_)) return std::nullopt;
  return PatternMatch{.mass = mass(), .chance = chance_ / queries_, .queries = queries_};
}

}  // namespace headlight::evaluation
