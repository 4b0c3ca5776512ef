#include "evaluation/corpus_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "core/error.h"

namespace headlight::evaluation {
namespace {

bool comes_before(const HeadExample& a, const HeadExample& b) {
  return std::tuple(-a.value, -a.weight, a.offset, a.query, a.key) <
         std::tuple(-b.value, -b.weight, b.offset, b.query, b.key);
}

/// Numbers that are equal to the last bit are of equal texts.
bool is_same_text(const HeadExample& a, const HeadExample& b) {
  return std::tuple(a.value, a.weight, a.query, a.key) == std::tuple(b.value, b.weight, b.query, b.key);
}

class ByteWriter {
 public:
  template <typename Number>
  void put(Number value) {
    static_assert(std::is_trivially_copyable_v<Number>);
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(Number));
    std::memcpy(bytes_.data() + at, &value, sizeof(Number));
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  template <typename Number>
  Number take() {
    if (bytes_.size() < sizeof(Number)) throw Error("the survey's statistics end too early");
    Number value;
    std::memcpy(&value, bytes_.data(), sizeof(Number));
    bytes_.remove_prefix(sizeof(Number));
    return value;
  }
  bool is_at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

template <typename Coder, typename Statistics>
void code_metric(Coder&& code, Statistics& statistics) {
  code(statistics.texts);
  code(statistics.sum);
  code(statistics.squares);
  code(statistics.least);
  code(statistics.most);
  for (auto& count : statistics.histogram) code(count);
}

template <typename Coder, typename Example>
void code_example(Coder&& code, Example& example) {
  code(example.value);
  code(example.weight);
  code(example.offset);
  code(example.query);
  code(example.key);
}

template <typename Coder, typename Statistics>
void code_counts(Coder&& code, Statistics& statistics) {
  code(statistics.texts);
  code(statistics.tokens);
  code(statistics.cut);
  code(statistics.skipped);
  code(statistics.device_seconds);
  code(statistics.busy_seconds);
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

void TopExamples::add(const HeadExample& example) {
  for (HeadExample& known : best_) {
    if (!is_same_text(known, example)) continue;
    known.offset = std::min(known.offset, example.offset);
    std::ranges::sort(best_, comes_before);
    return;
  }
  if (best_.size() == most_ && (most_ == 0 || !comes_before(example, best_.back()))) return;
  best_.insert(std::ranges::upper_bound(best_, example, comes_before), example);
  if (best_.size() > most_) best_.pop_back();
}

void TopExamples::merge(const TopExamples& other) {
  for (const HeadExample& example : other.best_) add(example);
}

double CorpusMeasures::histogram_top(HeadMetric metric) const {
  const double tokens = std::max(most_tokens, 2U);
  if (metric == HeadMetric::Entropy) return std::log(tokens);
  return metric == HeadMetric::Distance ? tokens : 1.0;
}

CorpusStatistics::CorpusStatistics(const CorpusMeasures& measures)
    : metrics(measures.cells()), examples(measures.cells(), TopExamples(measures.top)) {}

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
  }
}

std::string encode(const CorpusStatistics& statistics) {
  ByteWriter writer;
  const auto put = [&](const auto& value) { writer.put(value); };
  code_counts(put, statistics);
  for (const MetricStatistics& metric : statistics.metrics) code_metric(put, metric);
  for (const TopExamples& examples : statistics.examples) {
    put(static_cast<std::uint32_t>(examples.best().size()));
    for (const HeadExample& example : examples.best()) code_example(put, example);
  }
  writer.put(statistics.odd);
  return writer.take();
}

CorpusStatistics decode_statistics(std::string_view bytes, const CorpusMeasures& measures) {
  CorpusStatistics statistics(measures);
  ByteReader reader(bytes);
  const auto take = [&](auto& value) { value = reader.take<std::remove_reference_t<decltype(value)>>(); };
  code_counts(take, statistics);
  for (MetricStatistics& metric : statistics.metrics) code_metric(take, metric);
  for (TopExamples& examples : statistics.examples) {
    std::uint32_t count = 0;
    take(count);
    if (count > measures.top)
      throw Error("the survey's statistics have {} examples of a head instead of {}", count, measures.top);
    for (std::uint32_t i = 0; i < count; ++i) {
      HeadExample example;
      code_example(take, example);
      // Numbers that have no order can't be sorted; places are looked up in texts.
      if (!std::isfinite(example.value) || !std::isfinite(example.weight) ||
          std::max(example.query, example.key) >= measures.most_tokens) {
        throw Error("the survey's statistics have an example that can't be");
      }
      examples.add(example);
    }
  }
  take(statistics.odd);
  if (!reader.is_at_end()) throw Error("the survey's statistics go on past their end");
  return statistics;
}

}  // namespace headlight::evaluation
