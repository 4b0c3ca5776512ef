#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "app/shapes/quantities/stage_words.h"
#include "app/widgets/cells/arithmetic.h"
#include "app/widgets/cells/stage_text.h"
#include "chart/number_format.h"

namespace headlight::app {

// Cells of a mixture of experts.

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

std::string write_number(double value) {
  constexpr std::uint32_t kNumberCharacters = 9;  // three decimals up to "−1234.567"
  return chart::format_number(static_cast<float>(value), kNumberCharacters);
}

std::string write_factor(double value) {
  return value < 0.0 ? fmt::format("({})", write_number(value)) : write_number(value);
}

std::string write_added(double value) {
  return fmt::format(" {} {}", value < 0.0 ? "−" : "+", write_number(std::abs(value)));
}

std::vector<Product> products(std::span<const float> left, std::span<const float> right) {
  std::vector<Product> terms(std::min(left.size(), right.size()));
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = {.left = left[i], .right = right[i]};
  return terms;
}

std::vector<std::size_t> largest_first(std::span<const Product> terms) {
  std::vector<std::size_t> order(terms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return std::abs(terms[a].value()) > std::abs(terms[b].value()); });
  return order;
}

std::string write_sum(std::span<const Product> terms, std::optional<float> constant, std::size_t max_terms) {
  std::vector<std::size_t> shown = largest_first(terms);
  const bool is_shortened = terms.size() > max_terms;
  if (is_shortened) shown.resize(max_terms);
  std::string text;
  for (const std::size_t index : shown) {
    const Product& term = terms[index];
    if (!text.empty()) text += " + ";
    const std::string left = text.empty() ? write_number(double{term.left}) : write_factor(double{term.left});
    text += left + "·" + write_factor(double{term.right});
  }
  if (is_shortened) {
    const std::size_t hidden = terms.size() - max_terms;
    text += fmt::format(" + … {} more {}", hidden, hidden == 1 ? "term" : "terms");
  }
  if (constant) text += text.empty() ? write_number(double{*constant}) : write_added(double{*constant});
  return text.empty() ? "0" : text;
}

std::string write_all(const Arithmetic& arithmetic) {
  std::string text = arithmetic.cell;
  if (!arithmetic.formula.empty()) text += " = " + arithmetic.formula;
  const std::optional<float> constant = arithmetic.has_constant ? std::optional(arithmetic.constant) : std::nullopt;
  const std::string numbers =
      arithmetic.terms.empty() ? arithmetic.numbers : write_sum(arithmetic.terms, constant, arithmetic.terms.size());
  if (!numbers.empty()) text += " = " + numbers;
  if (arithmetic.result) text += " = " + write_number(double{*arithmetic.result});
  if (!arithmetic.note.empty()) text += "\n" + arithmetic.note;
  return text;
}

std::string dropout_note(float factor) {
  const std::string what =
      factor == 0.0F ? std::string("Dropout drops this weight")
                     : fmt::format("Dropout keeps this weight, times 1 / (1 − p) = {}", write_number(double{factor}));
  return what + ": the row's weights no longer add up to 1, only their mean over many seeds does.";
}

}  // namespace headlight::app
