// The system's description of itself, and programs that are started.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "platform/clock.h"
#include "platform/folders.h"
#include "platform/library.h"
#include "platform/memory.h"
#include "platform/process.h"
#include "support/temporary_directory.h"

namespace platform_system_test {

using namespace headlight;
using namespace headlight::platform;
namespace fs = std::filesystem;

namespace {

/// Runs a test case of the suite "child" in a program of its own, which fails where there is no case of that name.
int status_of_child(const std::string& name, const fs::path& input = {}) {
  const std::u8string program = program_file().u8string();
  const std::optional<Child> child = start_program(
      {std::string(program.begin(), program.end()), "a folder\\", "--test-suite=child", "--test-case=" + name}, input);
  REQUIRE(child);
  return wait_for(*child);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a thread's time grows with its work, and no clock goes back") {
    const auto before = thread_time(), awake = time_awake(), with_sleep = time_with_sleep();
    double sum = 0.0;
    for (int i = 1; i < 10'000'000; ++i) sum += std::sqrt(i);
    CHECK(sum > 0.0);
    CHECK(thread_time() > before);
    CHECK(time_awake() > awake);
    CHECK(time_with_sleep() > with_sleep);
  }

  TEST_CASE("memory is counted in bytes") {
    CHECK(physical_bytes() > std::uint64_t{64} << 20);
    CHECK(available_bytes() > 0);
    CHECK(available_bytes() <= physical_bytes());
    CHECK(has_address_space(std::size_t{1} << 20));
    std::vector<std::byte> memory(3 * kLargePageBytes, std::byte{7});
    use_large_pages(memory);
    fetch_pages(memory);
    CHECK(memory.back() == std::byte{7});
    return_freed_memory();
  }

  TEST_CASE("the user's folders are whole paths, and a variable keeps its letters") {
    for (const UserFolder which : {UserFolder::Settings, UserFolder::Cache, UserFolder::State}) {
      std::string trouble;
      const fs::path folder = user_folder(which, trouble);
      CHECK_MESSAGE(folder.is_absolute(), trouble);
    }
    CHECK(meeting_folder().is_absolute());
    CHECK(program_file().stem() == "test_platform");
    set_variable("HEADLIGHT_TEST_FOLDER", "B\u00e4r/\u6a21");
    CHECK(path_variable("HEADLIGHT_TEST_FOLDER") == fs::path(u8"B\u00e4r/\u6a21"));
    set_variable("HEADLIGHT_TEST_FOLDER", "");
    CHECK_FALSE(path_variable("HEADLIGHT_TEST_FOLDER"));
    CHECK_FALSE(path_variable("HEADLIGHT_TEST_NONE"));
    const TemporaryDirectory folder;
    std::error_code error;
    make_private_folder(folder.path() / "own", error);
    make_private_folder(folder.path() / "own", error);
    CHECK_MESSAGE(!error, error.message());
    CHECK(fs::is_directory(folder.path() / "own"));
  }

  TEST_CASE("the system has names, and libraries their functions") {
    CHECK(process_id() != 0);
    CHECK_FALSE(host_name().empty());
    CHECK(system_release().find("ID=") != std::string::npos);
#ifdef _WIN32
    constexpr const char *kLibrary = "kernel32.dll", *kFunction = "GetTickCount64";
#else
    constexpr const char *kLibrary = "libc.so.6", *kFunction = "getpid";
#endif
    CHECK((library_function(kLibrary, kFunction) != nullptr));
    CHECK((library_function(kLibrary, "headlight_has_no_such_function") == nullptr));
    CHECK((library_function("headlight-has-no-such-library", kFunction) == nullptr));
  }

  TEST_CASE("a program gets its words as they are, reads its file and leaves its status") {
    CHECK(status_of_child("is called \"so\"  and passes") == 0);
    CHECK(status_of_child("fails") == 1);
    CHECK(status_of_child("isn't there") == 1);
    const TemporaryDirectory folder;
    const fs::path input = folder.path() / fs::path(u8"B\u00e4r");
    std::ofstream(input, std::ios::binary) << "of the file";
    CHECK(status_of_child("reads a file", input) == 0);
    CHECK(status_of_child("reads a file") == 1);
    CHECK_FALSE(start_program({"headlight-has-no-such-program"}));
  }
}

TEST_SUITE("child") {
  TEST_CASE("is called \"so\"  and passes") { CHECK(process_id() != 0); }
  TEST_CASE("fails") { CHECK(process_id() == 0); }
  TEST_CASE("reads a file") {
    std::string line;
    std::getline(std::cin, line);
    CHECK(line == "of the file");
  }
}

}  // namespace platform_system_test
