#include "core/atomic_file.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>

#include "core/error.h"
#include "support/temporary_directory.h"

namespace atomic_file_test {

using namespace headlight;

namespace {

std::ptrdiff_t entries(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a file is replaced as a whole, and no temporary file is left over") {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "headlight-atomic-file-test";
    std::filesystem::remove_all(folder);
    make_directories(folder / "deep");
    const std::filesystem::path path = folder / "deep" / "file.txt";
    write_file_atomically(path, std::string_view("first, longer content"));
    write_file_atomically(path, std::string_view("second"));
    CHECK(read_file(path) == "second");
    write_file_atomically(path, std::string_view(""));
    CHECK(read_file(path).empty());
    CHECK(std::distance(std::filesystem::directory_iterator(folder / "deep"), {}) == 1);
    std::filesystem::remove_all(folder);
  }

  TEST_CASE("a file that can't be written or read is named with the system's reason") {
    CHECK_THROWS_WITH_AS(
        write_file_atomically("/nonexistent/folder/file", std::string_view("x")),
        "can't write /nonexistent/folder/file: No such file or directory; choose another folder or free some space", Error);
    CHECK_THROWS_AS(read_file("/nonexistent/file"), Error);
    CHECK_THROWS_AS(make_directories("/proc/headlight"), Error);
  }

  TEST_CASE("a file that isn't finished leaves the old one and nothing else") {
    for (const AtomicFile::Staging staging : {AtomicFile::Staging::Nameless, AtomicFile::Staging::Named}) {
      const TemporaryDirectory directory;
      const std::filesystem::path path = directory.path() / "file";
      write_file_atomically(path, std::string_view("old"));
      {
        AtomicFile file(path, staging);
        file.append("half of the n");
        CHECK(read_file(path) == "old");
      }
      CHECK(read_file(path) == "old");
      CHECK(entries(directory.path()) == 1);
      AtomicFile file(path, staging);
      file.append("new");
      file.finish();
      CHECK(read_file(path) == "new");
      CHECK(entries(directory.path()) == 1);
    }
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
      return entries(directory.path()) == 0;
    }();
    write_and_die(AtomicFile::Staging::Nameless);
    if (has_nameless) CHECK(entries(directory.path()) == 0);
    write_and_die(AtomicFile::Staging::Named);
    REQUIRE(entries(directory.path()) > 0);
    // A recent one may belong to a program that is still writing.
    { AtomicFile other(path, AtomicFile::Staging::Named); }
    CHECK(entries(directory.path()) > 0);
    write_file_atomically(directory.path() / "file.tmp", std::string_view("the user's own"));
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
      std::filesystem::last_write_time(entry, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
    }
    { AtomicFile other(path, AtomicFile::Staging::Named); }
    CHECK(entries(directory.path()) == 1);
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

  TEST_CASE("only regular files are read, and only up to a size") {
    const TemporaryDirectory directory;
    const std::string pipe = (directory.path() / "pipe").string(), file = (directory.path() / "file").string();
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_WITH_AS(read_file(pipe), ("can't read " + pipe + ": it is a pipe or a device, not a file").c_str(), Error);
    CHECK_THROWS_WITH_AS(read_file("/dev/zero"), "can't read /dev/zero: it is a pipe or a device, not a file", Error);
    CHECK_THROWS_WITH_AS(read_file(directory.path()),
                         ("can't read " + directory.path().string() + ": Is a directory").c_str(), Error);
    write_file_atomically(file, std::string_view("12345"));
    CHECK(read_file(file, 5) == "12345");
    CHECK_THROWS_WITH_AS(read_file(file, 4), ("can't read " + file + ": it has more than 4 bytes").c_str(), Error);
    CHECK(read_file("/proc/self/status").size() > 100);  // has no size until it is read
    CHECK_THROWS_AS(read_file("/proc/self/status", 100), Error);
  }
}

}  // namespace atomic_file_test
