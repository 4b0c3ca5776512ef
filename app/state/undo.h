#pragma once

#include <cstddef>
#include <deque>

#include "app/state/state.h"

namespace headlight::app {

/// Limits of the history; the oldest steps are dropped first. The current step and named ones are always kept.
struct UndoLimits {
  std::size_t steps = 500;
  std::size_t bytes = std::size_t{64} << 20;
  double merge_seconds = 1.0;  ///< changes of one kind at most this far apart are one step
};

inline constexpr std::size_t kMaxNamedSteps = 64;

/// A step of the history as a list shows it; refers to the history, which must not change meanwhile.
struct HistoryStep {
  std::uint64_t id = 0;
  const State* state = nullptr;
  const std::string* label = nullptr;  ///< the change that led here; empty for the beginning
  bool is_shown = false;               ///< the step whose state the window shows
  bool is_undone = false;              ///< redo, or of a kept one go_to(), brings it back
  const std::string* name = nullptr;   ///< that the user gave it; empty: none
};

/// The history of what changes a State's numbers; looks (app/state/looks.h) are no steps. Panels just change the State; once
/// a frame the app calls observe(), which compares and records, so that no change of the user is missed.
///
/// Changes of the same kind (describe_change) become one step while a gesture lasts (a mouse button is held: a slider's
/// drag, painted cells) or while they follow each other quickly (typing, arrow keys).
class Undo {
 public:
  explicit Undo(State initial, UndoLimits limits = {});

  /// Records `state` when it differs from the last one; `now_s` is any steady clock. Returns whether anything changed.
  /// Looks are kept by the shown step, unless it has a name. A change after undo() drops what could be redone, but for named
  /// steps, which are kept aside.
  bool observe(const State& state, double now_s, bool in_gesture);

  /// Adopts a change that the user didn't make (a selection clamped to a new run) into the current step: nothing to undo.
  void adopt(const State& state);

  /// Lets the next change start a new step, however quickly it follows.
  void seal();

  bool can_undo() const { return position_ > 0; }
  bool can_redo() const { return position_ + 1 < steps_.size(); }
  /// Returns the change that undo() / redo() would apply ("Edit text"); empty when there is none.
  std::string undo_label() const;
  std::string redo_label() const;

  /// Returns the state to show from now on. Its looks are those of the shown one, unless the change came with others (an
  /// opened session, a clamped selection) and the user has looked nowhere else since. Without anything to undo or redo: the
  /// shown state.
  const State& undo();
  const State& redo();

  /// Returns all steps in their order, then named ones that are kept aside.
  std::vector<HistoryStep> history() const;
  /// Returns the state of a step, to show from now on, a named one with its own looks; one that is kept aside becomes the
  /// step after the shown one. An unknown id gives the shown state.
  const State& go_to(std::uint64_t id);

  /// Gives a step a name, which it keeps: named steps outlive the limits, and a later change never becomes one with them. An
  /// empty name takes it away. At most kMaxNamedSteps steps have one.
  void name_step(std::uint64_t id, std::string name);
  /// Return the id and the name of the shown step.
  std::uint64_t shown_id() const { return steps_[position_].id; }
  const std::string& shown_name() const { return steps_[position_].name; }

  /// Returns the number of steps without those kept aside.
  std::size_t step_count() const { return steps_.size(); }
  /// The number of steps before the shown one.
  std::size_t position() const { return position_; }
  /// Returns the approximate memory of all steps; what neighbouring steps share counts once.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Step {
    State state;
    std::string label;      ///< the change from the previous step
    std::size_t bytes = 0;  ///< that the step before doesn't share
    std::uint64_t id = 0;
    std::string name = {};
    bool has_looks = false;  ///< the change came with other looks
  };
  /// Returns a step's state, which is shown from now on.
  const State& show(std::size_t position, bool has_own_looks);
  void trim();
  void append(Step step);
  /// Drops the steps after the shown one, or keeps them aside.
  void drop_undone();
  void drop_last();
  /// Counts the bytes of a step, which is new or whose predecessor changed.
  void count(std::size_t index);

  UndoLimits limits_;
  State shown_;              ///< steps_[position_].state, with other looks where it has a name
  std::deque<Step> steps_;   ///< steps_[position_] is shown
  std::vector<Step> aside_;  ///< named ones that were undone when something else changed
  std::size_t position_ = 0;
  std::uint64_t last_id_ = 0;
  std::size_t bytes_ = 0;  ///< of steps_ and aside_
  double last_change_s_ = 0.0;
  bool gesture_is_open_ = false;  ///< the last change was inside a gesture that still lasts
  bool is_sealed_ = true;
  bool looked_elsewhere_ = false;  ///< by the user, since the shown step began
};

}  // namespace headlight::app
