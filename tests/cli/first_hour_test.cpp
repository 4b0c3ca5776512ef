// Keys on paper, the version, and what a crash leaves.
#include <filesystem>
#include <regex>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/golden_model.h"
#include "support/program.h"

namespace first_hour_test {

using namespace headlight;
namespace fs = std::filesystem;

namespace {

std::string golden_path(std::string_view name) { return test::golden_model_path(name).string(); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the version has the commit, and keys are printed for a sheet of paper") {
    const std::string version = run_headlight({"--version"}).out;
    CHECK(
        std::regex_match(version, std::regex("headlight \\d+\\.\\d+\\.\\d+( \\([0-9a-f]{7,} \\d{4}-\\d\\d-\\d\\d\\))?\n")));
    const std::string keys = run_headlight({"--keys"}).out;
    CHECK(std::regex_search(keys, std::regex("\n  Ctrl\\+P +Find a command, a model or a head\n")));
    CHECK(keys.find("\nOn the map\n") != std::string::npos);
  }

  TEST_CASE("a fault leaves a report with what ran and the stack, and the next window says where it is") {
    const TemporaryDirectory directory;
    const std::string base = directory.path().string();
    const fs::path folder = directory.path() / "state" / "headlight";
    const std::string line = fmt::format(
        "cd '{0}' && mkfifo in && (sleep 20 > in & echo $! > sleeper); XDG_STATE_HOME='{0}/state' "
        "XDG_CONFIG_HOME='{0}/config' "
        "XDG_CACHE_HOME='{0}/cache' '{1}' tokenize -m '{2}' < in > out 2> err & program=$!; sleep 2; kill -SEGV $program; "
        "wait $program; echo $? > '{0}/status'; kill $(cat '{0}/sleeper')",
        base, HEADLIGHT_PROGRAM, golden_path("gpt2"));
    write_file_atomically(directory.path() / "script", line);
    CHECK(WIFEXITED(std::system(("sh '" + base + "/script' 2>/dev/null").c_str())));
    CHECK(read_file(directory.path() / "status") == "139\n");  // as without a handler: 128 + SIGSEGV
    const std::string report = read_file(folder / "crash.txt");
    INFO(report);
    CHECK(report.starts_with("Headlight ended by the signal SEGV."));
    CHECK(report.find("\nheadlight 0.") != std::string::npos);
    CHECK(report.find("\ncommand: tokenize\n") != std::string::npos);
    CHECK(std::regex_search(report, std::regex("headlight\\(.*\\+0x[0-9a-f]+\\)")));
    CHECK(read_file(directory.path() / "err").find("crash.txt says what was on screen") != std::string::npos);
    const std::string prefix = fmt::format("env -u DISPLAY -u WAYLAND_DISPLAY XDG_STATE_HOME='{}/state'", base);
    CHECK(run_headlight({"view"}, prefix)
              .err.find("The last start ended by a fault: " + (folder / "crash-before.txt").string()) != std::string::npos);
    CHECK(!fs::exists(folder / "crash.txt"));
    CHECK(run_headlight({"view"}, prefix).err.find("ended by a fault") == std::string::npos);
  }
}

}  // namespace first_hour_test
