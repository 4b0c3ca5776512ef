#pragma once

#include "app/commands/flags.h"

namespace headlight::app {

/// `headlight tokenize`: lines of text → one JSON object a line.
Command add_tokenize_command(CLI::App& app);
/// `headlight detokenize`: lines of ids → one text a line.
Command add_detokenize_command(CLI::App& app);

}  // namespace headlight::app
