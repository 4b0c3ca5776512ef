// Lines of text files: plain, compressed, with the ends and marks that editors write, as JSON objects; and what is no text.
#include <doctest/doctest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/line_reader.h"
#include "support/error_message.h"
#include "support/system.h"
#include "support/temporary_directory.h"

namespace line_reader_test {

using namespace headlight;
namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

namespace {

std::string packed(const std::string& content) {
  const TemporaryDirectory folder;
  const fs::path path = folder.path() / "packed";
  gzFile file = gzopen(path.string().c_str(), "wb");
  REQUIRE(gzwrite(file, content.data(), static_cast<unsigned>(content.size())) == static_cast<int>(content.size()));
  gzclose(file);
  return read_file(path);
}

/// A file of this name and content, in a folder of its own.
struct Written {
  Written(const std::string& name, const std::string& content) : path(folder.path() / name) {
    write_file_atomically(path, content);
  }
  Lines texts() const { return read_texts(path, kLargestFile); }
  std::string complaint() const {
    return test::error_message([&] { texts(); });
  }
  TemporaryDirectory folder;
  fs::path path;
};

Lines lines_of(const fs::path& path) {
  LineReader reader(path);
  Lines lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("lines are the same from plain and compressed files, and with the ends and the mark of other editors") {
    const std::string plain = "Ein Bär\n\n  zwei \nohne Ende";
    const Lines lines = {"Ein Bär", "", "  zwei ", "ohne Ende"};
    std::string windows = "\xEF\xBB\xBF";
    for (const char letter : plain) windows += letter == '\n' ? std::string("\r\n") : std::string(1, letter);
    for (const std::string& content : {plain, windows, plain + "\n", windows + "\r\n"}) {
      CHECK(lines_of(Written("a.txt", content).path) == lines);
      CHECK(lines_of(Written("a.txt.gz", packed(content)).path) == lines);
      CHECK(Written("a.txt", content).texts() == lines);
    }
    CHECK(read_text_file(Written("a.txt", windows).path, 100) == plain);
    CHECK(read_text_file(Written("a.txt", windows + "\r\n").path, 100) == plain + "\n");
    CHECK(lines_of(Written("a.txt", "a\rb\r\nc\xEF\xBB\xBF\n").path) == Lines{"a\rb", "c\xEF\xBB\xBF"});
    CHECK(lines_of(Written("a.txt", "").path).empty());
  }

  TEST_CASE("lines longer than what is read at once, compressed files in several parts and with zeros after them") {
    Lines lines;
    std::string content;
    for (std::size_t i = 0; i < 400; ++i) {
      lines.emplace_back(i * 977 % 200'000, static_cast<char>('a' + i % 26));
      content += lines.back() + "\n";
    }
    CHECK(lines_of(Written("a.txt", content).path) == lines);
    const std::string first = content.substr(0, content.size() / 3), rest = content.substr(first.size());
    CHECK(lines_of(Written("a.gz", packed(first) + packed("") + packed(rest) + std::string(70'000, '\0')).path) == lines);
  }

  TEST_CASE("a line without an end is refused before it is all in memory") {
    const Written file("long.txt", "short\n");
    fs::resize_file(file.path, std::uint64_t{6} << 30);  // zeros; takes no room on the disk
    LineReader reader(file.path, true);
    std::string line;
    CHECK(reader.next(line));
    CHECK(test::error_message([&] { reader.next(line); }) ==
          file.path.string() + " line 2 has more than 16 MiB: give a text a line");
    CHECK(line.capacity() <= 2 * kLongestLine);
    const Written bomb("bomb.gz", packed(std::string(kLongestLine + 1, 'x')));
    CHECK(bomb.complaint() == bomb.path.string() + " line 1 has more than 16 MiB: give a text a line");
  }

  TEST_CASE("a file that can't be read is refused in one line") {
    const TemporaryDirectory folder;
    const fs::path file = folder.path() / "file.gz";
    const auto complaint = [](const fs::path& path) { return test::error_message([&] { read_texts(path, kLargestFile); }); };
    CHECK(complaint(file) == "can't read " + file.string() + ": " + test::reason_against(file));
    CHECK(complaint(folder.path()) == "can't read " + folder.path().string() + ": Is a directory");
    CHECK(complaint(test::kDevice) == std::string("can't read ") + test::kDevice + ": it is a pipe or a device, not a file");
    const Written empty("empty.txt", ""), broken("broken.txt", "one\ntw\xffo\n"), large("large.txt", "one\ntwo\n");
    CHECK(empty.complaint() == empty.path.string() + " is empty: it needs a line of text at least");
    CHECK(broken.complaint() == broken.path.string() + " line 2: byte 2 is not UTF-8: convert the file");
    CHECK(test::error_message([&] { read_texts(large.path, 7); }).ends_with("of text"));
    std::string content;
    for (int i = 0; i < 1000; ++i) content += std::to_string(i * 7919) + "\n";
    const std::string whole = packed(content);
    std::string damaged = whole;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
    std::string wrong_sum = whole;
    wrong_sum[wrong_sum.size() - 5] = static_cast<char>(wrong_sum[wrong_sum.size() - 5] ^ 1);
    for (const std::string& bytes : {whole.substr(0, whole.size() / 2), whole.substr(0, whole.size() - 1), damaged,
                                     wrong_sum, whole + "more", whole + whole.substr(0, 30)}) {
      write_file_atomically(file, bytes);
      CHECK(complaint(file) == file.string() + " can't be unpacked: it is damaged or cut off; fetch it again");
    }
  }

  TEST_CASE("what is no text is refused by what it is") {
    using namespace std::string_literals;
    const std::pair<std::string, std::string> kinds[] = {
        {"ARROW1\0\0"s, "is an Arrow file, not a text"},
        {"\xFF\xFF\xFF\xFF\x10\0\0\0"s, "is an Arrow file, not a text"},
        {"PAR1\x15"s, "is a Parquet file"},
        {"PK\x03\x04\x14"s, "is a zip archive"},
        {"%PDF-1.7\n"s, "is a PDF"},
        {"\xFD"
         "7zXZ\0"s,
         "is compressed by xz"},
        {"\x28\xB5\x2F\xFD"s, "is compressed by zstd"},
        {"BZh91AY"s, "is compressed by bzip2"},
        {"\x89PNG\r\n\x1A\n"s, "is an image"},
        {"GGUF\x03"s, "is a GGUF model"},
        {"\xFF\xFEt\0e\0"s, "is in UTF-16"},
        {std::string(257, 'n') + "ustar", "is a tar archive"},
        {"text and\nthen \0 a number"s, "is a binary file (byte 14 is NUL)"},
    };
    for (const auto& kind : kinds) {
      const std::string &content = kind.first, &said = kind.second;
      CAPTURE(said);
      const Written file("c.txt", content);
      CHECK(file.complaint().starts_with(file.path.string() + " " + said));
      CHECK(file.complaint().ends_with(": give lines of text or JSON lines, plain or as .gz"));
      const Written inside("c.txt.gz", packed(content));
      CHECK(inside.complaint().starts_with(inside.path.string() + " " + said));
    }
    const Written named_text("c.txt", packed("text")), named_gzip("c.gz", "text");
    CHECK(named_text.complaint().ends_with("c.txt is compressed by gzip: give it a name that ends in .gz, or unpack it"));
    CHECK(named_gzip.complaint().find("c.gz isn't compressed by gzip, as its name says") != std::string::npos);
    CHECK(Written("c.gz", packed(packed("text"))).complaint().find("is compressed by gzip twice") != std::string::npos);
  }

  TEST_CASE("of JSON lines the texts are read, of a chosen field; what has none says what it has") {
    const std::string content =
        "\xEF\xBB\xBF{\"text\": \"one\", \"id\": 1}\r\n\r\n{\"id\": 2, \"text\": \"t\\u0077o\\nlines\"}\n";
    const Lines texts = {"one", "two\nlines"};
    for (const char* name : {"a.jsonl", "a.ndjson", "a.json"}) CHECK(Written(name, content).texts() == texts);
    CHECK(Written("a.jsonl.gz", packed(content)).texts() == texts);
    CHECK(Written("a.txt", content).texts().front() == "{\"text\": \"one\", \"id\": 1}");
    const Written file("a.jsonl", content), other("b.jsonl", "{\"content\": \"a\", \"id\": 1}\n{\"content\": 5}\n");
    CHECK(test::error_message([&] { read_text_file(file.path, 1000); }).find(" line 3: the text has line breaks") !=
          std::string::npos);
    CHECK(other.complaint() == other.path.string() +
                                   " line 1: the object has no \"text\", but content, id: name the one with the text "
                                   "(--field), or call it \"text\"");
    CHECK(test::error_message([&] {
            read_texts(other.path, 1000, "content");
          }).ends_with(" line 2: \"content\" is 5; it is a text"));
    CHECK(Written("c.json", "[{\"text\": \"a\"}]").complaint().find("expected an object as {\"text\": ") !=
          std::string::npos);
    CHECK(Written("c.jsonl", "{\"text\": \n").complaint().find(" line 1: not JSON") != std::string::npos);
    CHECK(read_text_file(Written("c.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n").path, 1000) == "a\nb");
  }
}

}  // namespace line_reader_test
