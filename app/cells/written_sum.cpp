#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "app/cells/arithmetic.h"
#include "view/number_format.h"

namespace headlight::app {

std::string write_number(double value) {
  constexpr std::uint32_t kNumberCharacters = 9;  // three decimals up to "−1234.567"
  return view::format_number(static_cast<float>(value), kNumberCharacters);
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
