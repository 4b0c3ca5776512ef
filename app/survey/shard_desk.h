#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "evaluation/corpus_statistics.h"

namespace headlight::app {

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
