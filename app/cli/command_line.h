#pragma once

#include <functional>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): its name in CLI11
class App;
}

namespace headlight::app {

/// Called by main(): reads the command line, runs the command, and reports every error as one line on standard error that
/// begins with "headlight: ". Returns 0, 1 when something failed, 2 when the command line is wrong.
int run_command_line(int argc, char** argv);

/// A program of one command.
struct SingleCommand {
  std::string name, description, footer;
  /// Adds its flags; returns the command's action once they are read, whose result is the exit status.
  std::function<std::function<int()>(CLI::App&)> add;
};
/// Runs such a program as run_command_line() does; its errors begin with its name.
int run_single_command(const SingleCommand& program, int argc, char** argv);

/// Calls `use` with all commands and flags of headlight or of such a program, as --help has them; runs none.
void show_commands(const std::function<void(const CLI::App&)>& use);
void show_commands(const SingleCommand& program, const std::function<void(const CLI::App&)>& use);

}  // namespace headlight::app
