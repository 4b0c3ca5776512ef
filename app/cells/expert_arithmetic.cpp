// Cells of a mixture of experts.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/cells/arithmetic.h"
#include "app/cells/stage_text.h"
#include "app/quantities/formulas.h"

namespace headlight::app {
namespace {

/// "0.61 · expert 3 + 0.39 · expert 0", the largest first.
std::string write_gates(const NumberSource::Numbers& gates) {
  std::vector<std::pair<float, std::size_t>> chosen;
  for (std::size_t expert = 0; expert < gates->size(); ++expert) {
    if ((*gates)[expert] != 0.0F) chosen.emplace_back((*gates)[expert], expert);
  }
  std::ranges::stable_sort(chosen, std::greater<>(), &std::pair<float, std::size_t>::first);
  std::string text;
  for (const auto& [gate, expert] : chosen) {
    text += fmt::format("{}{} · expert {}", text.empty() ? "" : " + ", write_number(double{gate}), expert);
  }
  return text;
}

}  // namespace

void explain_experts(const CellQuestion& question, Arithmetic& arithmetic, NumberSource& numbers) {
  using attention::Stage;
  if (!question.layer || !question.layer->experts) return;
  const model::Experts& experts = *question.layer->experts;
  const std::uint32_t row = question.row, column = question.column;
  const Stage read = question.layer->feed_forward_norms.before ? Stage::FfnInput
                     : question.layer->is_parallel             ? Stage::Residual
                                                               : Stage::Attended;
  const char* input = quantity(read).symbol.c_str();
  if (question.stage == Stage::FfnRouter) {
    arithmetic.formula =
        fmt::format("{}{} · W_R[:,{}]{}", input, subscript(row), column, experts.router.has_bias() ? " + b" : "");
    return explain_projection(arithmetic, experts.router, column, numbers.row(read, row));
  }
  arithmetic.numbers = kOnTheirWay;
  if (question.stage == Stage::FfnOutput) {
    arithmetic.formula = fmt::format("Σₑ G[{},e] · expertₑ({}{})[{}]", row, input, subscript(row), column);
    if (experts.shared) arithmetic.formula += fmt::format(" + {}shared[{}]", experts.shared_gate ? "σ · " : "", column);
    if (const NumberSource::Numbers gates = numbers.row(Stage::FfnGates, row)) arithmetic.numbers = write_gates(gates);
    arithmetic.note = "Each expert is a feed-forward of its own; of the inside of experts no numbers are kept.";
    return;
  }
  const NumberSource::Numbers logits = numbers.row(Stage::FfnRouter, row);
  arithmetic.formula = fmt::format("exp(z[{},{}] − m) / Σₑ exp(z[{},e] − m)", row, column, row);
  if (!logits || column >= logits->size()) return;
  std::vector<float> sorted = *logits;
  std::ranges::sort(sorted, std::greater<>());
  const double most = double{sorted.front()}, own = double{(*logits)[column]};
  if (arithmetic.result && *arithmetic.result == 0.0F) {
    arithmetic.formula.clear();
    arithmetic.numbers.clear();
    arithmetic.note = fmt::format("The router doesn't choose this expert: its logit {} isn't among the token's {} largest.",
                                  write_number(own), experts.per_token);
    return;
  }
  double sum = 0.0;
  const std::size_t counted = experts.gates_sum_to_one ? experts.per_token : sorted.size();
  for (std::size_t i = 0; i < counted; ++i) sum += std::exp(double{sorted[i]} - most);
  arithmetic.numbers = fmt::format("exp({} − {}) / {}", write_number(own), write_factor(most), write_number(sum));
  arithmetic.note = fmt::format("m is the token's largest router logit; the sum is over {}.",
                                experts.gates_sum_to_one ? fmt::format("the {} chosen experts", experts.per_token)
                                                         : fmt::format("all {} experts", sorted.size()));
}

}  // namespace headlight::app
