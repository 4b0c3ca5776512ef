#include "evaluation/corpus_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/error.h"

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

namespace {

class ByteWriter {
 public:
  template <typename... Numbers>
  void operator()(const Numbers&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <typename Number>
  void put(const Number& value) {
    static_assert(std::is_trivially_copyable_v<Number>);
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(Number));
    std::memcpy(bytes_.data() + at, &value, sizeof(Number));
  }

  std::string bytes_;
};

/// Numbers that are no number would make all sums so, and can't be sorted.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  template <typename... Numbers>
  void operator()(Numbers&... values) {
    (take(values), ...);
  }
  /// Reads the number of examples or tokens that follow.
  std::uint32_t count(std::uint32_t most, const char* of) {
    std::uint32_t count = 0;
    take(count);
    if (count > most) throw Error("the survey's statistics have {} {} of a head instead of {}", count, of, most);
    return count;
  }
  bool is_at_end() const { return bytes_.empty(); }

 private:
  template <typename Number>
  void take(Number& value) {
    if (bytes_.size() < sizeof(Number)) throw Error("the survey's statistics end too early");
    std::memcpy(&value, bytes_.data(), sizeof(Number));
    bytes_.remove_prefix(sizeof(Number));
    if constexpr (std::is_floating_point_v<Number>) {
      if (!std::isfinite(value)) throw Error("the survey's statistics have a number that isn't finite");
    }
  }

  std::string_view bytes_;
};

template <typename Coder, typename Statistics>
void code_metric(Coder& code, Statistics& of) {
  code(of.texts, of.sum, of.squares, of.least, of.most);
  for (auto& count : of.histogram) code(count);
}

template <typename Coder, typename Example>
void code_example(Coder& code, Example& of) {
  code(of.value, of.weight, of.offset, of.query, of.key);
}

template <typename Coder, typename Counter>
void code_counter(Coder& code, Counter& of) {
  code(of.key, of.mass, of.count, of.sure);
}

template <typename Coder, typename Profile>
void code_sums(Coder& code, Profile& of) {
  code(of.queries, of.first, of.self, of.self_squares, of.distance, of.distance_squares);
  const auto code_all = [&](auto&... lists) { (std::ranges::for_each(lists, [&](auto& one) { code(one); }), ...); };
  code_all(of.before, of.after, of.positions, of.cells, of.texts, of.map);
}

template <typename Coder, typename Statistics>
void code_counts(Coder& code, Statistics& of) {
  code(of.texts, of.tokens, of.cut, of.odd, of.skipped, of.device_seconds, of.busy_seconds);
}

void read_examples(ByteReader& reader, std::uint32_t most, std::uint32_t most_tokens, KeptExamples& examples) {
  const std::uint32_t count = reader.count(most, "examples");
  for (std::uint32_t i = 0; i < count; ++i) {
    HeadExample example;
    code_example(reader, example);
    // Places are looked up in texts.
    if (std::max(example.query, example.key) >= most_tokens) {
      throw Error("the survey's statistics have an example that can't be");
    }
    examples.add(example);
  }
}

TokenSketch read_sketch(ByteReader& reader) {
  double missed = 0.0;
  reader(missed);
  std::vector<TokenCount> counters(reader.count(TokenSketch::kCounters, "tokens"));
  for (TokenCount& counter : counters) code_counter(reader, counter);
  return {std::move(counters), missed};
}

}  // namespace

std::string encode(const CorpusStatistics& statistics) {
  ByteWriter writer;
  code_counts(writer, statistics);
  for (const MetricStatistics& metric : statistics.metrics) code_metric(writer, metric);
  for (const auto* lists : {&statistics.examples, &statistics.samples}) {
    for (const KeptExamples& examples : *lists) {
      writer(static_cast<std::uint32_t>(examples.kept().size()));
      for (const HeadExample& example : examples.kept()) code_example(writer, example);
    }
  }
  for (const HeadProfile& profile : statistics.profiles) {
    code_sums(writer, profile);
    for (const TokenSketch* sketch : {&profile.query_tokens, &profile.key_tokens, &profile.pairs}) {
      writer(sketch->missed());
      writer(static_cast<std::uint32_t>(sketch->counters().size()));
      for (const TokenCount& counter : sketch->counters()) code_counter(writer, counter);
    }
  }
  return writer.take();
}

CorpusStatistics decode_statistics(std::string_view bytes, const CorpusMeasures& measures) {
  CorpusStatistics statistics(measures);
  ByteReader reader(bytes);
  code_counts(reader, statistics);
  for (MetricStatistics& metric : statistics.metrics) code_metric(reader, metric);
  for (KeptExamples& examples : statistics.examples) read_examples(reader, measures.top, measures.most_tokens, examples);
  for (KeptExamples& samples : statistics.samples) read_examples(reader, measures.samples, measures.most_tokens, samples);
  for (HeadProfile& profile : statistics.profiles) {
    code_sums(reader, profile);
    for (TokenSketch* sketch : {&profile.query_tokens, &profile.key_tokens, &profile.pairs}) *sketch = read_sketch(reader);
  }
  if (!reader.is_at_end()) throw Error("the survey's statistics go on past their end");
  return statistics;
}

}  // namespace headlight::evaluation
