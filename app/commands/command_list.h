#pragma once

#include "app/commands/command.h"

namespace headlight::app {

/// Returns every command, group by group in the order of the list under F1.
std::span<const Command> commands();

/// Returns the command with this id. Throws Error when there is none.
const Command& find_command(std::string_view id);

}  // namespace headlight::app
