#include "app/engine/analyses/head_table.h"

#include "app/engine/analyses/head_metric_text.h"

namespace headlight::app {
namespace {

constexpr double kLeastChange = 0.05;  ///< of a whole bar

}  // namespace

Table head_table(std::vector<HeadRef> heads, const HeadMetricsFound* found, const HeadMetricsFound* baseline,
                 const evaluation::PatternScoring& scoring, std::uint32_t batch, bool is_trained) {
  using evaluation::HeadMetric;
  Table table{.subjects = std::move(heads)};
  table.rows = table.subjects.size();
  table.add({.title = "head", .id = "name", .formula = "Orders by layer and head.", .is_copied = false},
            [&](std::size_t row) { return head_name(table.subjects[row]); });
  Column& does = table.add({.title = "does", .id = "does", .is_copied = false}, [&](std::size_t row) {
    const evaluation::HeadMetrics* metrics = found ? found->find(table.subjects[row]) : nullptr;
    return std::string(metrics ? head_word(*metrics, is_trained) : "");
  });
  for (std::size_t row = 0; row < table.rows; ++row) does.is_quiet.push_back(does.text(row) == kNoWord);
  table.add_subjects();
  for (std::size_t i = 0; i < evaluation::kHeadMetrics; ++i) {
    const auto metric = static_cast<HeadMetric>(i);
    const HeadMetricText& text = text_of(metric);
    const auto known = [&](const HeadMetricsFound* of, std::size_t row) {
      return of ? of->find(table.subjects[row]) : nullptr;
    };
    const auto value = [&](const HeadMetricsFound* of, std::size_t row) {
      const evaluation::HeadMetrics* metrics = known(of, row);
      return metrics ? metrics->value(metric, scoring) : std::nullopt;
    };
    const std::string title = metric_title(metric, scoring);
    Column& column = table.add({.title = *text.unit != '\0' ? fmt::format("{},{}", title, text.unit) : title,
                                .name = title,
                                .id = std::string(evaluation::metric_name(metric)),
                                .unit = text.unit + (*text.unit != '\0'),
                                .formula = text.help,
                                .bar = text.is_share ? BarKind::Share : BarKind::Size,
                                .decimals = metric == HeadMetric::Distance ? 1 : 2,
                                .least_end = baseline ? kLeastChange : 1e-9,
                                .origin = metric_origin(batch, metric, scoring)},
                               [&](std::size_t row) { return value(found, row); });
    for (std::size_t row = 0; row < table.rows; ++row) {
      if (baseline) column.baseline.push_back(value(baseline, row));
      const evaluation::HeadMetrics* metrics = known(found, row);
      column.is_quiet.push_back(!metrics || !is_clear(metric, *metrics));
    }
  }
  return table;
}

}  // namespace headlight::app
