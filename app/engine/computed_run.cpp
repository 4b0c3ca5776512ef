#include "app/engine/computed_run.h"

#include <utility>

#include "app/state/run_interventions.h"
#include "capture/captured_run.h"

namespace headlight::app {

std::shared_ptr<const inference::Run> Runner::run_capture(std::shared_ptr<const capture::CaptureFile> file) {
  return std::make_shared<const capture::CapturedRun>(std::move(file));
}

std::shared_ptr<const inference::Run> compute_run(Runner& runner, const RunSource::Source& source, const RunInputs& inputs,
                                                  std::shared_ptr<const inference::Run>&& base) {
  if (source.capture) {
    base.reset();
    return runner.run_capture(source.capture);
  }
  if (dynamic_cast<const capture::CapturedRun*>(base.get()) != nullptr) base.reset();
  return runner.run({.network = source.network,
                     .input = *source.input,
                     .masks = inputs.masks,
                     .interventions = interventions_of(inputs, *source.network)},
                    std::move(base));
}

}  // namespace headlight::app
