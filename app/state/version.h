#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headlight::app {

/// The commit that was built and its date, "9cfc9a31 2026-11-26"; empty where neither git nor an archive says it
/// (cmake/Commit.cmake).
extern const std::string_view kCommit;

/// Returns "0.1.0 (9cfc9a31 2026-11-26)", or without a commit "0.1.0": for people. Files say HEADLIGHT_VERSION alone.
std::string program_version();

/// Returns the program that runs as a child: `headlight` beside the running program, which is another one in tests; else the
/// running one.
std::filesystem::path headlight_program();

}  // namespace headlight::app
