#pragma once

#include "app/commands/flags.h"

namespace headlight::app {

/// headlight screenshot: the window as an image, without a display.
Command add_screenshot_command(CLI::App& app);

}  // namespace headlight::app
