#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "evaluation/corpus_statistics.h"

namespace headlight::app {

/// The identity of a survey: its measurements, corpus and model. A survey that was interrupted goes on only with an equal
/// identity, and parts are merged only where theirs are equal.
struct SurveyIdentity {
  std::string corpus;  ///< name, size, time of the last change, and how it is read: unchanged after it was moved
  std::string model;   ///< its name, size and time of the last change: unchanged after it was moved
  evaluation::CorpusMeasures measures = {};
  bool is_half = false;  ///< weights are rounded to float16

  std::string text() const;
};

/// Shards [first, end) of a corpus.
struct ShardRange {
  std::uint64_t first = 0, end = 0;
  bool operator==(const ShardRange&) const = default;
};

/// The statistics of shards, added up by pairs: those of shards 2 i and 2 i + 1 first, then of four, of eight, and at the
/// end what is left from the first shard to the last. So the bits of the sums depend neither on who measures which shard,
/// nor on when, nor on how the corpus was divided into parts that are merged; and what is kept are the sums of some
/// log₂(shards) runs of shards. Shards are handed out in order, and never further ahead of the first that isn't there
/// than kMaxAhead.
class SurveyFold {
 public:
  static constexpr std::uint64_t kMaxAhead = 256;

  /// Begins to fold all shards of a corpus, or of a part. Goes on from `file` where it is there. Throws Error where it is
  /// another survey's or part's, or isn't as save() wrote it.
  SurveyFold(SurveyIdentity identity, std::uint64_t shards, std::filesystem::path file, std::optional<ShardRange> part = {});

  /// Returns the next shard that was not handed out; none: all were, or too many are under way.
  std::optional<std::uint64_t> take();
  void give(std::uint64_t shard, evaluation::CorpusStatistics&& found);
  /// Takes in what save() wrote of a part, complete or not. Throws Error naming the file where it is another survey's, is
  /// damaged, or has shards that are here already. Returns which part it is.
  ShardRange take_in(const std::filesystem::path& file);
  /// Replaces the file by what is known now, without what waits for an earlier shard.
  void save() const;

  /// Returns the shards of this part that are folded, and all of them.
  std::uint64_t done() const { return folded_ - part_.first; }
  std::uint64_t shards() const { return part_.end - part_.first; }
  bool is_complete() const { return folded_ == part_.end; }
  /// Returns the first shard that isn't there, of the whole corpus.
  std::uint64_t next_missing() const { return folded_; }
  std::uint64_t texts() const;
  evaluation::CorpusStatistics statistics() const;

 private:
  struct Node {
    std::uint32_t level = 0;  ///< of 2^level shards
    evaluation::CorpusStatistics sum;
  };
  void add(std::uint64_t first, Node&& node);

  SurveyIdentity identity_;
  std::uint64_t total_ = 0;
  ShardRange part_;
  std::uint64_t folded_ = 0, next_ = 0;
  std::filesystem::path file_;
  std::map<std::uint64_t, Node> nodes_;  ///< by their first shard, a multiple of their size
};

}  // namespace headlight::app
