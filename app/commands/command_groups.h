#pragma once

#include "app/commands/command.h"

namespace headlight::app {

// One table a file. commands() joins them in the order of command_list.cpp and keeps them.
std::vector<Command> move_commands();
std::vector<Command> mask_commands();
std::vector<Command> head_commands();
std::vector<Command> compare_commands();
std::vector<Command> edit_commands();
std::vector<Command> file_commands();
std::vector<Command> view_commands();
std::vector<Command> map_commands();
std::vector<Command> search_commands();
std::vector<Command> find_commands();
std::vector<Command> generation_commands();
std::vector<Command> help_commands();

}  // namespace headlight::app
