#pragma once

#include "app/lessons/lesson_player.h"
#include "app/lessons/results.h"
#include "app/window/desk.h"
#include "app/window/sidebar/panels.h"

namespace headlight::app {

/// The list of lessons, and the card that is open.
class Lessons final : public Feature {
 public:
  using Feature::Feature;

  LessonPlayer& player() { return player_; }
  const LessonPlayer& player() const { return player_; }
  const LessonList& list() {
    read();
    return player_.list();
  }
  bool is_playing() const { return player_.is_open() && player_.lesson() != nullptr; }
  /// Is the card of a lesson beside the view while presenting?
  bool shows_card() const { return player_.is_open() && !is_card_folded_; }
  void fold_card() { is_card_folded_ = !is_card_folded_; }
  /// Writes every answer to a file, after those that it has. Throws Error where it has something else.
  void record(const std::filesystem::path& path);
  void on_notes(std::function<void(const std::string&)> tell) { tell_notes_ = std::move(tell); }

  void toggle();
  void start(const std::string& id);
  /// Throws Error where the file is no lesson.
  void show(const std::filesystem::path& path, std::size_t card = 0);
  void go_on();
  void go_back();

  /// Called once a frame, after input: counts what is done on the open card.
  void observe(std::vector<Query>& queries);
  /// Takes what the card points at, and looks whether its file has changed.
  void begin_frame() override;
  double redraw_after_s() const override;
  /// Draws the panel into the current pane.
  void draw(Frame& frame);
  /// Outlines what the card points at; `control`: where it, or the chip that opens its panel, was drawn. `is_there`: it is
  /// among the controls.
  void draw_aim(std::optional<chart::Rect> control, bool is_there);

 private:
  /// Reads the files, once.
  void read();
  /// Makes room for the panel.
  void show_panel();
  void play(std::size_t index, bool restarts);
  void reopen();
  /// Changes the state as `change` does, which returns one line where it can't.
  template <typename Change>
  void change(Change&& change);
  /// Called after a change by the lesson; `trouble` is the reason why it couldn't be made. `opening`:
  /// LessonPlayer::openings() before.
  void follow_card(const std::string& trouble, std::uint64_t opening);
  /// Does what happens once when a card is opened: its notes are printed.
  void begin_card();
  void point();
  void take(const LessonChoice& choice);
  /// Writes the player's answers since the last call.
  void write_answers();
  /// Takes the digits that paint the cell that has the keyboard.
  void paint_by_keys();

  static constexpr double kLook_s = 0.5;  ///< between two looks at the time of the open lesson's file
  static constexpr int kAimFrames = 3;    ///< until what a card points at is scrolled to
  LessonPlayer player_;
  LessonPanelMemory memory_;
  bool has_read_lessons_ = false;
  LessonResults results_;
  double next_look_s_ = 0.0;
  int aim_frames_ = 0;           ///< of kAimFrames, that are left since a card was opened
  bool is_card_folded_ = false;  ///< while presenting
  std::function<void(const std::string&)> tell_notes_;
};

}  // namespace headlight::app
