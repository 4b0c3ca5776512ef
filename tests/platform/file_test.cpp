// Files of each system: what src/platform/file.h and memory.h promise.
#include "platform/file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "platform/memory.h"
#include "support/system.h"
#include "support/temporary_directory.h"

namespace platform_file_test {

using namespace headlight;
using namespace headlight::platform;
namespace fs = std::filesystem;

namespace {

std::ptrdiff_t entries(const fs::path& folder) { return std::distance(fs::directory_iterator(folder), {}); }

void write(const fs::path& path, std::string_view content) {
  std::error_code error;
  const Descriptor file = create_file(path, error);
  REQUIRE_MESSAGE(!error, error.message());
  CHECK_FALSE(write_all(file.number(), content));
  CHECK_FALSE(sync_file(file.number()));
}

std::string read(int descriptor) {
  std::string content(100, '\0');
  std::error_code error;
  content.resize(read_at(descriptor, content.data(), content.size(), 0, error));
  CHECK_MESSAGE(!error, error.message());
  return content;
}

std::string read(const fs::path& path) {
  std::error_code error;
  return read(open_to_read(path, error).number());
}

std::string text_of(const Mapping& mapping) {
  return {reinterpret_cast<const char*>(mapping.bytes().data()), mapping.bytes().size()};
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a file is created once, and is the one that its stamp says") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "file";
    write(path, "one\r\ntwo\n\x1Athree");
    std::error_code error;
    CHECK_FALSE(create_file(path, error));
    CHECK(error == std::errc::file_exists);
    CHECK(read(path) == "one\r\ntwo\n\x1Athree");
    error.clear();
    const Descriptor file = open_to_read(path, error);
    const std::optional<FileStamp> stamp = stamp_of(file.number());
    REQUIRE(stamp);
    CHECK(stamp == stamp_of(path));
    CHECK(stamp->bytes == 15);
    CHECK(stamp->kind == FileKind::Regular);
    const auto now = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch());
    CHECK(std::abs(now.count() - stamp->written_ns) < 60'000'000'000);
    write(folder.path() / "other", "one\r\ntwo\n\x1Athree");
    CHECK(stamp_of(folder.path() / "other")->inode != stamp->inode);
    CHECK(stamp_of(folder.path())->kind == FileKind::Folder);
    CHECK(stamp_of(fs::path(test::kDevice))->kind == FileKind::Other);
    CHECK_FALSE(stamp_of(folder.path() / "none"));
    CHECK_FALSE(open_to_read(folder.path() / "none", error));
    CHECK(error == std::errc::no_such_file_or_directory);
  }

  TEST_CASE("names have letters of every language") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / fs::path(u8"Bär 模型 \U0001F989.txt"),
                   other = folder.path() / fs::path(u8"другое");
    write(path, "old");
    write(other, "new");
    CHECK_FALSE(replace_file(other, path, folder.path() / "aside"));
    CHECK(read(path) == "new");
    CHECK(fs::directory_iterator(folder.path())->path().filename().u8string() == u8"Bär 模型 \U0001F989.txt");
  }

  TEST_CASE("reads and writes at a place don't move where the next ones go on") {
    const TemporaryDirectory folder;
    std::error_code error;
    {
      const Descriptor file = create_scratch(folder.path(), error);
      REQUIRE_MESSAGE(!error, error.message());
      CHECK_FALSE(write_all(file.number(), "abc"));
      CHECK_FALSE(write_at(file.number(), "X", 1));
      CHECK(read(file.number()) == "aXc");
      CHECK_FALSE(write_all(file.number(), "def"));
      CHECK(read(file.number()) == "aXcdef");
      std::string part(2, '\0');
      CHECK(read_at(file.number(), part.data(), 2, 4, error) == 2);
      CHECK(part == "ef");
      CHECK(read_at(file.number(), part.data(), 2, 5, error) == 1);
      CHECK(read_at(file.number(), part.data(), 2, 6, error) == 0);
      CHECK(read_some(file.number(), part.data(), 2, error) == 0);
      CHECK_MESSAGE(!error, error.message());
    }
    CHECK(entries(folder.path()) == 0);
  }

  TEST_CASE("a file that is open or mapped is replaced, and who has it keeps its bytes") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "file";
    write(path, "first");
    std::error_code error;
    {
      const Descriptor first = open_to_read(path, error);
      const Mapping mapping(first.number(), 5, error);
      REQUIRE_MESSAGE(!error, error.message());
      write(folder.path() / "next", "second");
      const std::error_code failure = replace_file(folder.path() / "next", path, folder.path() / "aside");
      CHECK_MESSAGE(!failure, failure.message());
      CHECK(read(path) == "second");
      CHECK(text_of(mapping) == "first");
      CHECK(read(first.number()) == "first");
      Mapping::release(mapping.bytes());
      CHECK(text_of(mapping) == "first");
    }
    CHECK(entries(folder.path()) == 1);
    CHECK(replace_file(folder.path() / "none", path, folder.path() / "aside") == std::errc::no_such_file_or_directory);
    CHECK(read(path) == "second");
    CHECK(entries(folder.path()) == 1);
  }

  TEST_CASE("a mapped file isn't cut short, or its missing bytes are zeros") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "file";
    write(path, std::string(20'000, 'x'));
    std::error_code error, refused;
    const Descriptor file = open_to_read(path, error);
    const Mapping mapping(file.number(), 20'000, error);
    REQUIRE_MESSAGE(!error, error.message());
    fs::resize_file(path, 1, refused);
    CHECK(static_cast<char>(mapping.bytes()[16'384]) == (refused ? 'x' : '\0'));
    CHECK(stamp_of(file.number())->bytes == (refused ? 20'000 : 1));
  }

  TEST_CASE("what isn't there, is empty or is a folder isn't mapped") {
    const TemporaryDirectory folder;
    std::error_code error;
    const Descriptor opened = open_to_read(folder.path(), error);
    const Mapping mapping(opened.number(), 1, error);
    CHECK(error);
    CHECK(mapping.bytes().empty());
  }

  TEST_CASE("one program at a time holds a lock, and others read the file meanwhile") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "lock";
    std::error_code error;
    {
      const Descriptor held = lock_file(path, true, error);
      REQUIRE_MESSAGE(!error, error.message());
      CHECK_FALSE(write_all(held.number(), "mine"));
      CHECK(read(path) == "mine");
      CHECK_FALSE(lock_file(path, false, error));
      CHECK(error);
      CHECK_FALSE(lock_file(path, true, error));
    }
    error.clear();
    CHECK(lock_file(path, false, error));
    CHECK_MESSAGE(!error, error.message());
  }

  TEST_CASE("a file without a name has one when it is given") {
    const TemporaryDirectory folder;
    const Descriptor file = create_nameless(folder.path());
    CHECK(entries(folder.path()) == 0);
    if (!file) return;
    CHECK_FALSE(write_all(file.number(), "content"));
    CHECK_FALSE(give_name(file.number(), folder.path() / "file"));
    CHECK(read(folder.path() / "file") == "content");
    CHECK(give_name(file.number(), folder.path() / "file") == std::errc::file_exists);
  }
}

}  // namespace platform_file_test
