#pragma once

#include "app/commands/flags.h"

namespace headlight::app {

/// `headlight info`: what a model's files hold and what it takes to run it.
Command add_info_command(CLI::App& app);
/// `headlight models`: the models on this computer.
Command add_models_command(CLI::App& app);

}  // namespace headlight::app
