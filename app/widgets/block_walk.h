#pragma once

#include <cstddef>

namespace headlight::app {

/// The walk through the steps of a layer: a position from 0 to the number of steps. Step i is being made while the position
/// is between i and i + 1; steps before it are done.
class BlockWalk {
 public:
  explicit BlockWalk(std::size_t steps = 0) { set_steps(steps); }

  /// Sets the number of steps; another number ends the walk.
  void set_steps(std::size_t steps);
  std::size_t steps() const { return steps_; }

  float position() const { return position_; }
  bool is_playing() const { return is_playing_; }
  /// Is the whole layer shown as done?
  bool is_at_end() const { return position_ >= static_cast<float>(steps_); }
  /// Returns the step that is being made; at the end the last one.
  std::size_t step() const;
  /// Returns the part of the step that is done, 0 … 1.
  float part() const;
  bool is_done(std::size_t step) const { return static_cast<float>(step + 1) <= position_; }

  /// Starts over from the end.
  void play();
  void pause() { is_playing_ = false; }
  /// Goes to a position, and pauses.
  void scrub(float position);
  /// Goes to the end.
  void skip();
  /// Goes one step on or back, to its end, and pauses.
  void go(int steps);
  /// Lets time pass while it plays: `speed` steps a second and a half. Without motion each step is made at once and shown
  /// for its time.
  void advance(float seconds, float speed);

  inline static constexpr float kStepSeconds = 1.5F;  ///< of a step at speed 1

 private:
  std::size_t steps_ = 0;
  float position_ = 0.0F;
  bool is_playing_ = false;
};

/// Returns 3t² − 2t³, which is slow at both ends.
float ease(float part);

}  // namespace headlight::app
