// Shards of a corpus: together they have each line once, wherever lines end.
#include <doctest/doctest.h>

#include <random>

#include "app/survey/corpus_file.h"
#include "core/atomic_file.h"
#include "core/error.h"
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
        // Some of them longer than shards, some that end just where a shard does.
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
      const CorpusFile corpus(folder.path() / "corpus.txt");
      std::uint64_t skipped = 0;
      CHECK(all_lines(corpus, skipped) == expected);
      CHECK(skipped == 0);
      for (const Line& line : expected) CHECK(corpus.line_at(line.offset) == line.text);
    }
  }

  TEST_CASE("lines that are too long or not UTF-8 are skipped and counted") {
    const TemporaryDirectory folder;
    const std::string text =
        "one\n\xFF\xFE\n" + std::string(kLongestLine + 1, 'x') + "\ntwo\n" + std::string(kLongestLine, 'y') + "\nthree";
    write_file_atomically(folder.path() / "corpus.txt", text);
    const CorpusFile corpus(folder.path() / "corpus.txt");
    std::uint64_t skipped = 0;
    const std::vector<Line> lines = all_lines(corpus, skipped);
    CHECK(skipped == 2);
    REQUIRE(lines.size() == 4);
    CHECK(lines[1].text == "two");
    CHECK(lines[2].text.size() == kLongestLine);
    CHECK(lines[3].text == "three");
  }

  TEST_CASE("what is no corpus is refused in a line") {
    const TemporaryDirectory folder;
    write_file_atomically(folder.path() / "empty.txt", "");
    const auto message = [&](const std::string& name) {
      return test::error_message([&] { const CorpusFile corpus(folder.path() / name); });
    };
    CHECK(message("none.txt").find("can't open") == 0);
    CHECK(message("empty.txt").find("is empty; give a text file") != std::string::npos);
    CHECK(message(".").find("is no regular file") != std::string::npos);
    CHECK(message("a.gz").find("is compressed") != std::string::npos);
  }
}

}  // namespace corpus_file_test
