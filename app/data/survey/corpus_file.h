#pragma once

#include "core/file.h"
#include "core/text_bytes.h"
#include "evaluation/corpus_survey.h"

namespace headlight::app {

/// Bytes of a shard: some 4,000 tokens of English.
inline constexpr std::uint64_t kShardBytes = std::uint64_t{16} << 10;
/// Longer lines are skipped.
inline constexpr std::uint64_t kLongestCorpusLine = std::uint64_t{1} << 20;

/// The name of standard input where a corpus' path is shown.
inline constexpr const char* kStandardInputName = "standard input";

/// Lines of one shard.
struct CorpusShard {
  std::vector<evaluation::CorpusText> texts;
  std::uint64_t skipped = 0;  ///< lines that are too long, not UTF-8, or of JSON lines no object with a text
};

/// The member of a JSON object with what a decoder reads, as of headlight export --texts.
inline constexpr const char* kTargetField = "target";

/// The format in which a corpus is read.
struct CorpusFormat {
  bool is_json = false;          ///< a JSON object a line, whatever the file's name is
  std::string field = "text";    ///< of these objects
  bool takes_targets = false;    ///< texts are pairs where the first object has kTargetField as well
  std::uint64_t most_lines = 0;  ///< of the unpacked text, from its beginning; 0: all
  double share = 1.0;            ///< of the lines, those whose text_hash() is below it, 0 to 1
};

/// A corpus of any size, a text a line or a JSON object a line: only the shard that is read is in memory. Shard s has the
/// lines whose first byte is in [s, s + 1) · kShardBytes, so that it is found without reading what is before it. Gzip's
/// output can't be read from any place on, and standard input only once: both are first copied, unpacked, into a file
/// without a name, which is gone when this is; offsets and shards are those of the unpacked text. Any thread may read
/// shards.
class CorpusFile {
 public:
  /// `path`: "-" is standard input. `folder` has room for a copy. Throws Error where it isn't a text that can be read (and
  /// then what it is), holds nothing, or has a first line of JSON that is no object with a text.
  CorpusFile(const std::filesystem::path& path, const std::filesystem::path& folder, CorpusFormat format = {});

  /// Returns the file's path, or "standard input".
  const std::filesystem::path& path() const { return path_; }
  /// Returns the size of the unpacked text, up to the last line that is read.
  std::uint64_t bytes() const { return bytes_; }
  /// Returns what distinguishes this corpus from others: its name, size, time of the last change and format; for standard
  /// input a check sum.
  const std::string& identity() const { return identity_; }
  std::uint64_t shards() const { return (bytes_ + kShardBytes - 1) / kShardBytes; }

  /// Throws Error naming the file where it can't be read any more.
  CorpusShard shard(std::uint64_t index) const;
  /// Returns the line that begins there, which is cut after kLongestCorpusLine bytes.
  evaluation::CorpusText text_at(std::uint64_t offset) const;
  /// Are texts pairs? Then lines without a target are skipped.
  bool has_targets() const { return format_.takes_targets; }

 private:
  void copy(TextBytes& text, std::string_view first, const std::filesystem::path& folder);
  void check_first_object();
  void cut_after(std::uint64_t most_lines);
  std::string read(std::uint64_t offset, std::uint64_t size) const;
  std::string line_at(std::uint64_t offset) const;
  static std::string tidy(std::string line, std::uint64_t offset);
  evaluation::CorpusText text_of(std::string line, std::uint64_t offset) const;
  void add_line(std::string line, std::uint64_t offset, bool is_whole, CorpusShard& shard) const;

  std::filesystem::path path_;
  CorpusFormat format_;
  Descriptor file_;
  std::uint64_t bytes_ = 0;
  std::string identity_;
};

}  // namespace headlight::app
