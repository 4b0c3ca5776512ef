#include "app/analyses/patching.h"

#include "app/analyses/analysis.h"
#include "core/error.h"

namespace headlight::app {

double PatchedNumbers::of(PatchMeasure measure) const {
  switch (measure) {
    case PatchMeasure::Probability:
      return std::exp(log_probability);
    case PatchMeasure::Loss:
      return -log_probability;
    case PatchMeasure::Logit:
      break;
  }
  return logit;
}

PatchedNumbers patched_numbers(std::span<const float> logits, const MeasuredToken& measured) {
  const auto logit = static_cast<double>(logits[measured.token]);
  if (std::isnan(logit)) throw Error("there is no prediction to measure: the token has no counterpart in the other text");
  const double subtracted =
      measured.other.value_or(measured.token) == measured.token ? 0.0 : static_cast<double>(logits[*measured.other]);
  return {.logit = logit - subtracted, .log_probability = logit - log_sum_exp(logits)};
}

std::optional<double> recovery(PatchMeasure measure, const PatchedNumbers& target, const PatchedNumbers& source,
                               const PatchedNumbers& patched) {
  constexpr double kMin = 1e-4;
  const double from = target.of(measure), to = source.of(measure), gap = to - from;
  const double unit = measure == PatchMeasure::Probability ? std::max(from, to) : 1.0;
  if (!(std::abs(gap) >= kMin * unit) || gap == 0.0) return std::nullopt;
  const double result = (patched.of(measure) - from) / gap;
  return std::isfinite(result) ? std::optional(result) : std::nullopt;
}

const std::optional<PatchedNumbers>& PatchEffects::at(std::size_t row, std::size_t column) const {
  return patched[row * columns + column];
}

std::optional<double> PatchEffects::recovery_at(std::size_t row, std::size_t column, PatchMeasure measure) const {
  const std::optional<PatchedNumbers>& numbers = at(row, column);
  return numbers ? recovery(measure, target, source, *numbers) : std::nullopt;
}

bool PatchEffects::can_recover(PatchMeasure measure) const { return recovery(measure, target, source, target).has_value(); }

std::vector<PatchCell> strongest_patches(const PatchEffects& effects, PatchMeasure measure, std::size_t most) {
  std::vector<PatchCell> cells;
  for (std::size_t row = 0; row < effects.rows(); ++row) {
    for (std::size_t column = 0; column < effects.columns; ++column) {
      const std::optional<double> value = effects.recovery_at(row, column, measure);
      if (value) cells.push_back({.row = row, .column = column, .recovery = *value});
    }
  }
  std::ranges::stable_sort(cells, std::greater(), [](const PatchCell& cell) { return std::abs(cell.recovery); });
  cells.resize(std::min(cells.size(), most));
  return cells;
}

}  // namespace headlight::app
