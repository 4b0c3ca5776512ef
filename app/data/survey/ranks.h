#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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

/// The messages that ranks send each other.
enum class RankMessage : std::uint8_t {
  Ready = 1,   ///< to rank 0: how many shards the rank may have at once (u64)
  Shard = 2,   ///< from rank 0: the number of a shard (u64)
  Result = 3,  ///< to rank 0: a shard's number, and its statistics
  Stop = 4,    ///< from rank 0: all is measured
};

/// The processes that share a survey. Used by the main thread alone.
class Ranks {
 public:
  struct Received {
    int from = 0;
    RankMessage kind = RankMessage::Ready;
    std::string bytes;
  };

  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns the rank's number among those of its machine: which of several devices it takes.
  virtual int rank_of_machine() const = 0;
  virtual void send(int to, RankMessage kind, const std::string& bytes) = 0;
  /// Returns the next message that is there already.
  virtual std::optional<Received> receive() = 0;
  /// Ends all ranks, because this one can't go on.
  virtual void abort() = 0;
};

/// Returns the ranks of the mpirun (or srun) that started this program; without one a single rank. Throws Error where the
/// program was started by one but was built without MPI.
std::unique_ptr<Ranks> join_ranks();

}  // namespace headlight::app
