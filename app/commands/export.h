#pragma once

#include "app/commands/flags.h"

namespace headlight::app {

/// headlight export: figures and numbers of every stage as files.
Command add_export_command(CLI::App& app);

}  // namespace headlight::app
