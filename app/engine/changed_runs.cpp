#include "app/engine/changed_runs.h"

#include <algorithm>

#include "core/error.h"
#include "inference/aligned_run.h"

namespace headlight::app {

template <typename Compute>
std::shared_ptr<const inference::Run> ChangedRuns::watched(const Compute& compute) {
  is_computing_ = true;
  try {
    std::shared_ptr<const inference::Run> run = compute();
    is_computing_ = false;
    return run;
  } catch (...) {
    is_computing_ = false;
    throw;
  }
}

std::shared_ptr<const inference::Run> ChangedRuns::run_alone(Runner& runner, const PassBases& bases, WhichRun of,
                                                             const inference::Interventions& changes) {
  const auto aligned = std::dynamic_pointer_cast<const inference::AlignedRun>(bases.of(of));
  // A second handle: the run on screen, and the one that it is compared with, stay as they are.
  std::shared_ptr<const inference::Run> base = aligned ? bases.baseline_itself : bases.of(of);
  inference::PassInputs pass = base->inputs();
  const inference::Interventions own = aligned ? aligned->own(changes) : changes;
  pass.interventions.insert(pass.interventions.end(), own.begin(), own.end());
  std::shared_ptr<const inference::Run> run = watched([&] { return runner.run(std::move(pass), std::move(base)); });
  return aligned ? aligned->of_changed(std::move(run)) : run;
}

std::shared_ptr<const inference::Run> ChangedRuns::run_copies(Runner& runner, const PassBases& bases, WhichRun of,
                                                              std::uint32_t line,
                                                              std::span<const inference::Interventions> passes) {
  const std::shared_ptr<const inference::Run> base = bases.of(of);
  const auto aligned = std::dynamic_pointer_cast<const inference::AlignedRun>(base);
  if (!aligned) return watched([&] { return runner.run_copies(*base, line, passes); });
  std::vector<inference::Interventions> own;
  for (const inference::Interventions& changes : passes) own.push_back(aligned->own(changes));
  std::shared_ptr<const inference::Run> run = watched([&] { return runner.run_copies(*bases.baseline_itself, line, own); });
  return run ? aligned->of_changed(std::move(run), line) : nullptr;
}

ChangedPasses ChangedRuns::compute(Runner& runner, const PassBases& bases, const Reads& reads, std::uint32_t line,
                                   std::size_t most) {
  const WhichRun of = reads.of;
  const std::span<const inference::Interventions> passes = reads.passes;
  const bool is_known = changed_.computed.run && changed_.own == reads.own_pass && changed_.of == of &&
                        (reads.own_pass || changed_.line == line) && std::ranges::equal(changed_.passes, passes);
  if (is_known) return changed_.computed;
  changed_ = {};
  if (reads.own_pass) {
    std::shared_ptr<const inference::Run> run = watched([&] { return runner.run(*reads.own_pass, nullptr); });
    changed_ = {.of = of, .line = line, .own = reads.own_pass, .computed = {.run = std::move(run)}};
    return changed_.computed;
  }
  const inference::PassInputs& inputs = bases.run->inputs();
  const model::Layers& network = *inputs.network->layers;
  copies_.begin({.layers = &network,
                 .tokens = std::max(inputs.input.source.length, inputs.input.target ? inputs.input.target->length : 0)});
  ChangedPasses computed{.run = nullptr, .count = copies_.next(std::min(most, passes.size()))};
  const bool has_lines = inputs.input.source.batch > 1;  // one pass of one line is cheaper than one of all
  computed.is_of_copies = has_lines || computed.count > 1;
  while (computed.is_of_copies && !computed.run) {
    try {
      computed.run = run_copies(runner, bases, of, line, passes.first(computed.count));
      refuses_copies_ = !computed.run;
      if (computed.run) break;
      copies_.limit(computed.count = 1);
      computed.is_of_copies = false;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::OutOfDeviceMemory) throw;
      computed.is_of_copies = computed.count > 2 || (has_lines && computed.count == 2);
      copies_.limit(computed.count = std::max<std::size_t>(computed.count / 2, 1));
    }
  }
  if (!computed.run) computed.run = run_alone(runner, bases, of, passes.front());
  const std::size_t layers = network.encoder.size() + network.decoder.size();
  const std::size_t reused = std::min<std::size_t>(computed.run->timing().reused_layers, layers);
  copies_.measured(computed.count, computed.run->timing().wall_ms, layers - reused);
  changed_ = {.of = of, .line = line, .passes = {passes.begin(), passes.end()}, .computed = computed};
  return computed;
}

}  // namespace headlight::app
