#pragma once

#include <compare>
#include <map>

#include "capture/capture_file.h"
#include "capture/numbers.h"
#include "inference/session.h"

namespace headlight::capture {

inline constexpr std::size_t kMaxPartBytes = std::size_t{256} << 20;

/// Captured queries, keys and values on a session's device, some heads of a block at a time: each such part is uploaded when
/// a tile asks for it, and the least recently used go when all of them take more than a fixed budget. Not thread-safe.
class DeviceParts {
 public:
  /// The session must outlive it. `most_bytes`: of all parts, unless one alone has more.
  explicit DeviceParts(inference::Session& session, std::size_t most_bytes = kMaxPartBytes)
      : session_(session), most_bytes_(most_bytes) {}

  /// Consecutive heads of one line of the batch.
  struct Part {
    /// A run of these heads, counted from 0. Null where the host computes them: a matrix is more than the device binds,
    /// a number of theirs isn't finite, for which kernels promise nothing, rows are missing, which kernels would
    /// compute, or scores have biases or sinks, which no kernel reads.
    std::shared_ptr<const inference::Run> run = nullptr;
    std::uint32_t first_head = 0, heads = 0;
  };
  /// Returns the part of a block with queries and keys. Throws Error when the file can't be read any more, or the
  /// device can't hold a part.
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

/// Head outputs of captured values, on the host: Σⱼ weightⱼ · vⱼ, sums of double precision, rounded once. Not thread-safe.
class MixedValues {
 public:
  /// `values` [batch, kv_heads, n_k, d_v] of attention with `heads` heads, which kv_heads divides.
  MixedValues(std::shared_ptr<const Numbers> values, std::uint32_t heads);

  std::uint32_t width() const { return values_->shape()[3]; }  ///< d_v
  /// Rows of V as a head of queries reads them.
  void read(const Rectangle& cells, float* to) const;
  /// Components [first, first + count) of the mix with one row of a head's weights [n_k]. A key whose weight is 0 has no
  /// part in it, whatever its value is.
  void mix(std::uint32_t item, std::uint32_t head, std::span<const float> weights, std::uint32_t first, std::uint32_t count,
           float* to) const;

 private:
  std::shared_ptr<const Numbers> values_;
  std::uint32_t group_ = 1;            ///< heads that share values
  mutable std::vector<float> loaded_;  ///< [key, d_v] of the item and the KV head that were read last
  mutable std::uint32_t loaded_item_ = 0, loaded_head_ = 0;
};

}  // namespace headlight::capture
