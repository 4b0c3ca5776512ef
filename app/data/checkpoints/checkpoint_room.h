#pragma once

#include <future>

#include "app/data/checkpoints/step_meter.h"
#include "app/engine/engine.h"
#include "app/engine/kept_answers.h"

namespace headlight::app {

/// The steps of the training that is on show, found in the background, and what was measured of them. All functions are the
/// window's thread's; none waits but wait() and the destructor.
class CheckpointRoom {
 public:
  /// `wake`: called from other threads when there is news; may be empty.
  CheckpointRoom(Engine& engine, std::shared_ptr<ModelCache> models, std::function<void()> wake)
      : engine_(engine), models_(std::move(models)), wake_(std::move(wake)) {}

  /// Once a frame: begins to look for the checkpoints of a model where it is none of the series, every few seconds whether
  /// there are new ones, and takes what was found. Returns whether that is another series.
  bool look(const std::string& model, double now_s);
  /// Steps of a live link. Returns whether they are others than before.
  bool adopt(StepSeries series);
  /// Looks for checkpoints again at once.
  void look_again() { looked_s_ = -1e9; }
  const StepSeries& series() const { return *series_; }
  bool is_looking() const { return looking_.valid(); }
  /// Seconds until look() has something to do.
  double wait_s(double now_s) const;

  /// Asks for the numbers of all steps, the nearest to the shown one first; not while it is paused.
  void measure(const StepQuestion& question, std::size_t shown);
  /// The numbers are off screen: the measurement under way is given up.
  void rest() { measured_.rest(); }
  /// Null: not yet.
  const StepNumbers* numbers(std::size_t step) const;
  std::size_t measured() const;
  /// "1 of 5 steps couldn’t be measured: checkpoint-10: …", or the series' trouble; empty: there is none so far.
  std::string failure() const;
  bool is_measuring() const { return measured_.is_busy(); }
  bool is_paused = false;

  /// Asks the window to show a step; it takes that once.
  void show(std::size_t step) { asked_ = step; }
  std::optional<std::size_t> take_asked() { return std::exchange(asked_, std::nullopt); }

  /// Until nothing is looked for (tests, screenshots).
  void wait() const {
    if (looking_.valid()) looking_.wait();
  }

 private:
  Engine& engine_;
  std::shared_ptr<ModelCache> models_;
  std::function<void()> wake_;
  std::string model_;  ///< for which series_ was found
  std::shared_ptr<const StepSeries> series_ = std::make_shared<const StepSeries>();
  std::future<StepSeries> looking_;
  double looked_s_ = 0.0;
  std::optional<std::size_t> asked_;
  KeptAnswers<StepQuestion, StepsMeasured> measured_{8};
  std::shared_ptr<const StepsMeasured> numbers_ = std::make_shared<const StepsMeasured>();
  std::shared_ptr<const StepSeries> asked_series_;  ///< that the task measures
  std::shared_ptr<std::atomic<std::size_t>> shown_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace headlight::app
