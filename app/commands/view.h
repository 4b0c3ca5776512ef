#pragma once

#include "app/commands/flags.h"

namespace headlight::app {

/// headlight view, also what `headlight` alone means: the window.
Command add_view_command(CLI::App& app);

}  // namespace headlight::app
