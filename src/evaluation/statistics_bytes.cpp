#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "evaluation/corpus_statistics.h"

namespace headlight::evaluation {
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
