#pragma once

#include "app/commands/flags.h"

namespace headlight::app {

/// Translates lines with an encoder–decoder.
Command add_translate_command(CLI::App& app);

}  // namespace headlight::app
