#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "app/lessons/lesson_file.h"
#include "app/state/settings.h"
#include "app/state/state.h"

namespace headlight::app {

/// Applies what a card opens: fields that it doesn't name stay, but a card that names another source begins with that
/// source's own settings, without masks, gains and pinned cells of before. A bundled model is named by its name. Throws
/// Error where a value isn't valid.
void open_card(const LessonCard& card, State& state);

/// Are all conditions of the card met?
bool is_done(const LessonCard& card, const State& state);

/// The lesson that is being played: which card is open, what is completed. Progress is kept in the settings.
class LessonPlayer {
 public:
  explicit LessonPlayer(LessonList list = {}) : list_(std::move(list)) {}

  const LessonList& list() const { return list_; }
  /// Is the panel shown, with the list of lessons or with one of them?
  bool is_open() const { return is_open_; }
  void open_list();
  void close() { is_open_ = false; }

  /// Null while the list is shown.
  const Lesson* lesson() const { return lesson_ < list_.lessons.size() ? &list_.lessons[lesson_] : nullptr; }
  std::size_t card_index() const { return card_; }
  /// Both only while lesson() isn't null.
  const Lesson& played() const { return list_.lessons[lesson_]; }
  const LessonCard& card() const { return played().cards[card_]; }
  /// Was the card's task completed since the card was opened?
  bool is_card_done() const { return is_card_done_; }

  /// Opens a lesson at the card where it was left, at the first when it was completed or `restarts`. `state` becomes the
  /// card's. Returns one line where the card can't be opened, else nothing; likewise the next two.
  std::string start(std::size_t index, bool restarts, State& state, LessonProgress& progress);
  /// The next card; behind the last one the lesson is completed and the list is shown.
  std::string go_on(State& state, LessonProgress& progress);
  std::string go_back(State& state, LessonProgress& progress);
  /// Opens the same card again, after something else was looked at.
  std::string reopen(State& state);

  /// Once a frame, after input: notes when the card's task is done. Returns whether it just became so.
  bool observe(const State& state);

 private:
  std::string show_card(std::size_t card, State& state);

  LessonList list_;
  bool is_open_ = false;
  std::size_t lesson_ = static_cast<std::size_t>(-1);
  std::size_t card_ = 0;
  bool is_card_done_ = false;
  State observed_;  ///< for which the conditions were last looked at
  bool has_observed_ = false;
};

}  // namespace headlight::app
