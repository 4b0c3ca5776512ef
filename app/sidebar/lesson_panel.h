#pragma once

#include "app/frame.h"
#include "app/lessons/lesson.h"
#include "app/lessons/lesson_player.h"

namespace headlight::app {

/// The user's command for the lessons. It happens with the next frame: a card may change what this one shows.
struct LessonChoice {
  enum class What : std::uint8_t { None, Start, Restart, GoOn, GoBack, Reopen, ShowList, Close, Answer, ChooseLanguage };
  What what = What::None;
  std::size_t lesson = 0;      ///< of Start and Restart
  std::size_t condition = 0;   ///< of Answer
  nlohmann::json answer = {};  ///< of Answer
  std::string language = {};   ///< of ChooseLanguage; empty: the file's own
};

/// The panel's state from frame to frame.
struct LessonPanelMemory {
  float wanted = 360.0F;                          ///< height at which nothing scrolls, in UI units
  float footer = 64.0F;                           ///< height of the buttons, which never scroll
  std::map<std::size_t, std::string> typed = {};  ///< into the fields of the card's conditions
  std::uint64_t opening = 0;                      ///< LessonPlayer::openings() of the last frame
};

/// Draws the list of lessons, or a card: its sentences, its task, printed numbers beside the program's own, and buttons.
/// Draws into the whole current pane.
LessonChoice draw_lesson_panel(Frame& frame, const LessonPlayer& player, const LessonProgress& progress,
                               LessonPanelMemory& memory);

/// Draws whether the printed numbers agree with the run's, and both tables, row below row: each row as it was printed and as
/// it is computed, where digits that differ are coloured. `departure`: why the run isn't the card's, as LessonPlayer has it;
/// empty: it is, so that a number that differs is the file's.
void draw_lesson_numbers(Frame& frame, const PrintedNumbers& numbers, std::string_view departure);

}  // namespace headlight::app
