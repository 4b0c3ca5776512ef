// Shards of a corpus: together they have each line once, wherever lines end.
#include <doctest/doctest.h>
#include <zlib.h>

#include <random>

#include "app/data/survey/corpus_file.h"
#include "core/error.h"
#include "core/file.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace corpus_file_test {

using namespace headlight;
using namespace headlight::app;

namespace {

struct Line {
  std::uint64_t offset = 0;
  std::string text;
  bool operator==(const Line&) const = default;
};

std::vector<Line> all_lines(const CorpusFile& corpus, std::uint64_t& skipped) {
  std::vector<Line> lines;
  for (std::uint64_t shard = 0; shard < corpus.shards(); ++shard) {
    const CorpusShard read = corpus.shard(shard);
    skipped += read.skipped;
    for (const evaluation::CorpusText& text : read.texts) {
      CHECK(text.offset / kShardBytes == shard);
      lines.push_back({text.offset, text.text});
    }
  }
  return lines;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("random lines, long ones, empty ones, either line end, with and without the last one") {
    std::mt19937 generator(7);
    for (int round = 0; round < 12; ++round) {
      const TemporaryDirectory folder;
      std::string text;
      std::vector<Line> expected;
      const bool has_returns = round % 2 == 1;
      for (int i = 0; i < 300; ++i) {
        // Some texts are longer than shards, some end just where a shard does.
        std::size_t size = generator() % 200;
        if (generator() % 25 == 0) size = generator() % (3 * kShardBytes);
        if (generator() % 10 == 0) size = kShardBytes - text.size() % kShardBytes - 1;
        const std::string line(size, static_cast<char>('a' + i % 26));
        expected.push_back({text.size(), line});
        text += line + (has_returns ? "\r\n" : "\n");
      }
      if (round % 3 == 0) text.pop_back();
      if (round % 3 == 0 && has_returns) text.pop_back();
      if (expected.back().text.empty() && round % 3 == 0) expected.pop_back();  // nothing behind the last line end
      write_file_atomically(folder.path() / "corpus.txt", text);
      const CorpusFile corpus(folder.path() / "corpus.txt", folder.path());
      std::uint64_t skipped = 0;
      CHECK(all_lines(corpus, skipped) == expected);
      CHECK(skipped == 0);
      for (const Line& line : expected) CHECK(corpus.text_at(line.offset).text == line.text);
    }
  }

  TEST_CASE("lines that are too long or not UTF-8 are skipped and counted") {
    const TemporaryDirectory folder;
    const std::string text = "one\n\xFF\xFE\n" + std::string(kLongestCorpusLine + 1, 'x') + "\ntwo\n" +
                             std::string(kLongestCorpusLine, 'y') + "\nthree";
    write_file_atomically(folder.path() / "corpus.txt", text);
    const CorpusFile corpus(folder.path() / "corpus.txt", folder.path());
    std::uint64_t skipped = 0;
    const std::vector<Line> lines = all_lines(corpus, skipped);
    CHECK(skipped == 2);
    REQUIRE(lines.size() == 4);
    CHECK(lines[1].text == "two");
    CHECK(lines[2].text.size() == kLongestCorpusLine);
    CHECK(lines[3].text == "three");
  }

  TEST_CASE("what is no corpus is refused in a line") {
    const TemporaryDirectory folder;
    write_file_atomically(folder.path() / "empty.txt", "");
    const auto message = [&](const std::string& name) {
      return test::error_message([&] { const CorpusFile corpus(folder.path() / name, folder.path()); });
    };
    CHECK(message("none.txt").find("can't read") == 0);
    CHECK(message("empty.txt").find("is empty; give a text file") != std::string::npos);
    CHECK(message(".").find("Is a directory") != std::string::npos);
    using namespace std::string_literals;
    write_file_atomically(folder.path() / "c.arrow", "\xFF\xFF\xFF\xFF\x10\0\0\0text"s);
    CHECK(message("c.arrow").find("c.arrow is an Arrow file, not a text") != std::string::npos);
  }

  TEST_CASE("a compressed corpus has the shards and offsets of the unpacked one, and leaves no file") {
    const TemporaryDirectory folder;
    std::string text = "\xEF\xBB\xBF";
    for (int i = 0; i < 5'000; ++i) text += "line " + std::to_string(i * 7919) + (i % 3 == 0 ? "\r\n" : "\n");
    write_file_atomically(folder.path() / "corpus.txt", text);
    gzFile file = gzopen((folder.path() / "corpus.txt.gz").c_str(), "wb");
    REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
    gzclose(file);
    const CorpusFile plain(folder.path() / "corpus.txt", folder.path());
    const CorpusFile packed(folder.path() / "corpus.txt.gz", folder.path() / "out");
    CHECK(std::filesystem::is_empty(folder.path() / "out"));
    CHECK(packed.bytes() == text.size());
    std::uint64_t skipped = 0;
    const std::vector<Line> lines = all_lines(plain, skipped);
    CHECK(all_lines(packed, skipped) == lines);
    CHECK(skipped == 0);
    CHECK(lines.front() == Line{0, "line 0"});
    CHECK(lines.size() == 5'000);
    for (const Line& line : lines) CHECK(packed.text_at(line.offset).text == line.text);
    std::filesystem::resize_file(folder.path() / "corpus.txt.gz", 1000);
    CHECK(test::error_message([&] { CorpusFile(folder.path() / "corpus.txt.gz", folder.path()); }).find("cut off") !=
          std::string::npos);
  }

  TEST_CASE("of JSON lines the texts are measured, and lines without one are counted") {
    const TemporaryDirectory folder;
    const std::filesystem::path path = folder.path() / "corpus.jsonl";
    write_file_atomically(path, "\n{\"text\": \"a\\nb\", \"body\": \"c\"}\r\n{\"body\": \"d\"}\n\nno object\n");
    const auto texts = [&](const char* field, std::uint64_t& skipped) {
      std::vector<std::string> found;
      for (const Line& line : all_lines(CorpusFile(path, folder.path(), {.is_json = true, .field = field}), skipped)) {
        found.push_back(line.text);
      }
      return found;
    };
    std::uint64_t skipped = 0;
    CHECK(texts("text", skipped) == std::vector<std::string>{"a\nb"});
    CHECK(skipped == 2);
    CHECK(texts("body", skipped) == std::vector<std::string>{"c", "d"});
    CHECK(skipped == 3);
    CHECK(CorpusFile(path, folder.path(), {.is_json = true}).text_at(1).text == "a\nb");
    CHECK(test::error_message([&] { texts("content", skipped); }) ==
          path.string() +
              ": the object has no \"content\", but body, text: name the one with the text (--field), or call it "
              "\"content\"");
    CHECK(CorpusFile(path, folder.path(), {.is_json = true}).identity() != CorpusFile(path, folder.path()).identity());
  }

  TEST_CASE("lines of JSON with a target are pairs where a model takes them, by what the first object has") {
    const TemporaryDirectory folder;
    const std::filesystem::path path = folder.path() / "pairs.jsonl";
    const auto shard_of = [&](const std::string& lines, bool takes_targets) {
      write_file_atomically(path, lines);
      const CorpusFile corpus(path, folder.path(), {.is_json = true, .takes_targets = takes_targets});
      return std::pair(corpus.has_targets(), corpus.shard(0));
    };
    const std::string first = R"({"text": "ein Hund", "target": "a dog"})", lacks = R"({"text": "allein"})";
    const auto pairs = shard_of(first + "\n" + lacks + "\n" + R"({"text": "x", "target": 3})", true);
    CHECK(pairs.first);
    REQUIRE(pairs.second.texts.size() == 1);
    CHECK(pairs.second.texts[0].text == "ein Hund");
    CHECK(pairs.second.texts[0].target == "a dog");
    CHECK(pairs.second.skipped == 2);
    CHECK(CorpusFile(path, folder.path(), {.is_json = true, .takes_targets = true}).text_at(0).target == "a dog");
    CHECK(CorpusFile(path, folder.path(), {.is_json = true, .takes_targets = true}).identity() !=
          CorpusFile(path, folder.path(), {.is_json = true}).identity());
    for (const auto& single : {shard_of(lacks + "\n" + first, true), shard_of(first + "\n" + lacks, false)}) {
      CHECK_FALSE(single.first);
      CHECK(single.second.texts.size() == 2);
      CHECK(single.second.texts[1].target.empty());
      CHECK(single.second.skipped == 0);
    }
    CHECK_FALSE(CorpusFile(path, folder.path(), {.takes_targets = true}).has_targets());
    CHECK(test::error_message([&] { shard_of(R"({"text": "x", "target": 3})", true); }).find("\"target\" is 3") !=
          std::string::npos);
  }
}

}  // namespace corpus_file_test
