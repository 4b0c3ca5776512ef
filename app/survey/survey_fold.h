#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "evaluation/corpus_statistics.h"

namespace headlight::app {

/// What identifies a survey: what it measures, of what, with which model. A survey that was interrupted goes on only with
/// the same.
struct SurveyIdentity {
  std::string corpus;  ///< path, size and time of the last change
  std::string model;   ///< likewise of its files
  evaluation::CorpusMeasures measures = {};

  std::string text() const;
};

/// The statistics of all shards, added up in the order of the corpus whatever order they come in: so the bits of the sums
/// don't depend on who measures which shard. Shards are handed out in that order too, and never further ahead of the sum
/// than kMaxAhead, so that what waits for its turn stays small.
class SurveyFold {
 public:
  static constexpr std::uint64_t kMaxAhead = 256;

  /// Goes on from `file` where it is there. Throws Error where it is another survey's, or isn't as save() wrote it.
  SurveyFold(SurveyIdentity identity, std::uint64_t shards, std::filesystem::path file);

  /// The next shard that was not handed out; none: all were, or too many are under way.
  std::optional<std::uint64_t> take();
  void give(std::uint64_t shard, evaluation::CorpusStatistics&& found);
  /// Replaces the file by what is known now.
  void save() const;

  std::uint64_t done() const { return folded_; }
  std::uint64_t shards() const { return shards_; }
  bool is_complete() const { return folded_ == shards_; }
  const evaluation::CorpusStatistics& statistics() const { return sum_; }

 private:
  SurveyIdentity identity_;
  std::uint64_t shards_ = 0, folded_ = 0, next_ = 0;
  std::filesystem::path file_;
  evaluation::CorpusStatistics sum_;
  std::map<std::uint64_t, evaluation::CorpusStatistics> waiting_;
};

}  // namespace headlight::app
