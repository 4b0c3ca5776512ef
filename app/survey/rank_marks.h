#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "platform/signals.h"

namespace headlight::app {

/// Notes what a rank is doing, in a file of its own that outlives it: who reads the files after a crash knows which rank
/// died, where, and in which shard. A rank that is asked to end (Ctrl-C, or mpirun after another rank died) notes that it
/// was.
class RankMark {
 public:
  /// Opens `folder`/rank-N. Takes over SIGINT and SIGTERM until it is destroyed; there may be one mark at a time. Throws
  /// Error where the file can't be written.
  RankMark(const std::filesystem::path& folder, int rank, int ranks);
  /// Notes that the rank ended by itself.
  ~RankMark();
  RankMark(const RankMark&) = delete;
  RankMark& operator=(const RankMark&) = delete;

  /// Notes the shard that the rank begins. May be called from any thread.
  void begin(std::uint64_t shard);

 private:
  void write(const std::string& status);

  std::mutex mutex_;
  std::string who_;
  platform::Descriptor file_;
  std::optional<platform::LastWords> stopped_;
};

/// Returns a line for each rank of the last run that died: "rank 2 of 4 (host, process 123) died in shard 17". Removes all
/// marks.
std::vector<std::string> take_dead_ranks(const std::filesystem::path& folder);

}  // namespace headlight::app
