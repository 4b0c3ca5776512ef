#include "app/views/what_if/knockout_list.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace headlight::app {

std::vector<KnockoutEffect> knockout_effects(const HeadKnockouts& found, model::BlockKind kind,
                                             const WhatIfChoices& choices) {
  const double scale = choices.measure == KnockoutMeasure::Probability ? 100.0 : 1.0;
  std::vector<KnockoutEffect> effects;
  for (const auto& [head, numbers] : found.without) {
    if (head.block.kind != kind) continue;
    effects.push_back({.head = head, .change = scale * (numbers.of(choices.measure) - found.present.of(choices.measure))});
  }
  if (!choices.is_sorted) return effects;
  const auto size = [](const KnockoutEffect& effect) { return std::isnan(effect.change) ? -1.0 : std::abs(effect.change); };
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

std::string knockout_csv(const HeadKnockouts& found, KnockoutMeasure measure) {
  const bool is_loss = measure == KnockoutMeasure::Loss;
  std::string text =
      is_loss ? "kind,layer,head,loss,loss_change\n" : "kind,layer,head,logit,logit_change,probability,probability_change\n";
  for (const auto& [head, numbers] : found.without) {
    text += fmt::format("{},{},{}", model::to_string(head.block.kind), head.block.layer.value, head.head);
    const auto add = [&](double value, double present) { text += fmt::format(",{:.9g},{:.9g}", value, value - present); };
    if (is_loss) {
      add(numbers.loss, found.present.loss);
    } else {
      add(numbers.logit, found.present.logit);
      add(numbers.probability, found.present.probability);
    }
    text += '\n';
  }
  return text;
}

}  // namespace headlight::app
