// Cases of core/file.h that only POSIX has: children that are killed, pipes, links, /proc.
#include <doctest/doctest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/error.h"
#include "core/file.h"
#include "core/line_reader.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace atomic_file_posix_test {

using namespace headlight;

TEST_SUITE("cpu") {
  TEST_CASE(
      "a folder for what passes through is closed to others, goes with its object, and TMPDIR is named where it is none") {
    std::filesystem::path path;
    {
      const PassingFolder folder, other;
      path = folder.path();
      CHECK(path != other.path());
      struct stat found = {};
      REQUIRE(lstat(path.c_str(), &found) == 0);
      CHECK((found.st_mode & 0777) == 0700);
      write_file_atomically(path / "figure.png", std::string_view("x"));
    }
    CHECK_FALSE(std::filesystem::exists(path));
    const char* before = std::getenv("TMPDIR");
    const std::string kept = before != nullptr ? before : "";
    setenv("TMPDIR", "/nonexistent/folder", 1);
    CHECK(test::error_message([] { (void)passing_place(); }).starts_with("TMPDIR names no folder"));
    before != nullptr ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
  }

  TEST_CASE("the next program removes what a killed one left") {
    const TemporaryDirectory directory;
    const std::filesystem::path path = directory.path() / "file";
    const auto write_and_die = [&](AtomicFile::Staging staging) {
      const pid_t child = fork();
      if (child == 0) {
        AtomicFile file(path, staging);
        file.append(std::string(100'000, 'x'));
        kill(getpid(), SIGKILL);
      }
      int status = 0;
      waitpid(child, &status, 0);
      REQUIRE(WIFSIGNALED(status));
    };
    const bool has_nameless = [&] {
      const AtomicFile probe(path);
      return directory.entries() == 0;
    }();
    write_and_die(AtomicFile::Staging::Nameless);
    if (has_nameless) CHECK(directory.entries() == 0);
    write_and_die(AtomicFile::Staging::Named);
    REQUIRE(directory.entries() > 0);
    // A recent one may belong to a program that is still writing.
    { AtomicFile other(path, AtomicFile::Staging::Named); }
    CHECK(directory.entries() > 0);
    write_file_atomically(directory.path() / "file.tmp", std::string_view("the user's own"));
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
      std::filesystem::last_write_time(entry, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
    }
    { AtomicFile other(path, AtomicFile::Staging::Named); }
    CHECK(directory.entries() == 1);
    CHECK(read_file(directory.path() / "file.tmp") == "the user's own");
  }

  TEST_CASE("a link in the way is replaced, not followed") {
    const TemporaryDirectory directory;
    const std::filesystem::path target = directory.path() / "target", path = directory.path() / "link";
    write_file_atomically(target, std::string_view("untouched"));
    std::filesystem::create_symlink(target, path);
    write_file_atomically(path, std::string_view("new"));
    CHECK(read_file(target) == "untouched");
    CHECK(read_file(path) == "new");
  }

  TEST_CASE("a pipe isn't read, and a file without a size is read to its end") {
    const TemporaryDirectory directory;
    const std::string pipe = (directory.path() / "pipe").string();
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_WITH_AS(read_file(pipe), ("can't read " + pipe + ": it is a pipe or a device, not a file").c_str(), Error);
    CHECK(read_file("/proc/self/status").size() > 100);  // has no size until it is read
    CHECK_THROWS_AS(read_file("/proc/self/status", 100), Error);
    CHECK_THROWS_AS(make_directories("/proc/headlight"), Error);
    CHECK(test::error_message([] { read_texts("/proc/self/mem", kLargestFile); }) ==
          "can't read /proc/self/mem: Input/output error");
  }
}

}  // namespace atomic_file_posix_test
