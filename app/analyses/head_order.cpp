#include "app/analyses/head_order.h"

#include "app/analyses/head_metric_text.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;
using evaluation::HeadMetrics;

std::optional<double> listed_value(const HeadMetricsFound* found, const HeadRef& head, HeadMetric metric,
                                   const evaluation::PatternScoring& scoring) {
  const HeadMetrics* metrics = found ? found->find(head) : nullptr;
  return metrics ? metrics->value(metric, scoring) : std::nullopt;
}

}  // namespace

std::vector<HeadRef> heads_of_kind(const BlockShapes& shapes, model::BlockKind kind) {
  std::vector<HeadRef> heads;
  for (const auto& [block, shape] : shapes) {
    if (block.kind != kind) continue;
    for (std::uint32_t head = 0; head < shape.heads; ++head) heads.push_back({.block = block, .head = head});
  }
  return heads;
}

std::vector<HeadRef> listed_heads(const BlockShapes& shapes, model::BlockKind kind, const HeadChoices& choices,
                                  const HeadMetricsFound* found) {
  return listed_heads(heads_of_kind(shapes, kind), choices, found);
}

std::vector<HeadRef> listed_heads(std::vector<HeadRef> heads, const HeadChoices& choices, const HeadMetricsFound* found) {
  if (choices.only_pinned) std::erase_if(heads, [&](const HeadRef& head) { return !is_pinned(choices, head); });
  if (const std::optional<HeadMetric> filter = choices.filter) {
    std::erase_if(heads, [&](const HeadRef& head) {
      const std::optional<double> value = listed_value(found, head, *filter, choices.scoring);
      return !value || *value < double{choices.least};
    });
  }
  if (choices.order) {
    order_heads(heads, choices.lowest_first,
                [&](const HeadRef& head) { return listed_value(found, head, *choices.order, choices.scoring); });
  }
  return heads;
}

void order_heads(std::vector<HeadRef>& heads, bool lowest_first,
                 const std::function<std::optional<double>(const HeadRef&)>& value) {
  std::vector<std::pair<std::optional<double>, HeadRef>> keyed;
  for (const HeadRef& head : heads) keyed.emplace_back(value(head), head);
  std::ranges::stable_sort(keyed, [&](const auto& a, const auto& b) {
    if (!a.first || !b.first) return a.first.has_value() && !b.first.has_value();
    const double one = a.first.value(), other = b.first.value();
    return lowest_first ? one < other : one > other;
  });
  std::ranges::transform(keyed, heads.begin(), [](const auto& entry) { return entry.second; });
}

std::string head_caption(const HeadRef& head, const HeadMetrics* metrics, const HeadChoices& choices) {
  std::string text = head_name(head);
  if (metrics == nullptr) return text;
  if (choices.order) return text + "  " + metric_number(*choices.order, metrics->value(*choices.order, choices.scoring));
  const std::string badge = choices.shows_badges ? badge_text(*metrics) : std::string();
  return badge.empty() ? text : text + "  " + badge;
}

}  // namespace headlight::app
