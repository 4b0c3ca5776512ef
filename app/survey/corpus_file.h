#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "evaluation/corpus_survey.h"

namespace headlight::app {

/// Bytes of a shard: some 4,000 tokens of English.
inline constexpr std::uint64_t kShardBytes = std::uint64_t{16} << 10;
/// Longer lines are skipped.
inline constexpr std::uint64_t kLongestLine = std::uint64_t{1} << 20;

/// Lines of one shard.
struct CorpusShard {
  std::vector<evaluation::CorpusText> texts;
  std::uint64_t skipped = 0;  ///< lines that are too long or not UTF-8
};

/// A text file, a text a line, of any size: only the shard that is read is in memory. Shard s has the lines whose first byte
/// is in [s, s + 1) · kShardBytes, so that it is found without reading what is before it. Not thread-safe.
class CorpusFile {
 public:
  /// Throws Error where it isn't a regular file that can be read, or holds nothing.
  explicit CorpusFile(std::filesystem::path path);
  ~CorpusFile();
  CorpusFile(const CorpusFile&) = delete;
  CorpusFile& operator=(const CorpusFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }
  /// When it was changed last, in nanoseconds since 1970.
  std::int64_t changed() const { return changed_; }
  std::uint64_t shards() const { return (bytes_ + kShardBytes - 1) / kShardBytes; }

  /// Throws Error naming the file where it can't be read any more.
  CorpusShard shard(std::uint64_t index) const;
  /// The line that begins there, cut after kLongestLine bytes.
  std::string line_at(std::uint64_t offset) const;

 private:
  std::string read(std::uint64_t offset, std::uint64_t size) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
  std::int64_t changed_ = 0;
};

}  // namespace headlight::app
