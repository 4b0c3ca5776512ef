#pragma once

#include "app/lessons/lesson_player.h"
#include "app/lessons/lesson_words.h"
#include "app/widgets/controls.h"
#include "app/window/sidebar/panels.h"

namespace headlight::app {

/// A condition of the open card as the panel draws it.
struct Question {
  Frame& frame;
  const LessonPlayer& player;
  const LessonWords& words;
  std::size_t number = 0;  ///< of the condition
  QuestionDraft& draft;
  LessonChoice& choice;

  const LessonCondition& condition() const { return player.card().done[number]; }
  const LessonSubject& subject() const { return condition().subject; }
  const ConditionStanding& standing() const { return player.standings()[number]; }
  std::string mark(std::string_view part) const { return fmt::format("lesson.{}.{}", part, number); }
  void answer(nlohmann::json value) const {
    choice = {.what = LessonChoice::What::Answer, .condition = number, .answer = std::move(value)};
  }
  /// Draws the button that confirms an answer.
  bool draw_check(bool is_enabled = true) const;
  void write(const std::string& text, shell::Color color) const;
  void write_note(const std::string& text) const { write(text, frame.ui.theme().text_dim); }
};

/// Draws a question, with the hint after a wrong answer; once the card is done, what is right.
void draw_question(const Question& question);

// Questions that are answered in a picture, before and after the card is done.
void draw_map_to_paint(const Question& question);
void draw_arrows(const Question& question);

/// Reads "0.56" or "0,56"; nullopt: it is no number.
std::optional<double> typed_number(std::string text);

}  // namespace headlight::app
