#include "app/widgets/head_list.h"

#include "app/analyses/head_metric_text.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;

/// Returns "8,192".
std::string grouped(std::uint32_t number) {
  if (number < 1'000) return std::to_string(number);
  return fmt::format("{},{:03}", grouped(number / 1'000), number % 1'000);
}

}  // namespace

ShownMetrics ask_metrics(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const Analysed* answer = frame.ask(HeadMetricsQuestion{.kind = selection.block.kind, .batch = selection.batch});
  if (!answer) return {};
  return {.found = answer->as<HeadMetricsFound>(),
          .error = answer->error,
          .is_current = answer->is_done && answer->run == frame.result.run};
}

std::string coverage_text(const ShownMetrics& metrics) {
  if (!metrics.found) return metrics.error.empty() ? "measuring\u2026" : metrics.error;
  const HeadMetricsFound& found = *metrics.found;
  std::string text;
  if (!found.is_complete()) text = fmt::format("{} of {} heads measured", found.heads.size(), found.all_heads);
  if (found.measured_queries < found.queries) {
    if (!text.empty()) text += " \u00B7 ";
    text += fmt::format("sampled: {} of {} queries, in strips at equal distances", grouped(found.measured_queries),
                        grouped(found.queries));
  }
  return text;
}

std::optional<HeadRef> best_head(const HeadMetricsFound& found, HeadMetric metric) {
  std::optional<HeadRef> best;
  double most = 0.0;
  for (const auto& [head, metrics] : found.heads) {
    const std::optional<double> value = metrics.value(metric);
    if (!value || (best && *value <= most)) continue;
    best = head;
    most = *value;
  }
  return best;
}

std::optional<std::string> seek_head(Frame& frame) {
  if (!frame.transient.seeks_head || frame.result.run == 0) return std::nullopt;
  const ShownMetrics metrics = ask_metrics(frame);
  if (!metrics.is_current) return std::nullopt;  // they come with a later frame
  const HeadMetric metric = *std::exchange(frame.transient.seeks_head, std::nullopt);
  if (!metrics.found) return metrics.error;
  const std::optional<HeadRef> best = best_head(*metrics.found, metric);
  if (!best) {
    return metric == HeadMetric::PreviousToken
               ? "This text has one token: nothing comes before it"
               : "No token comes twice in this text: type one that repeats itself, for instance the same sentence twice";
  }
  select_head(frame.state.selection, *best);
  frame.ui.request_redraw(2);
  return fmt::format("L{}H{} {}: {}", best->block.layer.value, best->head, text_of(metric).sentence,
                     metric_number(metric, metrics.of(*best)->value(metric)));
}

}  // namespace headlight::app
