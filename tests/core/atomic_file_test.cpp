#include "core/atomic_file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "core/error.h"

using namespace headlight;

TEST_SUITE("cpu") {
  TEST_CASE("a file is replaced as a whole and leaves no temporary file behind") {
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
}
