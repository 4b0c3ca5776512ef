#include "model/mapped_file.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/error.h"
#include "model/checkpoint.h"
#include "model/file_bytes.h"
#include "model/safetensors.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace mapped_file_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;

namespace {

/// A file of one F32 tensor "a" of shape [rows, 1024].
std::string large_file(std::uint32_t rows) {
  const std::string header =
      fmt::format(R"({{"a":{{"dtype":"F32","shape":[{},1024],"data_offsets":[0,{}]}}}})", rows, rows * 4096);
  std::string bytes = safetensors(header, "");
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t i = 0; i < 1024; ++i) bytes += FileBytes().number(1.0f).bytes();
  }
  return bytes;
}

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

  TEST_CASE("a file that is written to while it is mapped, or can't be read any more, is an error after the read") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "m.safetensors";
    const std::string content = large_file(64);
    write_file_atomically(path, content);
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    const SafetensorsFile file(path);
    const Parameter weight = file.parameter("a");
    weight.expect_intact();
    {
      std::fstream same_file(path, std::ios::in | std::ios::out | std::ios::binary);
      same_file.seekp(-4, std::ios::end);
      same_file << "abcd";
    }
    const std::string written = path.string() + " was written to while it was in use: open it again";
    CHECK(error_message([&] { (void)weight.tensor(); }) == written);
    CHECK(error_message([&] { weight.expect_intact(); }) == written);

    write_file_atomically(path, content);
    const SafetensorsFile other(path);
    const Parameter unreadable = other.parameter("a");
    make_write_only(path);  // the system refuses to read from it then
    std::vector<float> columns(1024, 1.0f);
    unreadable.read_columns(63, 1, columns.data(), 1);
    CHECK(std::ranges::all_of(columns, [](float number) { return number == 0.0f; }));
    CHECK(error_message([&] { unreadable.expect_intact(); }) ==
          "can't read " + path.string() + ": Bad file descriptor; open it again");
  }

  TEST_CASE("a file that is replaced or deleted keeps its mapped content") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "m.safetensors";
    write_file_atomically(path, large_file(8));
    const SafetensorsFile file(path);
    const Parameter weight = file.parameter("a");
    write_file_atomically(path, std::string_view("another, shorter"));
    weight.expect_intact();
    std::filesystem::remove(path);
    weight.expect_intact();
    const Tensor tensor = weight.tensor();
    CHECK(std::accumulate(tensor.values.begin(), tensor.values.end(), 0.0) == 8.0 * 1024.0);
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

  TEST_CASE("pipes, devices and folders are no models, whatever their names") {
    const TemporaryDirectory folder;
    for (const char* name : {"pipe", "pipe.gguf", "pipe.safetensors"}) {
      const auto path = folder.path() / name;
      REQUIRE(mkfifo(path.c_str(), 0600) == 0);
      CHECK(error_message([&] { (void)Checkpoint(path); }) == "can't open " + path.string() + ": it is not a file");
    }
    CHECK(error_message([] { (void)Checkpoint("/dev/zero"); }) == "can't open /dev/zero: it is not a file");
  }

  TEST_CASE("30,000 tensors are opened in time linear in their number") {
    const auto seconds = [](std::uint32_t count) {
      const TemporaryDirectory folder;
      const auto path = folder.path() / "m.safetensors";
      std::string header = "{";
      for (std::uint32_t i = 0; i < count; ++i) {
        header += fmt::format(R"({}"layer.{}.weight":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}})",
                              i == 0 ? "" : ",", i, 4 * i, 4 * i + 4);
      }
      write_file_atomically(path, safetensors(header + "}", std::string(std::size_t{4} * count, '\0')));
      const std::clock_t start = std::clock();
      const Checkpoint checkpoint(path);
      CHECK(checkpoint.names().size() == count);
      return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    };
    const double few = seconds(3'000), many = seconds(30'000);
    CAPTURE(few);
    CAPTURE(many);
    CHECK(many < 40.0 * few + 0.5);  // 10 times when linear, 100 when quadratic
    CHECK(many < 5.0);
  }
}

}  // namespace mapped_file_test
