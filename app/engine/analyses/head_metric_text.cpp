#include "app/engine/analyses/head_metric_text.h"

#include "app/state/json_reader.h"
#include "app/state/state_names.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;
using evaluation::HeadMetrics;
using evaluation::kHeadMetrics;
using evaluation::PatternScoring;

/// The texts are in the order of HeadMetric.
constexpr std::array<HeadMetricText, kHeadMetrics> kTexts = {{
    {.badge = "prev",
     .word = "previous token",
     .sentence = "looks at the previous token",
     .help = "Previous token: the mean weight on the token before, A[i, i \u2212 1], over the queries that have one.",
     .unit = "",
     .is_share = true},
    {.badge = "dup",
     .word = "same token",
     .sentence = "looks at earlier occurrences of the same token",
     .help = "Duplicate token: the mean, over the queries whose token came before, of the weight on its earlier "
             "occurrences. Defined where a token comes twice.",
     .unit = "",
     .is_share = true},
    {.badge = "ind",
     .word = "induction",
     .sentence = "looks at what followed the same token earlier",
     .help = "Induction: the mean, over the queries whose token came before, of the weight on the tokens that followed it "
             "there, from which a model copies what came next. Defined where a token comes twice.",
     .unit = "",
     .is_share = true},
    {.badge = "sink",
     .word = "sink",
     .sentence = "looks at the first token (sink)",
     .help = "Sink: the mean weight on the first token, which heads attend to that have nothing to do.",
     .unit = "",
     .is_share = true},
    {.badge = "",
     .word = "single tokens",
     .sentence = "puts its attention on single tokens",
     .help = "Concentration: the mean of each query's largest weight.",
     .unit = "",
     .is_share = true},
    {.badge = "",
     .word = "even",
     .sentence = "spreads its attention evenly",
     .help = "Evenness (relative entropy): the mean over queries of the entropy divided by ln(visible keys): 1 where all "
             "visible keys get the same weight.",
     .unit = "",
     .is_share = true},
    {.badge = "",
     .word = "entropy",
     .sentence = "has an entropy of",
     .help = "Entropy: the mean over queries of \u2212\u03A3 A ln A, in nats.",
     .unit = " nats",
     .is_share = false},
    {.badge = "",
     .word = "distance",
     .sentence = "looks this far",
     .help = "Distance: the mean number of tokens between a query and the keys that it attends to, \u03A3 A |i \u2212 j|.",
     .unit = " tokens",
     .is_share = false},
}};

constexpr double kEven = 0.95;         ///< evenness of a head that spreads its attention evenly
constexpr double kConcentrated = 0.7;  ///< concentration of a head between two texts that attends to single tokens

bool has_badge(HeadMetric metric) { return text_of(metric).badge[0] != '\0'; }

/// Are queries and keys of two texts? Then no query has a token before it among the keys.
bool is_of_two(const HeadMetrics& metrics) { return !metrics.value(HeadMetric::PreviousToken); }

constexpr std::string_view kNoChoice = "nothing to choose from";

}  // namespace

const HeadMetricText& text_of(HeadMetric metric) { return kTexts[static_cast<std::size_t>(metric)]; }

std::string head_name(const HeadRef& head) { return fmt::format("L{} H{}", head.block.layer.value, head.head); }

std::string metric_number(HeadMetric metric, std::optional<double> value) {
  if (!value) return "\u2013";
  // A share that rounds to −0.00 is 0.
  const double shown = *value > -0.005 && *value < 0.0 ? 0.0 : *value;
  return metric == HeadMetric::Distance ? fmt::format("{:.1f}", shown) : fmt::format("{:.2f}", shown);
}

std::string metric_title(HeadMetric metric, const PatternScoring& scoring) {
  std::string title(evaluation::metric_name(metric));
  const bool is_plain = !evaluation::is_of_pattern(metric) || scoring.measure == evaluation::PatternMeasure::Mean;
  return is_plain ? title : title + (scoring.measure == evaluation::PatternMeasure::Mul ? " mul" : " abs");
}

bool is_clear(HeadMetric metric, const HeadMetrics& metrics) {
  return has_badge(metric) && metrics.value(metric).value_or(0.0) >= kClearScore;
}

std::optional<HeadMetric> strongest_metric(const HeadMetrics& metrics) {
  if (!metrics.value(HeadMetric::RelativeEntropy)) return std::nullopt;  // no query has a choice
  std::optional<HeadMetric> strongest;
  for (std::size_t i = 0; i < evaluation::kPatternMetrics; ++i) {
    const auto metric = static_cast<HeadMetric>(i);
    if (!is_clear(metric, metrics) || (strongest && *metrics.value(metric) <= *metrics.value(*strongest))) continue;
    strongest = metric;
  }
  // Heads attend to the first token where their pattern has no key.
  if (!strongest && is_clear(HeadMetric::Sink, metrics)) return HeadMetric::Sink;
  if (strongest) return strongest;
  if (*metrics.value(HeadMetric::RelativeEntropy) >= kEven) return HeadMetric::RelativeEntropy;
  const bool is_concentrated = is_of_two(metrics) && metrics.value(HeadMetric::Concentration).value_or(0.0) >= kConcentrated;
  return is_concentrated ? std::optional(HeadMetric::Concentration) : std::nullopt;
}

std::string badge_text(const HeadMetrics& metrics) {
  const std::optional<HeadMetric> metric = strongest_metric(metrics);
  // Attention that is spread evenly is what a head does before it has learned anything.
  if (!metric || !has_badge(*metric)) return {};
  return fmt::format("{} {}", text_of(*metric).badge, metric_number(*metric, metrics.value(*metric)));
}

std::string_view head_word(const HeadMetrics& metrics, bool is_trained) {
  if (!metrics.value(HeadMetric::Sink)) return "not numbers";
  if (!metrics.value(HeadMetric::RelativeEntropy)) return kNoChoice;
  if (!is_trained) return "random";
  const std::optional<HeadMetric> metric = strongest_metric(metrics);
  return metric ? text_of(*metric).word : kNoWord;
}

Sentence head_sentence(const HeadRef& head, const HeadMetrics& metrics, bool is_trained) {
  const std::string name = head_name(head);
  const auto value = [&](HeadMetric metric) { return number_word(metric_number(metric, metrics.value(metric))); };
  if (const std::optional<HeadMetric> metric = strongest_metric(metrics); metric && is_trained)
    return fmt::format("{} {}: {}", name, text_of(*metric).sentence, value(*metric));
  if (!metrics.value(HeadMetric::Sink)) return name + " has weights that aren't numbers";
  if (!metrics.value(HeadMetric::RelativeEntropy)) return fmt::format("{} has {}", name, kNoChoice);
  const HeadMetric first = is_of_two(metrics) ? HeadMetric::Concentration : HeadMetric::PreviousToken;
  return fmt::format("{} {}: {} {}, sink {}", name, is_trained ? "shows no clear pattern" : "has random weights",
                     is_of_two(metrics) ? "concentration" : "previous token", value(first), value(HeadMetric::Sink));
}

NumberRef metric_origin(std::uint32_t batch, HeadMetric metric, const PatternScoring& scoring) {
  NumberRef number{.of = std::string(kHeadMetricNumber), .batch = batch, .column = static_cast<std::uint32_t>(metric)};
  if (evaluation::is_of_pattern(metric)) {
    number.notes.emplace_back("score", enum_name<evaluation::PatternMeasure>(kPatternMeasures, scoring.measure));
  }
  return number;
}

std::optional<NumberRef> number_of(const HeadRef& head, std::uint32_t batch, HeadMetric metric, const HeadMetrics& metrics,
                                   const PatternScoring& scoring) {
  NumberRef number = metric_origin(batch, metric, scoring);
  number.block = head.block;
  number.head = head.head;
  number.value = metrics.value(metric, scoring);
  return number.value ? std::optional(std::move(number)) : std::nullopt;
}

std::string metrics_text(const HeadMetrics& metrics, const PatternScoring& scoring) {
  std::string text;
  for (std::size_t i = 0; i < kHeadMetrics; ++i) {
    const auto metric = static_cast<HeadMetric>(i);
    const std::optional<double> value = metrics.value(metric, scoring);
    if (!value) continue;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : " \u00B7 ", metric_title(metric, scoring),
                        metric_number(metric, value), text_of(metric).unit);
  }
  return text;
}

}  // namespace headlight::app
