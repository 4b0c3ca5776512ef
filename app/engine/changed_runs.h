#pragma once

#include "app/engine/copy_count.h"
#include "app/engine/query_queue.h"
#include "app/engine/runner.h"

namespace headlight::app {

/// Passes with changes that analyses ask for: one at a time, or several of one line together, as many as are fastest.
class ChangedRuns {
 public:
  /// The first of Reads::passes, each of one of the bases with one of these lists of interventions after its own; of a base
  /// with several lines, of `line` alone where that can be; or Reads::own_pass. Kept until others are asked for. Throws what
  /// Runner::run throws.
  ChangedPasses compute(Runner& runner, const PassBases& bases, const Reads& reads, std::uint32_t line, std::size_t most);
  /// Is a pass under way?
  bool is_computing() const { return is_computing_; }
  /// Did the runner have no pass of copies the last time that it was asked for one?
  bool refuses_copies() const { return refuses_copies_; }
  void clear() { changed_ = {}; }
  void forget_baseline() {
    if (changed_.of != WhichRun::Newest) clear();
  }

 private:
  template <typename Compute>
  std::shared_ptr<const inference::Run> watched(const Compute& compute);
  std::shared_ptr<const inference::Run> run_alone(Runner& runner, const PassBases& bases, WhichRun of,
                                                  const inference::Interventions& changes);
  /// Null where they can't be one pass.
  std::shared_ptr<const inference::Run> run_copies(Runner& runner, const PassBases& bases, WhichRun of, std::uint32_t line,
                                                   std::span<const inference::Interventions> passes);

  bool is_computing_ = false, refuses_copies_ = false;
  struct {
    WhichRun of = WhichRun::Newest;
    std::uint32_t line = 0;
    std::vector<inference::Interventions> passes = {};  ///< that were asked for
    std::shared_ptr<const inference::PassInputs> own = {};
    ChangedPasses computed = {};  ///< without a run: nothing was asked of a changed pass
  } changed_;
  CopyCount copies_;  ///< of passes that are computed together
};

}  // namespace headlight::app
