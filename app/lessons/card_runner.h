#pragma once

#include "app/engine/engine.h"
#include "app/lessons/lesson_player.h"

namespace headlight::app {

/// Opens the cards of a lesson one after the other and computes what they open, without a window.
class CardRunner {
 public:
  /// `options`: of the engine.
  CardRunner(const Lesson& lesson, EngineOptions options) : lesson_(lesson), engine_(std::move(options)) {}

  /// Opens the next card and computes its run. Throws Error in one line where it can't be opened or computed.
  void open_next();
  /// Opens the card once more, at another try.
  void open_again(std::size_t attempt);
  /// Computes the run of the settings that the card's task leads to; `after`: those that a claim names, or true. Returns
  /// false where neither says them.
  bool do_task(const nlohmann::json& after);
  const LessonCard& card() const { return lesson_.cards[next_ - 1]; }
  const State& state() const { return state_; }
  /// Returns the result of the open card, with the answers to the queries of the last ask().
  const EngineResult& result() const { return result_; }
  void ask(std::vector<Query> queries);
  /// Observes conditions in the run, before anything is answered, or with these answers, one each.
  std::vector<ObservedCondition> observe_conditions(const std::vector<LessonCondition>& conditions,
                                                    const std::vector<nlohmann::json>& answers = {});

 private:
  void compute();

  const Lesson& lesson_;
  std::size_t next_ = 0;
  State before_, state_;  ///< before the card was opened; now
  Engine engine_;
  EngineResult result_;
  std::uint64_t revision_ = 0;
};

/// Returns one line for each thing that is odd about a lesson whose file can be read: a condition that holds when its card
/// opens, so that the task is done before it is begun; claims that don't hold, in each of the card's tries; a question whose
/// answer the run doesn't know; printed numbers that the run of the card doesn't have; a run that fails.
std::vector<std::string> check_lesson(const Lesson& lesson, EngineOptions options);

}  // namespace headlight::app
