#pragma once

#include "app/engine/run_source.h"
#include "app/engine/runner.h"
#include "app/state/state.h"
#include "inference/counterparts.h"
#include "inference/run.h"

namespace headlight::app {

/// The run `other` of the inputs `wanted` by the token positions of the newest run (inference::aligned_to); one of a capture
/// as it is.
std::shared_ptr<const inference::Run> by_positions_of(const RunInputs& newest, const inference::Run& run,
                                                      const RunInputs& wanted, std::shared_ptr<const inference::Run> other);

/// The run that differences are taken from. It is computed when it is asked for, or taken over while the newest run has its
/// inputs, and stays the same while the newest run changes.
class ComparedRun {
 public:
  /// What it is compared with.
  struct Newest {
    const RunInputs& inputs;
    const RunSource& source;
    std::shared_ptr<const inference::Run> run;
  };

  /// Brings it up to date with what is wanted (nullopt: nothing) and with the newest run. An Error that isn't a lost device
  /// becomes the refusal; a lost device is thrown.
  void update(const std::optional<RunInputs>& wanted, const Newest& newest, Runner& runner);

  /// By the newest run's token positions (AlignedRun) where its own text has other ones. Null where there is none, or none
  /// that can be compared.
  std::shared_ptr<const inference::Run> run() const { return refusal_.empty() ? aligned_ : nullptr; }
  /// The same run by its own positions.
  std::shared_ptr<const inference::Run> itself() const { return refusal_.empty() ? run_ : nullptr; }
  /// Which of the newest run's tokens are which of its own; null: those of the same positions.
  std::shared_ptr<const inference::InputCounterparts> pairs() const;
  /// Of that run.
  const RunInputs& inputs() const { return inputs_; }
  /// Its tokens, without vectors; null where there is no run.
  std::shared_ptr<const model::ModelInput> tokens();
  /// The same by the newest run's positions.
  std::shared_ptr<const model::ModelInput> aligned_tokens();
  /// Why there is none although one is wanted, in one line; else empty.
  const std::string& refusal() const { return refusal_; }
  /// Counts the runs that it has been.
  std::uint64_t number() const { return number_; }
  void clear();

 private:
  void compute(const RunInputs& wanted, const Newest& newest, Runner& runner);

  RunInputs inputs_;  ///< of run_, or of what failed
  std::shared_ptr<const inference::Run> run_;
  std::shared_ptr<const inference::Run> aligned_;    ///< run_ by the newest run's positions
  std::shared_ptr<const model::ModelInput> tokens_;  ///< of run number `tokens_number_`
  std::uint64_t tokens_number_ = 0;
  std::string failure_;  ///< of computing it from inputs_; not tried again
  std::string refusal_;
  std::uint64_t number_ = 0;
};

}  // namespace headlight::app
