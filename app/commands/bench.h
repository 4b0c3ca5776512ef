#pragma once

#include "app/commands/flags.h"

namespace headlight::app {

/// headlight bench: what each operation and a whole pass cost on a device.
Command add_bench_command(CLI::App& app);

}  // namespace headlight::app
