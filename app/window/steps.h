#pragma once

#include <future>

#include "app/commands/command_host.h"
#include "app/data/checkpoints/checkpoint_room.h"
#include "app/data/link/saved_steps.h"
#include "app/window/desk.h"

namespace headlight::app {

/// The steps of a training, in a panel of a chip: checkpoints of the model on show, captures that a program sends over a
/// link, or those of a file. The slider chooses which one the whole window shows.
class Steps final : public Feature {
 public:
  using LinkSource = std::function<std::shared_ptr<const LinkSnapshot>()>;

  Steps(Desk& desk, CheckpointRoom& room) : Feature(desk), room_(room) {}

  /// Follows a live link; `link` returns what has come over it so far. A new program's captures are shown, and the newest
  /// while the user follows them.
  void follow(LinkSource link) { link_ = std::move(link); }
  /// Reads a file of steps in the background and shows the last one.
  void open(const std::filesystem::path& file);
  /// Writes all steps of the link, or of the file that is open, in the background.
  void save(const std::filesystem::path& file);

  bool can(StepCommand command) const;
  /// Runs any command but Save, which needs a file's name.
  void run(StepCommand command);

  void begin_frame() override;
  FeatureChip chip(const Frame& frame) override;
  void panel(Frame& frame) override;
  std::string pending() const override;
  double redraw_after_s() const override;

 private:
  /// Returns the link or the file that the capture on show is a step of; null: neither.
  std::shared_ptr<const LinkSnapshot> shown_link() const;
  void follow_link();
  void take_jobs();
  void update_series();
  void play();
  /// Returns the place of the step on show in the series; none: there is none.
  std::optional<std::size_t> shown() const;
  void show(std::size_t index);
  void show_step(const LinkedStep& step);
  void draw_scalars(Frame& frame, std::optional<std::int64_t> step);
  std::size_t draw_slider(Frame& frame, Form& form, std::size_t shown);
  void draw_notes(Form& form) const;

  CheckpointRoom& room_;
  LinkSource link_;
  std::shared_ptr<const LinkSnapshot> linked_;   ///< of this frame
  std::shared_ptr<const SavedSteps> saved_;      ///< of the file that was opened last
  std::shared_ptr<const LinkSnapshot> adopted_;  ///< what the room's series was made of
  std::future<std::shared_ptr<const SavedSteps>> opening_;
  std::filesystem::path opened_;     ///< the file that opening_ reads, or has read
  std::future<std::string> saving_;  ///< what to say
  std::uint64_t shown_session_ = 0;  ///< whose first capture was shown
  std::int64_t shown_step_ = 0;
  bool follows_newest_ = true, is_playing_ = false;
  double next_s_ = 0.0;          ///< when Play may go on
  std::uint64_t played_id_ = 0;  ///< the step of the history that Play has made
};

}  // namespace headlight::app
