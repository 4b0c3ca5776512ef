#pragma once

#include "app/commands/flags.h"

namespace headlight::app {

/// headlight evaluate perplexity: how likely a model finds texts.
Command add_evaluate_perplexity_command(CLI::App& evaluate);

}  // namespace headlight::app
