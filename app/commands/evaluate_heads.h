#pragma once

#include "app/commands/flags.h"

namespace headlight::app {

/// headlight evaluate heads: which head looks at the token before, at the same token, or at what followed it.
Command add_evaluate_heads_command(CLI::App& evaluate);

}  // namespace headlight::app
