#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "app/analyses/head_metrics.h"
#include "app/checkpoints/step_series.h"
#include "app/engine/runner.h"

namespace headlight::app {

/// What is measured of every step: the same text, masks and changes, by other weights.
struct StepQuestion {
  RunInputs inputs;  ///< of any step of the series
  model::BlockKind kind = {};
  std::uint32_t batch = 0;

  bool operator==(const StepQuestion&) const = default;
};

/// What was measured of one step.
struct StepNumbers {
  std::map<HeadRef, evaluation::HeadMetrics> heads = {};
  std::optional<double> loss = {};  ///< mean over the line's tokens of −ln p(token | tokens before it), nats; none: no LM
  std::optional<double> in_context = {};  ///< in_context_score() of the line
  std::string error = {};                 ///< one line: why there are none
};

/// Whose losses in_context_score() subtracts in a text of so many tokens, in words.
std::string in_context_words(std::size_t tokens);

/// Measures one step: computes its run and reads it. Throws Error in one line; of kind Cancelled where `goes_on` says no.
StepNumbers measure_step(Runner& runner, const std::shared_ptr<ModelCache>& models, const StepQuestion& question,
                         const SeriesStep& step, const std::function<bool()>& goes_on);

/// Measures steps one after the other on a thread with a runner of its own, so that the user's weights stay on the device.
/// What was measured is kept by question, path and time of the files. All functions are the window's thread's.
class StepMeter {
 public:
  using Numbers = std::map<std::pair<std::string, std::int64_t>, std::shared_ptr<const StepNumbers>>;  ///< path, stamp

  /// `wake`: called from the thread after each step; may be empty.
  StepMeter(RunnerFactory open, std::shared_ptr<ModelCache> models, std::function<void()> wake);
  /// Ends the thread, within one pass.
  ~StepMeter();
  StepMeter(const StepMeter&) = delete;
  StepMeter& operator=(const StepMeter&) = delete;

  /// From now on these steps are measured in this order, on this device; empty: none, what is under way is given up.
  void want(const StepQuestion& question, std::vector<SeriesStep> steps, const std::string& device);
  /// Of the newest question.
  std::shared_ptr<const Numbers> numbers() const;
  /// Has it something to measure?
  bool is_busy() const;
  /// Until it hasn't (tests, screenshots).
  void wait() const;

 private:
  struct Known {
    StepQuestion question;
    std::shared_ptr<const Numbers> numbers;
  };
  void work();
  /// The first wanted step that isn't measured; null: there is none.
  const SeriesStep* next() const;

  RunnerFactory open_;
  std::shared_ptr<ModelCache> models_;
  std::function<void()> wake_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Known> known_;  ///< of the newest question first, a few; never empty once one was asked
  std::vector<SeriesStep> steps_;
  std::string device_;
  std::uint64_t order_ = 0;  ///< counts questions, and devices
  bool stops_ = false;
  std::thread thread_;  ///< begun by the first question
};

}  // namespace headlight::app
