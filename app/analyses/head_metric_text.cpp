#include "app/analyses/head_metric_text.h"

#include <array>

#include <fmt/format.h>

namespace headlight::app {
namespace {

using evaluation::HeadMetric;
using evaluation::HeadMetrics;
using evaluation::kHeadMetrics;
using evaluation::PatternScoring;

/// In the order of HeadMetric.
constexpr std::array<HeadMetricText, kHeadMetrics> kTexts = {{
    {.title = "previous",
     .badge = "prev",
     .sentence = "looks at the previous token",
     .help = "Previous token: the share of the attention that each query gives to the token before it, A[i, i \u2212 1].",
     .unit = "",
     .threshold = 0.5,
     .is_share = true},
    {.title = "duplicate",
     .badge = "dup",
     .sentence = "looks at earlier occurrences of the same token",
     .help = "Duplicate token: the share of the attention that queries give to earlier occurrences of their own token. "
             "Defined where a token comes twice.",
     .unit = "",
     .threshold = 0.3,
     .is_share = true},
    {.title = "induction",
     .badge = "ind",
     .sentence = "looks at what followed the same token earlier",
     .help = "Induction: the share of the attention that queries give to the token behind an earlier occurrence of their "
             "own token, from which a model copies what came next. Defined where a token comes twice.",
     .unit = "",
     .threshold = 0.3,
     .is_share = true},
    {.title = "sink",
     .badge = "sink",
     .sentence = "rests on the first token",
     .help = "Sink: the mean weight on the first token, where heads rest that have nothing to do.",
     .unit = "",
     .threshold = 0.7,
     .is_share = true},
    {.title = "peak",
     .badge = "peak",
     .sentence = "puts its attention on single tokens",
     .help = "Concentration: the mean of each query's largest weight.",
     .unit = "",
     .threshold = std::nullopt,
     .is_share = true},
    {.title = "evenness",
     .badge = "even",
     .sentence = "spreads its attention evenly",
     .help =
         "Relative entropy: the mean over queries of the entropy divided by ln(visible keys): 1 where all visible keys get "
         "the same weight.",
     .unit = "",
     .threshold = 0.95,
     .is_share = true},
    {.title = "entropy",
     .badge = "entropy",
     .sentence = "has an entropy of",
     .help = "Entropy: the mean over queries of \u2212\u03A3 A ln A, in nats.",
     .unit = " nats",
     .threshold = std::nullopt,
     .is_share = false},
    {.title = "distance",
     .badge = "far",
     .sentence = "looks this far",
     .help = "Distance: the mean number of tokens between a query and the keys that it looks at, \u03A3 A |i \u2212 j|.",
     .unit = " tokens",
     .threshold = std::nullopt,
     .is_share = false},
}};

std::string name_of(const HeadRef& head) { return fmt::format("L{}H{}", head.block.layer.value, head.head); }

}  // namespace

const HeadMetricText& text_of(HeadMetric metric) { return kTexts[static_cast<std::size_t>(metric)]; }

std::string head_name(const HeadRef& head) { return fmt::format("L{} H{}", head.block.layer.value, head.head); }

std::string metric_number(HeadMetric metric, std::optional<double> value) {
  if (!value) return "\u2013";
  // A share that rounds to −0.00 is 0.
  const double shown = *value > -0.005 && *value < 0.0 ? 0.0 : *value;
  return metric == HeadMetric::Distance ? fmt::format("{:.1f}", shown) : fmt::format("{:.2f}", shown);
}

std::optional<HeadMetric> strongest_metric(const HeadMetrics& metrics, const PatternScoring& scoring) {
  std::optional<HeadMetric> strongest;
  if (!metrics.value(HeadMetric::RelativeEntropy)) return strongest;  // no query has a choice
  double most = 0.0;
  for (std::size_t i = 0; i < kHeadMetrics; ++i) {
    const auto metric = static_cast<HeadMetric>(i);
    const std::optional<double> threshold = text_of(metric).threshold, value = metrics.value(metric, scoring);
    const bool is_passed = threshold && value && *value >= *threshold;
    // Evenness says something only where nothing else does.
    if (!is_passed || (strongest && metric == HeadMetric::RelativeEntropy)) continue;
    const double surplus = (*value - *threshold) / (1.0 - *threshold);
    if (strongest && surplus <= most) continue;
    strongest = metric;
    most = surplus;
  }
  return strongest;
}

std::string badge_text(const HeadMetrics& metrics, const PatternScoring& scoring) {
  const std::optional<HeadMetric> metric = strongest_metric(metrics, scoring);
  // Attention that is spread evenly is what a head does before it has learned anything.
  if (!metric || *metric == HeadMetric::RelativeEntropy) return {};
  return fmt::format("{} {}", text_of(*metric).badge, metric_number(*metric, metrics.value(*metric, scoring)));
}

std::string head_sentence(const HeadRef& head, const HeadMetrics& metrics, const PatternScoring& scoring) {
  const auto value = [&](HeadMetric metric) { return metric_number(metric, metrics.value(metric, scoring)); };
  if (const std::optional<HeadMetric> metric = strongest_metric(metrics, scoring)) {
    return fmt::format("{} {}: {}", name_of(head), text_of(*metric).sentence, value(*metric));
  }
  if (!metrics.value(HeadMetric::RelativeEntropy)) return fmt::format("{} has nothing to choose from", name_of(head));
  if (!metrics.value(HeadMetric::PreviousToken)) {
    return fmt::format("{}: {} on the first token, {} on each query's strongest key", name_of(head), value(HeadMetric::Sink),
                       value(HeadMetric::Concentration));
  }
  return fmt::format("{} shows no clear pattern: previous token {}, first token {}", name_of(head),
                     value(HeadMetric::PreviousToken), value(HeadMetric::Sink));
}

std::optional<NumberRef> number_of(const HeadRef& head, std::uint32_t batch, HeadMetric metric, const HeadMetrics& metrics,
                                   const PatternScoring& scoring) {
  const std::optional<double> value = metrics.value(metric, scoring);
  if (!value) return std::nullopt;
  return NumberRef{.of = std::string(kHeadMetricNumber),
                   .block = head.block,
                   .batch = batch,
                   .head = head.head,
                   .column = static_cast<std::uint32_t>(metric),
                   .value = value};
}

std::string metrics_text(const HeadMetrics& metrics, const PatternScoring& scoring) {
  std::string text;
  for (std::size_t i = 0; i < kHeadMetrics; ++i) {
    const auto metric = static_cast<HeadMetric>(i);
    const std::optional<double> value = metrics.value(metric, scoring);
    text += fmt::format("{}{} {}{}", text.empty() ? "" : " \u00B7 ", text_of(metric).title, metric_number(metric, value),
                        value ? text_of(metric).unit : "");
  }
  return text;
}

}  // namespace headlight::app
