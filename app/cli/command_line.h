#pragma once

namespace headlight::app {

/// What main() does: reads the command line, runs the command, and turns every error into one line on standard error that
/// begins with "headlight: ". Returns 0, 1 when something failed, 2 when the command line is wrong.
int run_command_line(int argc, char** argv);

}  // namespace headlight::app
