#pragma once

#include "app/cli/export_flags.h"
#include "app/engine/runner.h"

namespace headlight::app {

/// Exports every line of a file or of standard input into a folder of its own, as docs/EXPORT.md describes it, and goes on
/// where an earlier call with the same flags was interrupted. `state`: what the flags say, without a text. Returns the exit
/// status; throws Error naming the line.
int export_texts(Runner& runner, const ExportFlags& flags, const ExportOptions& options, const State& state);

}  // namespace headlight::app
