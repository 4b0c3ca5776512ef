#pragma once

#include <compare>
#include <concepts>
#include <typeindex>

#include "app/engine/analyses/analysis.h"

namespace headlight::app {

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

/// A question that an analysis answers: any value with an analyse(question, subject).
class AnalysisQuery {
 public:
  /// The question is about the baseline instead of the run. For questions that don't compare.
  bool is_of_baseline = false;

  AnalysisQuery() = default;
  template <typename Question>
  requires requires(Question asked, AnalysisSubject subject) { analyse(asked, subject); }
  AnalysisQuery(Question asked, bool of_baseline = false)  // NOLINT: each question is a query
      : is_of_baseline(of_baseline), question_(std::make_shared<const Typed<Question>>(std::move(asked))) {}

  /// Returns the question as an analysis has it; null: it is another one's.
  template <typename Question>
  const Question* as() const {
    const auto* typed = dynamic_cast<const Typed<Question>*>(question_.get());
    return typed ? &typed->asked : nullptr;
  }
  std::partial_ordering operator<=>(const AnalysisQuery& other) const;
  bool operator==(const AnalysisQuery& other) const { return *this <=> other == 0; }
  /// Does it read the baseline beside the run? Then it is asked only where there is one, which has the run's shapes.
  bool compares() const { return question_ && question_->compares(); }
  /// Answers the question, which there is.
  Task<SharedResult> begin(AnalysisSubject subject) const { return question_->begin(std::move(subject), is_of_baseline); }

 private:
  struct Any {
    virtual ~Any() = default;
    virtual std::partial_ordering compare(const Any& same_type) const = 0;
    virtual bool compares() const = 0;
    virtual Task<SharedResult> begin(AnalysisSubject subject, bool is_of_baseline) const = 0;
  };
  template <typename Question>
  struct Typed final : Any {
    explicit Typed(Question of) : asked(std::move(of)) {}
    std::partial_ordering compare(const Any& other) const override {
      return asked <=> static_cast<const Typed&>(other).asked;
    }
    bool compares() const override {
      if constexpr (requires { asked.compares(); }) return asked.compares();
      return false;
    }
    Task<SharedResult> begin(AnalysisSubject subject, bool is_of_baseline) const override {
      return untyped(analyse(asked, std::move(subject)), is_of_baseline);
    }

    Question asked;
  };

  std::shared_ptr<const Any> question_;
};

}  // namespace headlight::app
