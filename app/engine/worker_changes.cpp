// Passes with changes that analyses ask for: one at a time, or several of one text together.
#include <algorithm>

#include "app/engine/engine_worker.h"
#include "core/error.h"
#include "inference/aligned_run.h"

namespace headlight::app {

std::shared_ptr<const inference::Run> EngineWorker::run_of(WhichRun of) const {
  if (of == WhichRun::Newest) return run_;
  return of == WhichRun::Baseline ? compared_.run() : compared_.itself();
}

template <typename Compute>
std::shared_ptr<const inference::Run> EngineWorker::compute_changes(const Compute& compute) {
  computes_changes_ = true;
  try {
    std::shared_ptr<const inference::Run> run = compute();
    computes_changes_ = false;
    return run;
  } catch (...) {
    computes_changes_ = false;
    throw;
  }
}

std::shared_ptr<const inference::Run> EngineWorker::run_alone(WhichRun of, const inference::Interventions& changes) {
  const auto aligned = std::dynamic_pointer_cast<const inference::AlignedRun>(run_of(of));
  // A second handle: the run on screen, and the one that it is compared with, stay as they are.
  std::shared_ptr<const inference::Run> base = aligned ? compared_.itself() : run_of(of);
  inference::PassInputs pass = base->inputs();
  const inference::Interventions own = aligned ? aligned->own(changes) : changes;
  pass.interventions.insert(pass.interventions.end(), own.begin(), own.end());
  std::shared_ptr<const inference::Run> run =
      compute_changes([&] { return runner_->run(std::move(pass), std::move(base)); });
  return aligned ? aligned->of_changed(std::move(run)) : run;
}

std::shared_ptr<const inference::Run> EngineWorker::run_copies(WhichRun of, std::uint32_t line,
                                                               std::span<const inference::Interventions> passes) {
  const auto aligned = std::dynamic_pointer_cast<const inference::AlignedRun>(run_of(of));
  if (!aligned) return compute_changes([&] { return runner_->run_copies(*run_of(of), line, passes); });
  std::vector<inference::Interventions> own;
  for (const inference::Interventions& changes : passes) own.push_back(aligned->own(changes));
  std::shared_ptr<const inference::Run> run =
      compute_changes([&] { return runner_->run_copies(*compared_.itself(), line, own); });
  return run ? aligned->of_changed(std::move(run), line) : nullptr;
}

ChangedPasses EngineWorker::changed_passes(WhichRun of, std::uint32_t line, std::span<const inference::Interventions> passes,
                                           std::size_t most) {
  const bool is_known = changed_.run && changed_.of == of && std::ranges::equal(changed_.passes, passes);
  if (is_known) return {.run = changed_.run, .count = changed_.count};
  changed_ = {};
  const model::ModelInput& input = *result_.input;
  copies_.begin({.layers = result_.network->layers.get(),
                 .tokens = std::max(input.source.length, input.target ? input.target->length : 0)});
  std::size_t count = copies_.next(std::min(most, passes.size()));
  std::shared_ptr<const inference::Run> run;
  while (count > 1 && !run) {
    try {
      run = run_copies(of, line, passes.first(count));
      if (!run) copies_.limit(count = 1);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::OutOfDeviceMemory) throw;
      copies_.limit(count /= 2);
    }
  }
  if (!run) run = run_alone(of, passes.front());
  const std::size_t layers = result_.network->layers->encoder.size() + result_.network->layers->decoder.size();
  const std::size_t computed = layers - std::min<std::size_t>(run->timing().reused_layers, layers);
  copies_.measured(count, run->timing().wall_ms, computed);
  changed_ = {.of = of, .passes = {passes.begin(), passes.end()}, .count = count, .run = std::move(run)};
  return {.run = changed_.run, .count = count};
}

}  // namespace headlight::app
