#include "app/engine/analyses/analysis_query.h"

namespace headlight::app {
namespace {

using SharedResult = std::shared_ptr<const AnalysisResult>;

/// Forgets the type of the result. A task about the baseline alone reads everything by the baseline's own positions.
template <typename Found>
Task<SharedResult> untyped(Task<Found> task, bool is_of_baseline) {
  SharedResult told;
  while (!task.is_done()) {
    Reads reads = std::move(task.reads());
    if (is_of_baseline) reads.of = WhichRun::BaselineItself;
    task.take(co_await std::move(reads));
    if (task.result() == told) continue;
    told = task.result();
    co_yield told;
  }
  co_return task.result();
}

}  // namespace

bool AnalysisQuery::compares() const {
  return std::visit(
      [](const auto& asked) {
        if constexpr (requires { asked.compares(); }) return asked.compares();
        return false;
      },
      question);
}

Task<std::shared_ptr<const AnalysisResult>> analyse_any(AnalysisQuery query, AnalysisSubject subject) {
  return std::visit(
      [&](auto& asked) { return untyped(analyse(std::move(asked), std::move(subject)), query.is_of_baseline); },
      query.question);
}

}  // namespace headlight::app
