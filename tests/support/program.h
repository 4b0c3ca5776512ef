#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include "core/file.h"
#include "support/temporary_directory.h"

namespace headlight {

/// The results of a program.
struct Outcome {
  int status = -1;  ///< exit status; 128 and more: killed by a signal
  std::string out;
  std::string err;
};

/// Runs the real program with these arguments, its settings in a folder of their own. `prefix` comes before it in the
/// shell's line: variables, or another program. `input` is its standard input. `program`: `headlight`, or one beside it.
inline Outcome run_headlight(const std::vector<std::string>& arguments, const std::string& prefix = "",
                             const std::string& input = "", const std::string& program = HEADLIGHT_PROGRAM) {
  const TemporaryDirectory directory;
  write_file_atomically(directory.path() / "in", input);
  const std::string base = directory.path().string();
  std::string line = "XDG_CONFIG_HOME=" + base + "/config XDG_CACHE_HOME=" + base + "/cache XDG_STATE_HOME=" + base +
                     "/state " + prefix + " '" + program + "'";
  for (const std::string& argument : arguments) {
    std::string quoted;
    for (const char letter : argument) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    line += " '" + quoted + "'";
  }
  line += " >'" + base + "/out' 2>'" + base + "/err' <'" + base + "/in'";
  const int status = std::system(line.c_str());
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128,
          .out = read_file(directory.path() / "out"),
          .err = read_file(directory.path() / "err")};
}

/// The one line on standard error of a program that failed with this status, without "headlight: ".
inline std::string complaint_of(const Outcome& outcome, int status) {
  INFO(outcome.err);
  CHECK(outcome.status == status);
  REQUIRE(outcome.err.starts_with("headlight: "));
  REQUIRE(outcome.err.find('\n') == outcome.err.size() - 1);
  return outcome.err.substr(11, outcome.err.size() - 12);
}

/// The one line on standard error of a command that fails with this status, after it has written `expected_out`.
inline std::string complaint(const std::vector<std::string>& arguments, int status, const std::string& input = "",
                             const std::string& expected_out = "") {
  const Outcome outcome = run_headlight(arguments, "", input);
  CHECK(outcome.out == expected_out);
  return complaint_of(outcome, status);
}

}  // namespace headlight
