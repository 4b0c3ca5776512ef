#pragma once

#include <string>

#include "app/cli/command_text.h"

namespace headlight::app {

/// "headlight-evaluate-bleu" of the command "headlight evaluate bleu".
std::string man_page_name(const CommandText& command);
/// The manual page of one command in section 1, in the language of man(7).
std::string man_page(const CommandText& command, const std::string& version);

}  // namespace headlight::app
