#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "capture/capture_file.h"
#include "inference/session.h"

namespace headlight::capture {

inline constexpr std::size_t kMostPartBytes = std::size_t{256} << 20;

/// Captured queries, keys and values on a session's device, some heads of a block at a time: each such part is uploaded when
/// a tile asks for it, and the least recently used go when all of them take more than a fixed budget. Not thread-safe.
class DeviceParts {
 public:
  /// The session must outlive it. `most_bytes`: of all parts, unless one alone has more.
  explicit DeviceParts(inference::Session& session, std::size_t most_bytes = kMostPartBytes)
      : session_(session), most_bytes_(most_bytes) {}

  /// Consecutive heads of one line of the batch.
  struct Part {
    /// Of these heads, counted from 0; null: the host computes them, because a matrix is more than the device binds, a
    /// number of theirs is not finite, of which kernels promise nothing, rows are missing, which kernels would compute, or
    /// scores have biases or sinks, which no kernel reads.
    std::shared_ptr<const inference::Run> run = nullptr;
    std::uint32_t first_head = 0, heads = 0;
  };
  /// Of a block with queries and keys. Throws Error when the file can't be read any more, or the device can't hold a part.
  Part part(const CapturedBlock& block, std::uint32_t item, std::uint32_t head);

 private:
  struct Key {
    model::BlockRef block;
    std::uint32_t item = 0, first_head = 0;

    auto operator<=>(const Key&) const = default;
  };
  struct Kept {
    std::shared_ptr<const inference::Run> run = nullptr;
    std::size_t bytes = 0;
    std::uint64_t last_use = 0;
  };
  Kept make(const CapturedBlock& block, const Key& key, std::uint32_t heads);
  /// Frees parts until so many bytes are left for others.
  void make_room(std::size_t bytes);

  inference::Session& session_;
  std::size_t most_bytes_;
  std::map<Key, Kept> kept_;
  std::uint64_t uses_ = 0;
};

}  // namespace headlight::capture
