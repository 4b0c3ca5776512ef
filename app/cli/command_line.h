#pragma once

namespace headlight::app {

/// Called by main(): reads the command line, runs the command, and reports every error as one line on standard error that
/// begins with "headlight: ". Returns 0, 1 when something failed, 2 when the command line is wrong.
int run_command_line(int argc, char** argv);

}  // namespace headlight::app
