#include "app/engine/analyses/analysis_query.h"

namespace headlight::app {

std::partial_ordering AnalysisQuery::operator<=>(const AnalysisQuery& other) const {
  const auto type_of = [](const Any* any) { return any ? std::type_index(typeid(*any)) : std::type_index(typeid(void)); };
  const auto order = type_of(question_.get()) <=> type_of(other.question_.get());
  if (order != 0 || question_ == other.question_) return order != 0 ? order : is_of_baseline <=> other.is_of_baseline;
  const std::partial_ordering asked = question_->compare(*other.question_);
  return asked != 0 ? asked : is_of_baseline <=> other.is_of_baseline;
}

}  // namespace headlight::app
