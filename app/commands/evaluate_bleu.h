#pragma once

#include "app/commands/flags.h"

namespace headlight::app {

/// headlight evaluate bleu: how near translations come to those of people.
Command add_evaluate_bleu_command(CLI::App& evaluate);

}  // namespace headlight::app
