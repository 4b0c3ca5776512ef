#pragma once

#include "app/commands/flags.h"

namespace headlight::app {

/// headlight evaluate bleu|perplexity|heads: figures of a model over whole files.
Command add_evaluate_command(CLI::App& app);

}  // namespace headlight::app
