#include "evaluation/corpus_metric.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/ranges.h>

#include "core/error.h"

namespace headlight::evaluation {
namespace {

constexpr std::size_t kLongestOwnName = 32;

struct NamedPattern {
  std::string_view name, expression;  ///< no expression: a HeadMetric's
  HeadMetric metric = {};
};
constexpr std::array<NamedPattern, 6> kNamedPatterns = {{{"previous", "k == q - 1"},
                                                         {"itself", "k == q"},
                                                         {"first", "k == 0"},
                                                         {"next", "k == q + 1"},
                                                         {"duplicate", "", HeadMetric::DuplicateToken},
                                                         {"induction", "", HeadMetric::Induction}}};

bool is_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= kLongestOwnName && std::ranges::all_of(name, fits);
}

}  // namespace

CorpusMetric::CorpusMetric(std::string name, std::string of_pattern)
    : own_name(std::move(name)), pattern(std::move(of_pattern)) {
  if (!is_name(own_name)) {
    throw Error("'{}' is no name of a metric: up to {} letters, digits, '-' and '_'", own_name, kLongestOwnName);
  }
  std::vector<std::string> taken = metric_names();
  taken.insert(taken.end(), {"self", "first", "layer"});  // columns of the window
  if (std::ranges::find(taken, own_name) != taken.end()) {
    throw Error("'{}' is measured by that name already: choose another name for the pattern", own_name);
  }
  try {
    static_cast<void>(OwnPattern(pattern));
  } catch (const Error& error) {
    throw Error("metric '{}': {}", own_name, error.what());
  }
}

std::vector<std::string> own_pattern_names() {
  std::vector<std::string> names;
  for (const NamedPattern& named : kNamedPatterns) names.emplace_back(named.name);
  return names;
}

OwnPattern::OwnPattern(const std::string& pattern) {
  const auto named = std::ranges::find(kNamedPatterns, std::string_view(pattern), &NamedPattern::name);
  const bool is_named = named != kNamedPatterns.end();
  if (is_named && named->expression.empty()) {
    repeats_ = named->metric;
    return;
  }
  auto parsed = attention::parse_expression(is_named ? named->expression : pattern, attention::ExpressionUse::Mask);
  if (const auto* error = std::get_if<attention::ExpressionError>(&parsed)) {
    throw Error("'{}' is neither {} nor a formula: {}", pattern, fmt::join(own_pattern_names(), ", "), to_string(*error));
  }
  expression_ = std::get<attention::Expression>(std::move(parsed));
  if (!expression_)
    throw Error("it has no pattern: give {}, or a formula as k == q - 2", fmt::join(own_pattern_names(), ", "));
}

bool OwnPattern::depends_on_head() const { return expression_.needs().head || expression_.needs().layer; }

std::vector<std::vector<std::uint32_t>> OwnPattern::cells(std::span<const std::uint32_t> ids, const TokenRepeats& repeats,
                                                          attention::ExpressionMap map) const {
  const auto size = static_cast<std::uint32_t>(ids.size());
  map.queries = map.keys = size;
  map.tokens = {.query_ids = ids, .key_ids = ids};
  std::vector<std::vector<std::uint32_t>> cells(size);
  for (std::uint32_t query = 0; query < size; ++query) {
    if (repeats_) {
      cells[query] = repeats.keys(*repeats_, query);
      continue;
    }
    for (std::uint32_t key = 0; key < size; ++key) {
      if (expression_.shows(map, query, key, {})) cells[query].push_back(key);
    }
  }
  return cells;
}

}  // namespace headlight::evaluation
