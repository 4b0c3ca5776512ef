#pragma once

#include <string>

#include "app/cli/command_text.h"

namespace headlight::app {

/// Scripts that make a shell complete commands, flags, their choices and files. `program` is the whole of it.
std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);
std::string fish_completion(const CommandText& program);

}  // namespace headlight::app
