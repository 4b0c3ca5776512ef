#pragma once

#include "app/state/mask_painting.h"
#include "app/state/transient.h"

namespace headlight::app {

/// The part of the window that a screenshot shows: all of it, or the view in its middle alone.
enum class ScreenshotArea : std::uint8_t { Window, View };

/// The numbers of the shown map that are copied: those of the dragged range, else all; or a row or a column.
enum class CopiedNumbers : std::uint8_t { Map, Row, Column };

/// The actions on the steps of a training, which a panel shows.
enum class StepCommand : std::uint8_t { Earlier, Later, Play, Save };

/// The purpose for which a file is asked for.
enum class FilePurpose : std::uint8_t {
  SaveSession,
  SaveSteps,
  SavePicture,
  SaveLayout,
  OpenSession,
  OpenText,
  OpenCapture,
  OpenSurvey,
  OpenLens,
  OpenPrompts,
  OpenLayout
};

/// The interface to the window that commands need besides the state. The window implements it, so that commands know nothing
/// of the window.
class CommandHost {
 public:
  virtual ~CommandHost() = default;

  /// Return what undoing would take back and redoing bring back: "Edit text". Empty: there is nothing.
  virtual std::string undo_label() const = 0;
  virtual std::string redo_label() const = 0;
  virtual void undo_change() = 0;
  virtual void redo_change() = 0;
  /// Are there places that were looked at before this one, or that were left by going back?
  virtual bool can_go_back() const = 0;
  virtual bool can_go_forward() const = 0;
  virtual void go_back() = 0;
  virtual void go_forward() = 0;
  /// Opens or closes the list of all steps.
  virtual void toggle_history() = 0;

  /// Is the model that the state names still on its way, and another one on screen?
  virtual bool is_loading_model() const = 0;
  virtual void browse_models() = 0;
  /// Writes the session under its name, or asks for one where it has none.
  virtual void save_session() = 0;
  /// The following functions open a dialog.
  virtual void ask_for_file(FilePurpose purpose) = 0;
  virtual void open_export_dialog() = 0;
  /// `area`: what the dialog proposes.
  virtual void open_screenshot_dialog(ScreenshotArea area) = 0;
  /// Puts the selected head's map on the clipboard.
  virtual void copy_figure() = 0;
  /// Puts what the view shows on the clipboard, in words and numbers.
  virtual void copy_as_text() = 0;
  /// Puts the pinned cell's numbers on the clipboard, as soon as they are computed.
  virtual void copy_cell() = 0;
  /// Puts a PyTorch program that prints the numbers on screen on the clipboard.
  virtual void copy_torch() = 0;
  /// Puts numbers on the clipboard with the tokens that they belong to, as soon as they are computed.
  virtual void copy_numbers(CopiedNumbers what) = 0;
  /// Lists windows that ended without being closed.
  virtual void show_lost_windows() = 0;
  /// Closes the window, where the user doesn't stay for changes that aren't saved.
  virtual void quit() = 0;

  /// Returns the selected map, as painting needs it.
  virtual PaintedMap selected_map() const = 0;

  /// Opens the menu of what can be done with it, at the pointer.
  virtual void open_menu(MenuTarget target) = 0;

  virtual void toggle_sidebar() = 0;
  virtual void toggle_grid() = 0;
  virtual bool is_presenting() const = 0;
  virtual void toggle_presentation() = 0;
  virtual void toggle_welcome() = 0;
  /// Is the selected head computed again in double precision?
  virtual bool verifies_head() const = 0;
  virtual void toggle_verification() = 0;
  virtual void toggle_help() = 0;
  /// Opens the list of lessons, or closes lessons.
  virtual void toggle_lessons() = 0;
  /// Is a lesson's card open?
  virtual bool plays_lesson() const = 0;
  virtual void go_on_in_lesson() = 0;
  virtual void go_back_in_lesson() = 0;
  virtual void toggle_palette() = 0;
  /// Opens the first menu for the keyboard, or closes those that are open.
  virtual void toggle_menus() = 0;
  virtual void show_about() = 0;
  /// Opens the dialog in which every device is checked.
  virtual void check_machine() = 0;
  /// Gives the first text box the keyboard.
  virtual void write_text() = 0;
  /// Can the shown source have a second text to be compared with?
  virtual bool can_open_second_text() const = 0;
  /// Is the shown model one with a LoRA adapter?
  virtual bool has_adapter() const = 0;
  /// Opens the text section and gives the second text's box the keyboard.
  virtual void focus_second_text() = 0;
  /// Leaves, closes or unpins what is nearest to the user: a dialog, a load, the brush, a notice, the dragged range, the
  /// locked token, the pinned cell.
  virtual void dismiss() = 0;

  /// Are there such steps, and one to go to?
  virtual bool can_step(StepCommand command) const = 0;
  virtual void step(StepCommand command) = 0;

  virtual bool is_generating() const = 0;
  /// Does the run on screen answer the state, and does its model predict the next token?
  virtual bool can_generate() const = 0;
  virtual void start_generating() = 0;
  virtual void stop_generating() = 0;

 protected:
  CommandHost() = default;
  CommandHost(const CommandHost&) = default;
  CommandHost& operator=(const CommandHost&) = default;
};

}  // namespace headlight::app
