#include "app/engine/analyses/head_ranking.h"

#include <variant>

#include "app/engine/analyses/head_metrics.h"
#include "core/error.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;

attention::Expression parse(const std::string& text) {
  auto parsed = attention::parse_expression(text, attention::ExpressionUse::Mask);
  if (const auto* error = std::get_if<attention::ExpressionError>(&parsed)) throw Error("{}", to_string(*error));
  attention::Expression expression = std::get<attention::Expression>(std::move(parsed));
  if (!expression) throw Error("no pattern is typed");
  return expression;
}

}  // namespace

bool is_of_one_text(HeadPattern pattern) {
  switch (pattern) {
    case HeadPattern::FirstToken:
    case HeadPattern::Uniform:
    case HeadPattern::Typed:
      return false;
    case HeadPattern::PreviousToken:
    case HeadPattern::Itself:
    case HeadPattern::NextToken:
    case HeadPattern::DuplicateToken:
    case HeadPattern::Induction:
      break;
  }
  return true;
}

PatternRows::PatternRows(const PatternQuestion& question, const AnalysisSubject& subject, attention::KeyRange queries,
                         attention::KeyRange keys)
    : subject_(subject), batch_(question.batch), pattern_(question.pattern), queries_(queries), keys_(keys) {
  if (is_of_one_text(pattern_)) {
    if (question.kind == model::BlockKind::Cross) {
      throw Error("between two texts no token is the previous, the next, the same or a repeated one");
    }
    repeats_.emplace(token_numbers(subject_.input->queries(question.kind), batch_, queries.end - queries.begin));
  }
  if (pattern_ != HeadPattern::Typed) return;
  mask_.mask_expression = parse(question.typed);
  tokens_.emplace(*subject_.network, *subject_.input, question.kind, mask_);
}

bool PatternRows::depends_on_head() const {
  return mask_.mask_expression.needs().head || mask_.mask_expression.needs().layer;
}

void PatternRows::write_row(std::uint32_t query, std::vector<std::uint8_t>& row_by_row) const {
  const std::size_t start = row_by_row.size();
  row_by_row.resize(start + (keys_.end - keys_.begin), 0);
  const auto set = [&](std::uint32_t key) {
    if (keys_.holds(key)) row_by_row[start + (key - keys_.begin)] = 1;
  };
  const auto set_repeats = [&](HeadMetric metric) {
    for (const std::uint32_t key : repeats_->keys(metric, query - queries_.begin)) set(keys_.begin + key);
  };
  switch (pattern_) {
    case HeadPattern::PreviousToken:
      if (query > 0) set(query - 1);
      break;
    case HeadPattern::Itself:
      set(query);
      break;
    case HeadPattern::FirstToken:
      set(keys_.begin);
      break;
    case HeadPattern::NextToken:
      set(query + 1);
      break;
    case HeadPattern::DuplicateToken:
      set_repeats(HeadMetric::DuplicateToken);
      break;
    case HeadPattern::Induction:
      set_repeats(HeadMetric::Induction);
      break;
    case HeadPattern::Uniform:
    case HeadPattern::Typed:
      break;
  }
}

std::vector<std::uint8_t> PatternRows::rows(const HeadRef& head, std::uint32_t first, std::uint32_t count) const {
  std::vector<std::uint8_t> flags;
  flags.reserve(std::size_t{count} * (keys_.end - keys_.begin));
  if (!tokens_) {
    for (std::uint32_t query = first; query < first + count; ++query) write_row(query, flags);
    return flags;
  }
  const attention::ExpressionMap map = tokens_->map(head.block.layer.value, batch_, head.head);
  for (std::uint32_t query = first; query < first + count; ++query) {
    for (std::uint32_t key = keys_.begin; key < keys_.end; ++key) {
      flags.push_back(mask_.mask_expression.shows(map, query, key, mask_.sliders) ? 1 : 0);
    }
  }
  return flags;
}

}  // namespace headlight::app
