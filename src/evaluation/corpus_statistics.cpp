#include "evaluation/corpus_statistics.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace headlight::evaluation {
namespace {

/// Numbers that are equal to the last bit are of equal texts.
bool is_same_text(const HeadExample& a, const HeadExample& b) {
  return std::tuple(a.value, a.weight, a.query, a.key) == std::tuple(b.value, b.weight, b.query, b.key);
}

}  // namespace

void MetricStatistics::add(double value, double top) {
  least = texts == 0 ? value : std::min(least, value);
  most = texts == 0 ? value : std::max(most, value);
  ++texts;
  sum += value;
  squares += value * value;
  const double place = std::clamp(value / top, 0.0, 1.0) * static_cast<double>(kHistogramBins);
  ++histogram[std::min(static_cast<std::size_t>(place), kHistogramBins - 1)];
}

void MetricStatistics::merge(const MetricStatistics& other) {
  if (other.texts == 0) return;
  least = texts == 0 ? other.least : std::min(least, other.least);
  most = texts == 0 ? other.most : std::max(most, other.most);
  texts += other.texts;
  sum += other.sum;
  squares += other.squares;
  for (std::size_t bin = 0; bin < kHistogramBins; ++bin) histogram[bin] += other.histogram[bin];
}

double MetricStatistics::mean() const { return texts == 0 ? 0.0 : sum / static_cast<double>(texts); }

double MetricStatistics::spread() const {
  if (texts == 0) return 0.0;
  return std::sqrt(std::max(squares / static_cast<double>(texts) - mean() * mean(), 0.0));
}

std::uint64_t text_hash(std::uint64_t offset) {
  // The finalizer of SplitMix64 (Steele et al. 2014), a bijection.
  offset += 0x9E3779B97F4A7C15U;
  offset = (offset ^ (offset >> 30)) * 0xBF58476D1CE4E5B9U;
  offset = (offset ^ (offset >> 27)) * 0x94D049BB133111EBU;
  return offset ^ (offset >> 31);
}

bool KeptExamples::comes_before(const HeadExample& a, const HeadExample& b) const {
  if (keeping_ == Keeping::Sample) return text_hash(a.offset) < text_hash(b.offset);
  return std::tuple(-a.value, -a.weight, a.offset, a.query, a.key) <
         std::tuple(-b.value, -b.weight, b.offset, b.query, b.key);
}

bool KeptExamples::may_enter(double value, std::uint64_t offset) const {
  if (kept_.size() < most_) return true;
  if (most_ == 0) return false;
  return keeping_ == Keeping::Best ? value >= kept_.back().value : text_hash(offset) < text_hash(kept_.back().offset);
}

void KeptExamples::add(const HeadExample& example) {
  if (!may_enter(example.value, example.offset)) return;  // nor is it one that is kept already
  const auto before = [this](const HeadExample& a, const HeadExample& b) { return comes_before(a, b); };
  for (HeadExample& known : kept_) {
    if (keeping_ == Keeping::Sample || !is_same_text(known, example)) continue;
    known.offset = std::min(known.offset, example.offset);
    std::ranges::sort(kept_, before);
    return;
  }
  if (kept_.size() == most_ && !before(example, kept_.back())) return;
  kept_.insert(std::ranges::upper_bound(kept_, example, before), example);
  if (kept_.size() > most_) kept_.pop_back();
}

void KeptExamples::merge(const KeptExamples& other) {
  for (const HeadExample& example : other.kept_) add(example);
}

double CorpusMeasures::histogram_top(const CorpusMetric& metric) const {
  if (metric.is_own()) return 1.0;
  const double tokens = std::max(most_tokens, 2U);
  if (metric.metric == HeadMetric::Entropy) return std::log(tokens);
  return metric.metric == HeadMetric::Distance ? tokens : 1.0;
}

CorpusStatistics::CorpusStatistics(const CorpusMeasures& measures)
    : metrics(measures.cells()),
      examples(measures.cells(), KeptExamples(measures.top)),
      samples(measures.cells(), KeptExamples(measures.samples, Keeping::Sample)),
      profiles(measures.layout.count()) {}

void CorpusStatistics::merge(const CorpusStatistics& next) {
  texts += next.texts;
  tokens += next.tokens;
  cut += next.cut;
  odd += next.odd;
  skipped += next.skipped;
  device_seconds += next.device_seconds;
  busy_seconds += next.busy_seconds;
  for (std::size_t cell = 0; cell < metrics.size(); ++cell) {
    metrics[cell].merge(next.metrics[cell]);
    examples[cell].merge(next.examples[cell]);
    samples[cell].merge(next.samples[cell]);
  }
  for (std::size_t head = 0; head < profiles.size(); ++head) profiles[head].merge(next.profiles[head]);
}

}  // namespace headlight::evaluation
