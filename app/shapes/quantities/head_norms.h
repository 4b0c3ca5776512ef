#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attention/layer_graph.h"
#include "attribution/value_norms.h"
#include "model/network.h"

namespace headlight::app {

/// The factor of norm-weighted attention besides the weights: ‖v_j W_O‖ of one head's keys, as far as it is known. Its
/// readers bring the values, in pieces and any order, and share what is computed of them. Not thread-safe.
class HeadNorms {
 public:
  /// Rows of V that are read next.
  struct Piece {
    std::uint32_t first = 0, count = 0;
  };

  /// Makes the norms of a head. `network`: kept, since its weights are read. Throws Error when it has no such block.
  HeadNorms(std::shared_ptr<const model::Network> network, model::BlockRef block, std::uint32_t head,
            const attention::BlockShape& shape);
  /// Makes the same head with other values of the same network: what was computed of W_O stays.
  HeadNorms(const HeadNorms& before, const attention::BlockShape& shape);

  /// Returns the first piece of the keys [begin, end) that isn't known; nullopt: all are.
  std::optional<Piece> missing(std::uint32_t begin, std::uint32_t end) const;
  /// Takes the values [count, d_v] of a piece, at most some 20 ms of arithmetic: it may be missing() again afterwards,
  /// because there was more to compute of W_O first.
  void take(const Piece& piece, std::span<const float> values);
  /// Returns the norm of a known key, as the query's row meets it: only heads that are merged without a transpose meet
  /// another part of W_O in each row.
  double norm(std::uint32_t query, std::uint32_t key) const {
    return norms_[parts_->size() == 1 ? 0 : (std::size_t{head_} * queries_ + query) % parts_->size()][key];
  }

  const model::Network* network() const { return network_.get(); }
  std::size_t bytes() const;

 private:
  void resize(const attention::BlockShape& shape);

  std::shared_ptr<const model::Network> network_;
  std::uint32_t head_ = 0, queries_ = 0, keys_ = 0;
  std::uint32_t piece_ = 1;                                      ///< keys that are read at once
  std::shared_ptr<std::vector<attribution::ValueNorms>> parts_;  ///< of W_O that the head's rows meet: one, or all heads'
  std::vector<std::vector<double>> norms_;                       ///< [part][key]
  std::vector<bool> is_known_;                                   ///< [piece]
};

/// Keeps the norms of the heads that were asked for last, so that all tiles of a map share them, and what was computed of
/// W_O for the next runs' maps. Each head's norms are kept for two runs: the newest one and the one that it is compared
/// with. Not thread-safe.
class HeadNormsCache {
 public:
  /// Returns the head's norms, made where they aren't kept. `version`: Run::version of the block, in one session: another
  /// one means other values.
  std::shared_ptr<HeadNorms> find(const std::shared_ptr<const model::Network>& network, model::BlockRef block,
                                  std::uint32_t batch, std::uint32_t head, std::uint64_t version,
                                  const attention::BlockShape& shape);
  /// Forgets what isn't of these layers: norms keep the network whose weights they read, with its mapped files.
  void keep_only(std::span<const model::Layers* const> layers);
  void clear() { entries_.clear(), largest_.clear(); }
  std::size_t size() const { return entries_.size(); }

  /// A head in one state of its values: `version` as find() takes it.
  struct Key {
    model::BlockRef block;
    std::uint32_t batch = 0, head = 0;
    std::uint64_t version = 0;

    auto operator<=>(const Key&) const = default;
  };
  /// Returns the head's Tile::largest of `network`, which its tiles share; none: it wasn't kept, or long ago.
  std::optional<float> largest(const model::Network* network, const Key& key) const;
  void keep_largest(const model::Network* network, const Key& key, float largest);

 private:
  struct Entry {
    std::shared_ptr<HeadNorms> norms;
    std::uint64_t used_at = 0;  ///< uses_ then
  };
  /// Forgets all versions of the key's head but the last used ones.
  void forget_old_versions(const Key& key);
  void evict();

  std::map<Key, Entry> entries_;
  std::map<std::pair<const model::Layers*, Key>, float> largest_;
  std::uint64_t uses_ = 0;
};

}  // namespace headlight::app
