// Cells of a mixture of experts.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/cells/arithmetic.h"
#include "app/cells/stage_text.h"
#include "app/quantities/stage_words.h"

namespace headlight::app {
namespace {

/// Returns "0.61 · expert 3 + 0.39 · expert 0", the largest first.
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

void explain_experts(const CellQuestion& question, const attention::LayerNode& node, Arithmetic& arithmetic,
                     NumberSource& numbers) {
  if (!question.layer) return;
  const model::Experts& experts = *question.layer->experts;
  const std::uint32_t row = question.row, column = question.column;
  arithmetic.numbers = kOnTheirWay;
  arithmetic.formula =
      fmt::format("Σₑ G[{},e] · expertₑ({}{})[{}]", row, words_of(node.inputs()[0]).symbol, subscript(row), column);
  if (experts.shared) arithmetic.formula += fmt::format(" + {}shared[{}]", experts.shared_gate ? "σ · " : "", column);
  if (const NumberSource::Numbers gates = numbers.row(node.inputs()[1], row)) arithmetic.numbers = write_gates(gates);
  arithmetic.note = "Each expert is a feed-forward of its own; of the inside of experts no numbers are kept.";
}

void explain_gates(const CellQuestion& question, const attention::LayerNode& node, Arithmetic& arithmetic,
                   NumberSource& numbers) {
  if (!question.layer) return;
  const model::Experts& experts = *question.layer->experts;
  const std::uint32_t row = question.row, column = question.column;
  arithmetic.numbers = kOnTheirWay;
  const NumberSource::Numbers logits = numbers.row(node.inputs()[0], row);
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
