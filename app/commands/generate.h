#pragma once

#include "app/commands/flags.h"

namespace headlight::app {

/// Continues lines with a decoder-only model.
Command add_generate_command(CLI::App& app);

}  // namespace headlight::app
