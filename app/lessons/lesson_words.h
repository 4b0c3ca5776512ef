#pragma once

#include <string>

namespace headlight::app {

/// The texts of the lessons' panel in one language; {} are numbers and names. A text with a tip has it below.
struct LessonWords {
  const char *lessons, *about, *passed_of, *all_passed, *passed, *at_card, *after, *minutes, *first_tries, *own, *no_lessons,
      *start_tip;
  const char *results, *name;
  const char *back, *back_tip, *again, *again_tip, *skip, *next, *finish, *next_tip, *list, *list_tip, *restart,
      *restart_tip, *close, *close_tip, *language_tip;
  const char *place, *cell, *first_try, *later, *repeat, *streak;
  const char *check, *check_tip, *choice_tip, *number_tip, *order_tip, *explain_tip, *row_tip, *row, *order, *more, *compare,
      *mine, *had_it, *partly, *not_yet;
  const char *paint, *paint_tip, *strength, *overlap, *painted, *arrows, *arrow_tip, *computing;
};

/// Returns those of a language ("de"), English ones where it has none.
const LessonWords& lesson_words(const std::string& language);

}  // namespace headlight::app
