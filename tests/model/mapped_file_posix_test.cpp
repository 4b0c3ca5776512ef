// Cases of model/mapped_file.h that only POSIX has: files that become shorter or unreadable while they are mapped,
// pipes.
#include "model/mapped_file.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "model/checkpoint.h"
#include "model/file_bytes.h"
#include "model/safetensors.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace mapped_file_posix_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;

namespace {

/// Makes the descriptors with which this process has opened a file ones that can only be written to.
void make_write_only(const std::filesystem::path& path) {
  const int write_only = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const std::filesystem::path real = std::filesystem::canonical(path);
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path(), ignored) == real) found.push_back(std::stoi(entry.path().filename()));
  }
  for (const int descriptor : found) {
    if (descriptor != write_only) ::dup3(write_only, descriptor, O_CLOEXEC);
  }
  ::close(write_only);
}

std::string cut_short(const std::filesystem::path& path) {
  return path.string() + " was cut short while it was in use: restore it and open the model again";
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("reads of a file truncated while mapped return zeros, and the reader gets an error") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "m.safetensors";
    write_file_atomically(path, large_file(64));
    const SafetensorsFile file(path);
    const Parameter weight = file.parameter("a");
    CHECK(weight.tensor().values[5] == 1.0f);
    weight.expect_intact();
    std::filesystem::resize_file(path, 5000);

    std::vector<float> row(1024);
    CHECK(error_message([&] { weight.read(63, 1, row); }) == cut_short(path));
    CHECK(row[7] == 0.0f);
    CHECK(error_message([&] { (void)weight.tensor(); }) == cut_short(path));
    CHECK(error_message([&] { (void)file.tensor("a"); }) == cut_short(path));
    // During upload several threads read, and their caller checks.
    std::vector<float> columns(1024, 1.0f);
    weight.read_columns(63, 1, columns.data(), 1);
    CHECK(std::ranges::all_of(columns, [](float number) { return number == 0.0f; }));
    std::vector<float> room;
    const StoredColumns stored = weight.transposed().stored_columns(0, 1024, 63, 1, room);
    CHECK(std::all_of(stored.numbers, stored.numbers + 1024, [](float number) { return number == 0.0f; }));
    CHECK(error_message([&] { weight.expect_intact(); }) == cut_short(path));
  }

  TEST_CASE("a truncation inside the last page, which raises no SIGBUS, is noticed too") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "m.safetensors";
    write_file_atomically(path, large_file(2));
    const SafetensorsFile file(path);
    const Parameter weight = file.parameter("a");
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
    CHECK(error_message([&] { (void)weight.tensor(); }) == cut_short(path));
    CHECK(error_message([&] { weight.expect_intact(); }) == cut_short(path));
  }

  TEST_CASE("a file that can't be read any more is an error after the read") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "m.safetensors";
    write_file_atomically(path, large_file(64));
    const SafetensorsFile other(path);
    const Parameter unreadable = other.parameter("a");
    make_write_only(path);  // the system refuses to read from it then
    std::vector<float> columns(1024, 1.0f);
    unreadable.read_columns(63, 1, columns.data(), 1);
    CHECK(std::ranges::all_of(columns, [](float number) { return number == 0.0f; }));
    CHECK(error_message([&] { unreadable.expect_intact(); }) ==
          "can't read " + path.string() + ": Bad file descriptor; open it again");
  }

  TEST_CASE("a SIGBUS outside of mapped files still ends the process") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "m.safetensors", other = folder.path() / "other";
    write_file_atomically(path, large_file(1));
    write_file_atomically(other, std::string(8192, 'x'));
    const SafetensorsFile file(path);  // installs the handler
    const pid_t child = fork();
    if (child == 0) {
      std::signal(SIGABRT, SIG_DFL);
      std::FILE* const opened = std::fopen(other.c_str(), "rb");
      void* const bytes = mmap(nullptr, 8192, PROT_READ, MAP_SHARED, fileno(opened), 0);
      std::filesystem::resize_file(other, 0);
      static_cast<void>(*static_cast<const volatile char*>(bytes));
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status != 0);  // killed by the signal, or ended by a sanitizer with a status of its choice
  }

  TEST_CASE("a SIGBUS that another process sends ends this one, as without mapped files") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "m.safetensors";
    write_file_atomically(path, large_file(1));
    const SafetensorsFile file(path);  // installs the handler
    const pid_t child = fork();
    if (child == 0) {
      static_cast<void>(std::raise(SIGBUS));
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status != 0);  // killed by the signal, or ended by a sanitizer with a status of its choice
  }

  TEST_CASE("pipes, devices and folders are no models, whatever their names") {
    const TemporaryDirectory folder;
    for (const char* name : {"pipe", "pipe.gguf", "pipe.safetensors"}) {
      const auto path = folder.path() / name;
      REQUIRE(mkfifo(path.c_str(), 0600) == 0);
      CHECK(error_message([&] { (void)Checkpoint(path); }) == "can't open " + path.string() + ": it is not a file");
    }
    CHECK(error_message([] { (void)Checkpoint("/dev/zero"); }) == "can't open /dev/zero: it is not a file");
  }
}

}  // namespace mapped_file_posix_test
