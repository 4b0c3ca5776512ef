#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

#include "app/survey/corpus_file.h"
#include "app/survey/ranks.h"
#include "app/survey/survey_fold.h"
#include "evaluation/corpus_statistics.h"
#include "inference/language_model.h"

namespace headlight::app {

struct SurveyProgress {
  std::uint64_t done = 0, shards = 0;
  std::uint64_t texts = 0;
};

struct SurveyOptions {
  std::filesystem::path directory;
  SurveyIdentity identity;
  std::vector<std::string> devices = {};                     ///< one thread for each; empty: one, on the best device
  std::function<void(const SurveyProgress&)> progress = {};  ///< of rank 0
  std::function<void(const std::string&)> tell = {};         ///< a line for the user, of rank 0
  std::function<void(const std::string&)> opened = {};       ///< the name of each device of this rank, from its thread
};

/// Measures a corpus, from where `options.directory` left off, with all ranks and their devices. Returns the statistics on
/// rank 0 and null on others. Shards are measured one by one, wherever, and added up in the order of the corpus. Throws
/// Error in one line that names the rank and its shard; what was measured by then is in the directory.
std::unique_ptr<SurveyFold> run_survey(Ranks& ranks, const std::shared_ptr<const inference::LanguageModel>& model,
                                       const CorpusFile& corpus, const SurveyOptions& options);

/// Between the threads that measure shards, one a device, and the main thread of their rank. From any thread.
class ShardDesk {
 public:
  using Result = std::pair<std::uint64_t, evaluation::CorpusStatistics>;

  // Of the main thread.
  void offer(std::uint64_t shard);
  /// take() returns none from now on.
  void close();
  /// Shards that are offered or being measured.
  std::size_t under_way() const;
  /// What was measured since the last call; waits for `patience_ms` at most. Throws what a measuring thread failed with.
  std::vector<Result> results(int patience_ms);

  // Of a thread that measures.
  std::optional<std::uint64_t> take();
  void give(std::uint64_t shard, evaluation::CorpusStatistics&& found);
  void fail(std::exception_ptr reason);

 private:
  mutable std::mutex mutex_;
  std::condition_variable offered_, given_;
  std::deque<std::uint64_t> shards_;
  std::vector<Result> results_;
  std::size_t under_way_ = 0;
  bool is_closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace headlight::app
