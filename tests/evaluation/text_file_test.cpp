// Text files, plain and compressed, and the paths of Multi30k's.
#include <doctest/doctest.h>
#include <zlib.h>

#include "core/atomic_file.h"
#include "evaluation/multi30k.h"
#include "evaluation/text_file.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace text_file_test {

using namespace headlight;
using evaluation::find_multi30k;
using evaluation::read_lines;
namespace fs = std::filesystem;

namespace {

void write_gzip(const fs::path& path, const std::string& content) {
  gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(gzwrite(file, content.data(), static_cast<unsigned>(content.size())) == static_cast<int>(content.size()));
  gzclose(file);
}

std::string complaint(const fs::path& path) {
  return test::error_message([&] { read_lines(path); });
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("lines are the same from plain and compressed files") {
    const TemporaryDirectory folder;
    std::string content = "Ein Bär\r\n\n  zwei \nohne Ende";
    write_file_atomically(folder.path() / "plain", content);
    write_gzip(folder.path() / "packed", content);
    const std::vector<std::string> lines = {"Ein Bär", "", "  zwei ", "ohne Ende"};
    CHECK(read_lines(folder.path() / "plain") == lines);
    CHECK(read_lines(folder.path() / "packed") == lines);
    content.clear();
    for (int i = 0; i < 50'000; ++i) content += "a line of text\n";  // more than one read returns
    write_gzip(folder.path() / "long", content);
    CHECK(read_lines(folder.path() / "long").size() == 50'000);
  }

  TEST_CASE("a file that can't be read is refused in one line") {
    const TemporaryDirectory folder;
    const fs::path file = folder.path() / "file";
    CHECK(complaint(file) == file.string() + " can't be read: No such file or directory");
    CHECK(complaint(folder.path()) == folder.path().string() + " is a folder: name a text file");
    write_file_atomically(file, "");
    CHECK(complaint(file) == file.string() + " is empty: it needs a line of text at least");
    write_file_atomically(file, "one\ntw\xffo\n");
    CHECK(complaint(file) == file.string() + " line 2 is not UTF-8: convert the file");
    std::string content;
    for (int i = 0; i < 1000; ++i) content += std::to_string(i * 7919) + "\n";
    write_gzip(file, content);
    const std::string packed = read_file(file);
    write_file_atomically(file, packed.substr(0, packed.size() / 2));
    CHECK(complaint(file) == file.string() + " can't be unpacked: it is damaged or cut off; fetch it again");
    std::string damaged = packed;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
    write_file_atomically(file, damaged);
    CHECK(complaint(file) == file.string() + " can't be unpacked: it is damaged or cut off; fetch it again");
  }

  TEST_CASE("Multi30k's texts are in one folder, or as in the dataset's repository") {
    const TemporaryDirectory folder;
    fs::create_directories(folder.path() / "data/task1/raw");
    write_file_atomically(folder.path() / "data/task1/raw/val.de.gz", "x");
    write_file_atomically(folder.path() / "val.en", "x");
    CHECK(find_multi30k(folder.path(), "val.de") == folder.path() / "data/task1/raw/val.de.gz");
    CHECK(find_multi30k(folder.path(), "val.en") == folder.path() / "val.en");
    CHECK(test::error_message([&] {
            find_multi30k(folder.path(), "val.fr");
          }).starts_with(folder.path().string() + " has no val.fr or val.fr.gz: "));
  }
}

}  // namespace text_file_test
