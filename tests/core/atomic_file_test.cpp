#include "core/file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "core/error.h"
#include "support/system.h"
#include "support/temporary_directory.h"

namespace atomic_file_test {

using namespace headlight;

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
    const std::string path = "/nonexistent/folder/file";
    CHECK_THROWS_WITH_AS(
        write_file_atomically(path, std::string_view("x")),
        ("can't write " + path + ": " + test::reason_against(path) + "; choose another folder or free some space").c_str(),
        Error);
    CHECK_THROWS_AS(read_file("/nonexistent/file"), Error);
  }

  TEST_CASE("a file that passes through never gets its name") {
    const TemporaryDirectory folder;
    const std::filesystem::path path = folder.path() / "figure.svg";
    const std::string content(200'000, 'x');
    {
      PassingFile passing(path);
      write_file_atomically(path, std::string_view(content));
      CHECK(std::filesystem::is_empty(folder.path()));
      std::string read;
      passing.read([&](std::string_view part) { read += part; });
      CHECK(read == content);
      write_file_atomically(folder.path() / "other", std::string_view("other"));
      CHECK(read_file(folder.path() / "other") == "other");
    }
    write_file_atomically(path, std::string_view("named"));
    CHECK(read_file(path) == "named");
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
      CHECK(directory.entries() == 1);
      AtomicFile file(path, staging);
      file.append("new");
      file.finish();
      CHECK(read_file(path) == "new");
      CHECK(directory.entries() == 1);
    }
  }

  TEST_CASE("only regular files are read, and only up to a size") {
    const TemporaryDirectory directory;
    const std::string file = (directory.path() / "file").string();
    CHECK_THROWS_WITH_AS(read_file(test::kDevice),
                         (std::string("can't read ") + test::kDevice + ": it is a pipe or a device, not a file").c_str(),
                         Error);
    CHECK_THROWS_WITH_AS(read_file(directory.path()),
                         ("can't read " + directory.path().string() + ": Is a directory").c_str(), Error);
    write_file_atomically(file, std::string_view("12345"));
    CHECK(read_file(file, 5) == "12345");
    CHECK_THROWS_WITH_AS(read_file(file, 4), ("can't read " + file + ": it has more than 4 bytes").c_str(), Error);
  }
}

}  // namespace atomic_file_test
