#pragma once

#include "app/frame.h"
#include "app/lessons/lesson.h"
#include "app/lessons/lesson_player.h"
#include "app/widgets/form.h"
#include "app/widgets/preset_editor.h"
#include "attention/expression.h"

namespace headlight::app {

/// Has the model several kinds of attention? They have several masks: then a mask's name says its kind.
bool has_several_kinds(const EngineResult& result);

/// Returns the width of each of two controls beside each other.
float half_width();

/// Draws what the present run is compared with, and the heads that changed most, each of which a click selects.
/// `can_open_text`: it can be compared with a second text.
void draw_compare_panel(Frame& frame, NumberBeingTyped& typed, bool can_open_text);

/// Draws the chosen model: what it is, how its weights and batches are kept, and the way back. `model`: null until its files
/// are open. `error`: why it can't be shown; empty when it can. `shows_details`: are its facts and rarely changed settings
/// unfolded? Returns whether "Open another" was clicked.
bool draw_language_model_panel(Frame& frame, NumberBeingTyped& typed, const inference::LanguageModel* model,
                               const std::string& error, bool& shows_details);

/// Returns the name of the model at a path: its own name, else the end of the path. `model` may be null or another one.
std::string model_name(const inference::LanguageModel* model, const std::string& path);

/// Draws the shown capture: its file, what it holds, what is odd about its numbers, and the way back. `error`: why it can't
/// be shown; empty when it can. Returns whether "Open another" was clicked.
bool draw_capture_panel(Frame& frame, NumberBeingTyped& typed, const std::string& error);

/// The text of an expression's field while it can't be accepted: the state keeps the last text that could.
struct ExpressionDraft {
  bool is_open = false;
  std::string text = {};
  attention::ExpressionError error = {};
  model::BlockKind kind = model::BlockKind::EncoderSelf;  ///< whose mask it is for
  std::string accepted = {};  ///< the state's text meanwhile; another one there, as after undo, ends the draft
};
/// The drafts of the two fields, kept from frame to frame.
struct ExpressionDrafts {
  bool are_shown = false;  ///< since the first expression: the fields stay while one is emptied
  ExpressionDraft mask = {}, score = {};
};

/// Draws the mask's and the score's expression of the selected block's kind: presets, a field for each, under it what is
/// wrong with the text and where, and their sliders; nothing before there is the first expression, by a command or a
/// session. A text that can't be accepted stays in the field and changes nothing else.
void draw_expression_fields(Frame& frame, Form& form, ExpressionDrafts& drafts);

/// Draws the mask of the selected block's kind: rules, fill, expressions, how far a painted cell reaches, and what was
/// painted. `error`: why the mask can't be applied; empty when it can.
void draw_masks_panel(Frame& frame, NumberBeingTyped& typed, ExpressionDrafts& drafts, const std::string& error);

/// A notebook as the window names it.
struct PresetInfo {
  std::string name, title, summary;
};

/// Draws the playground's sizes and switches, or, while a notebook is shown, what it is, with its sizes and the fields that
/// change it.
/// `error`: why the model can't be built; empty when it can. `preset`: of the notebook on screen; nullptr without one.
/// `shows_details`: are sizes and rarely changed settings unfolded? Returns whether the user wants to open a model.
bool draw_model_panel(Frame& frame, NumberBeingTyped& typed, const PresetInfo* preset, const std::string& error,
                      bool& shows_details, PresetEditor& editor);

/// The user's command for the lessons. It happens with the next frame: a card may change what this one shows.
struct LessonChoice {
  enum class What : std::uint8_t { None, Start, Restart, GoOn, GoBack, Reopen, ShowList, Close, Answer, ChooseLanguage };
  What what = What::None;
  std::size_t lesson = 0;      ///< of Start and Restart
  std::size_t condition = 0;   ///< of Answer
  nlohmann::json answer = {};  ///< of Answer
  std::string language = {};   ///< of ChooseLanguage; empty: the file's own
};

/// An answer to a question of the card before it is confirmed; each kind of question uses its own members.
struct QuestionDraft {
  std::string text = {};                    ///< a number, an explanation
  bool is_compared = false;                 ///< the explanation, with the file's
  std::optional<std::size_t> chosen = {};   ///< option
  std::vector<std::size_t> order = {};      ///< of options
  std::vector<std::string> fields = {};     ///< of a row
  std::vector<std::uint8_t> levels = {};    ///< of a painted map's cells, quarters
  std::uint8_t brush = 4;                   ///< level that is painted
  std::optional<std::size_t> focused = {};  ///< cell that has the keyboard
  std::optional<glm::vec2> last = {};       ///< place of the pointer that paints
  std::array<glm::vec2, 2> ends = {};       ///< of arrows
  bool has_scrolled = false;                ///< to what came after an answer
  bool has_begun = false;                   ///< the arrows are where the file has them, or were moved
};

/// The panel's state from frame to frame.
struct LessonPanelMemory {
  float footer = 64.0F;                              ///< height of the buttons, which never scroll
  std::map<std::size_t, QuestionDraft> drafts = {};  ///< of the card's conditions
  std::uint64_t opening = 0;                         ///< LessonPlayer::openings() of the last frame
  std::string results = {};                          ///< the file that answers are written to; empty: none
  std::string name = {};                             ///< in that file
};

/// Draws the list of lessons, or a card: its sentences, its task, printed numbers beside the program's own, and buttons.
/// Draws into the whole current pane.
LessonChoice draw_lesson_panel(Frame& frame, const LessonPlayer& player, const LessonProgress& progress,
                               LessonPanelMemory& memory);

/// Draws whether the printed numbers agree with the run's, and both tables, row below row: each row as it was printed and as
/// it is computed, where digits that differ are coloured. `departure`: why the run isn't the card's, as LessonPlayer has it;
/// empty: it is, so that a number that differs is the file's.
void draw_lesson_numbers(Frame& frame, const PrintedNumbers& numbers, std::string_view departure, const LessonWords& words);

}  // namespace headlight::app
