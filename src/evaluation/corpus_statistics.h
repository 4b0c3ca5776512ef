#pragma once

#include <array>

#include "evaluation/activations.h"
#include "evaluation/corpus_metric.h"
#include "evaluation/head_layout.h"
#include "evaluation/head_profile.h"
#include "text/chat_template.h"

namespace headlight::evaluation {

inline constexpr std::size_t kHistogramBins = 32;

/// Statistics of one head's metric over texts. Sums are added in the order of calls, so that equal calls give equal
/// bits.
struct MetricStatistics {
  std::uint64_t texts = 0;
  double sum = 0.0, squares = 0.0;  ///< Σ x and Σ x²
  double least = 0.0, most = 0.0;   ///< 0 without a text
  std::array<std::uint64_t, kHistogramBins> histogram = {};

  /// `top`: the value at the end of the last bin; the first begins at 0.
  void add(double value, double top);
  /// Adds the other's texts as if they came after these, but each sum as a whole.
  void merge(const MetricStatistics& other);

  double mean() const;  ///< 0 without a text
  /// The standard deviation over texts, √(Σ x² / n − mean²).
  double spread() const;

  bool operator==(const MetricStatistics&) const = default;
};

/// A text in which a head does what a metric measures, and the cell that shows it.
struct HeadExample {
  double value = 0.0;        ///< of the metric over the text
  double weight = 0.0;       ///< A[query, key]
  std::uint64_t offset = 0;  ///< the text's first byte in the corpus
  std::uint32_t query = 0, key = 0;

  bool operator==(const HeadExample&) const = default;
};

/// Well mixed bits of a text's place in the corpus: which texts are a sample of it.
std::uint64_t text_hash(std::uint64_t offset);

/// The rule by which examples are kept.
enum class Keeping : std::uint8_t {
  Best,    ///< the highest value first; of equal ones that with the larger weight, then the earlier text; a text that comes
           ///< again is kept once, where it came first
  Sample,  ///< the smallest text_hash() first
};

/// A bounded list of examples. What is kept doesn't depend on the order in which they come.
class KeptExamples {
 public:
  explicit KeptExamples(std::size_t most = 0, Keeping keeping = Keeping::Best) : most_(most), keeping_(keeping) {}
  void add(const HeadExample& example);
  void merge(const KeptExamples& other);
  /// Could an example of this value and text be kept? Its cell is looked for only then.
  bool may_enter(double value, std::uint64_t offset) const;
  const std::vector<HeadExample>& kept() const { return kept_; }

  bool operator==(const KeptExamples&) const = default;

 private:
  bool comes_before(const HeadExample& a, const HeadExample& b) const;

  std::size_t most_;
  Keeping keeping_;
  std::vector<HeadExample> kept_;
};

/// The measures that a survey takes of every head.
struct CorpusMeasures {
  HeadLayout layout = {};  ///< with kinds: texts are pairs of a source and a target
  std::vector<CorpusMetric> metrics = {};
  std::uint32_t most_tokens = 0;  ///< of a text
  std::uint32_t top = 0;          ///< best examples of each head and metric
  std::uint32_t samples = 0;      ///< examples of each head and metric for the deciles
  bool packs = false;    ///< the texts that follow one are in the same row, as long as there is room (corpus_rows())
  bool is_chat = false;  ///< texts are chats, which the model's template writes: each the user's turn
  text::Thinking thinking = text::Thinking::Unset;
  ActivationChoice activations = {};  ///< that are kept beside

  std::size_t cells() const { return metrics.size() * layout.count(); }
  /// The largest value of a metric that the histogram tells apart: 1 of shares, ln(most_tokens) nats, most_tokens.
  double histogram_top(const CorpusMetric& metric) const;

  bool operator==(const CorpusMeasures&) const = default;
};

/// The results of a survey of a corpus, or of a part of it. Their size depends on the measures and not on the corpus.
struct CorpusStatistics {
  explicit CorpusStatistics(const CorpusMeasures& measures);

  std::uint64_t texts = 0, tokens = 0;
  std::uint64_t cut = 0;      ///< texts that had more tokens than are measured
  std::uint64_t odd = 0;      ///< texts over which a head's attention isn't a number: that head isn't measured there
  std::uint64_t skipped = 0;  ///< lines without a token, too long, or not UTF-8
  double device_seconds = 0.0, busy_seconds = 0.0;
  std::vector<MetricStatistics> metrics;        ///< [metric][place]
  std::vector<KeptExamples> examples, samples;  ///< [metric][place]
  std::vector<HeadProfile> profiles;            ///< [place]

  /// Adds the statistics of the part of the corpus that comes next.
  void merge(const CorpusStatistics& next);
};

/// Bytes of the machine that wrote them, for a file beside the corpus and for other ranks.
std::string encode(const CorpusStatistics& statistics);
/// Throws Error where the bytes are no statistics of these measures.
CorpusStatistics decode_statistics(std::string_view bytes, const CorpusMeasures& measures);

}  // namespace headlight::evaluation
