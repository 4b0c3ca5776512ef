#pragma once

#include "app/commands/flags.h"

namespace headlight::app {

/// headlight devices: every Vulkan device of the machine, and what it lacks.
Command add_devices_command(CLI::App& app);

}  // namespace headlight::app
