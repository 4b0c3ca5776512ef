#include "app/views/what_if/knockout_list.h"
#include "export/float_text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

namespace headlight::app {

std::optional<KnockoutEffect> ShownKnockouts::effect(const HeadRef& head, KnockoutMeasure measure) const {
  const double scale = measure == KnockoutMeasure::Probability ? 100.0 : 1.0;
  const std::optional<double> change = now.change(head, measure);
  const std::optional<double> before = baseline ? baseline->change(head, measure) : std::nullopt;
  if (!change || (baseline && !before)) return std::nullopt;
  KnockoutEffect effect{.head = head, .change = scale * *change};
  if (before) effect.baseline = scale * *before;
  return effect;
}

std::vector<KnockoutEffect> knockout_effects(const ShownKnockouts& found, model::BlockKind kind,
                                             const WhatIfChoices& choices) {
  std::vector<KnockoutEffect> effects;
  for (const auto& [head, numbers] : found.now.without) {
    const std::optional<KnockoutEffect> effect = found.effect(head, choices.measure);
    if (head.block.kind == kind && effect) effects.push_back(*effect);
  }
  if (!choices.is_sorted) return effects;
  const auto size = [](const KnockoutEffect& effect) {
    return std::isnan(effect.shown()) ? -1.0 : std::abs(effect.shown());
  };
  std::ranges::stable_sort(effects, std::greater(), size);
  return effects;
}

std::string_view unit_of(KnockoutMeasure measure) {
  switch (measure) {
    case KnockoutMeasure::Probability:
      return "points";
    case KnockoutMeasure::Loss:
      return "nats";
    case KnockoutMeasure::Logit:
      break;
  }
  return "";
}

std::string knockout_csv(const ShownKnockouts& found, KnockoutMeasure measure) {
  std::vector<std::pair<const char*, KnockoutMeasure>> columns = {{"loss", KnockoutMeasure::Loss}};
  if (measure != KnockoutMeasure::Loss) {
    columns = {{"logit", KnockoutMeasure::Logit}, {"probability", KnockoutMeasure::Probability}};
  }
  std::string text = "kind,layer,head";
  for (const auto& [name, column] : columns) {
    text += fmt::format(",{},{}_change", name, name);
    if (found.baseline) text += fmt::format(",baseline_{}_change", name);
  }
  text += '\n';
  for (const auto& [head, numbers] : found.now.without) {
    text += fmt::format("{},{},{}", model::to_string(head.block.kind), head.block.layer.value, head.head);
    for (const auto& [name, column] : columns) {
      const double value = numbers.of(column);
      text += fmt::format(",{},{}", exporting::table_number(value),
                          exporting::table_number(value - found.now.present.of(column)));
      if (!found.baseline) continue;
      const std::optional<double> before = found.baseline->change(head, column);
      text += before ? "," + exporting::table_number(*before) : ",";
    }
    text += '\n';
  }
  return text;
}

}  // namespace headlight::app
