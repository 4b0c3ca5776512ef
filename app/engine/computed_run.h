#pragma once

#include <memory>

#include "app/engine/run_source.h"
#include "app/engine/runner.h"

namespace headlight::app {

/// The run of a source: a pass of its network on the runner's device, or a capture's numbers (Runner::run_capture). The
/// caller gives `base` away, as to Session::run; one that isn't a run of this runner is no base.
std::shared_ptr<const inference::Run> compute_run(Runner& runner, const RunSource::Source& source, const RunInputs& inputs,
                                                  std::shared_ptr<const inference::Run>&& base);

}  // namespace headlight::app
