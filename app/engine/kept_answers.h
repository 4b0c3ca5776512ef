#pragma once

#include <algorithm>
#include <deque>

#include "app/engine/asked.h"

namespace headlight::app {

/// The results of the last questions, of which the newest may be under way. All functions are called by one thread.
template <typename Question, typename Found>
class KeptAnswers {
 public:
  explicit KeptAnswers(std::size_t most) : most_(most) {}

  /// Makes this the newest question. The task of another one is let go; what it has told stays.
  void want(const Question& question) {
    if (is_of(question)) return;
    rest();
    const auto known = std::ranges::find(known_, question, &Known::question);
    if (known == known_.end()) {
      known_.push_front({.question = question});
      if (known_.size() > most_) known_.pop_back();
    } else {
      std::rotate(known_.begin(), known, std::next(known));
    }
  }
  bool is_of(const Question& question) const { return !known_.empty() && known_.front().question == question; }

  // These are of the newest question:
  void begin(Asked<Found> task) { known_.front().task = std::move(task); }
  bool has_begun() const { return !known_.empty() && known_.front().task; }
  bool is_busy() const { return has_begun() && !known_.front().task.is_done(); }
  /// Lets the task go.
  void rest() {
    if (!has_begun()) return;
    known_.front().found = found();
    known_.front().task = {};
  }
  /// Null: nothing yet.
  std::shared_ptr<const Found> found() const {
    if (known_.empty()) return nullptr;
    const auto told = known_.front().task.result();
    return told ? told : known_.front().found;
  }

  /// Forgets the questions that `is_meant`.
  template <typename IsMeant>
  void forget(const IsMeant& is_meant) {
    std::erase_if(known_, [&](const Known& one) { return is_meant(one.question); });
  }
  const Question* newest() const { return known_.empty() ? nullptr : &known_.front().question; }

 private:
  struct Known {
    Question question;
    std::shared_ptr<const Found> found = {};  ///< before the task
    Asked<Found> task = {};
  };

  std::size_t most_;
  std::deque<Known> known_;  ///< the newest first
};

}  // namespace headlight::app
