#include "app/engine/tile_cache.h"

#include <algorithm>
#include <set>
#include <utility>

#include "app/engine/head_mean.h"

namespace headlight::app {
namespace {

std::size_t bytes_of(const EngineTile& known) {
  const attention::Tile& tile = *known.tile;
  return sizeof(tile) + tile.masked.size() +
         (tile.values.size() + tile.row_max.size() + tile.row_sum.size()) * sizeof(float) + known.facts->bytes();
}

bool has_same_shape(model::BlockRef block, const BlockShapes& before, const BlockShapes& after) {
  const auto left = before.find(block);
  const auto right = after.find(block);
  if (left == before.end() || right == after.end()) return false;
  const inference::BlockShape& a = left->second;
  const inference::BlockShape& b = right->second;
  return a.batch == b.batch && a.heads == b.heads && a.queries == b.queries && a.keys == b.keys && a.d_model == b.d_model &&
         a.d_k == b.d_k && a.d_v == b.d_v && a.d_merged == b.d_merged && a.d_output == b.d_output &&
         a.has_input == b.has_input;
}

}  // namespace

EngineTile make_engine_tile(attention::Tile tile, std::uint64_t run, std::uint64_t version) {
  auto facts = std::make_shared<const TileFacts>(make_tile_facts(tile));
  return {.tile = std::make_shared<const attention::Tile>(std::move(tile)),
          .run = run,
          .version = version,
          .facts = std::move(facts)};
}

std::uint64_t TileCache::version_of(const attention::TileRequest& request) const {
  if (request.head != kMeanOfKind) {
    const auto found = versions_.find(request.block);
    return found == versions_.end() ? 0 : found->second;
  }
  std::uint64_t newest = 0;  // a block that is computed anew gets the largest number so far
  for (const auto& [block, version] : versions_) {
    if (block.kind == request.block.kind) newest = std::max(newest, version);
  }
  return newest;
}

void TileCache::begin_run(std::uint64_t run, const BlockShapes& before, const BlockShapes& after, BlockVersions versions) {
  run_ = run;
  versions_ = std::move(versions);
  for (auto entry = tiles_.begin(); entry != tiles_.end();) {
    if (has_same_shape(entry->first.block, before, after)) {
      const std::uint64_t version = version_of(entry->first);
      if (version != 0 && entry->second.version == version) entry->second.run = run;
      ++entry;
      continue;
    }
    bytes_ -= bytes_of(entry->second);
    wanted_at_.erase(entry->first);
    entry = tiles_.erase(entry);
  }
}

std::vector<attention::TileRequest> TileCache::missing(std::span<const attention::TileRequest> requests) {
  ++clock_;
  std::vector<attention::TileRequest> result;
  std::set<attention::TileRequest> seen;
  for (const attention::TileRequest& request : requests) {
    if (!seen.insert(request).second) continue;
    wanted_at_[request] = clock_;
    const auto found = tiles_.find(request);
    if (found == tiles_.end() || found->second.run != run_) result.push_back(request);
  }
  // A request that a later one replaced before its tile was evaluated will never be evicted with a tile.
  std::erase_if(wanted_at_, [&](const auto& entry) { return entry.second < clock_ && !tiles_.contains(entry.first); });
  evict();
  return result;
}

void TileCache::add(attention::Tile tile) {
  const attention::TileRequest request = tile.request;
  if (const auto old = tiles_.find(request); old != tiles_.end()) bytes_ -= bytes_of(old->second);
  EngineTile& known = tiles_[request] = make_engine_tile(std::move(tile), run_, version_of(request));
  bytes_ += bytes_of(known);
  wanted_at_.try_emplace(request, clock_);
  evict();
}

void TileCache::evict() {
  if (bytes_ <= budget_bytes_) return;
  std::vector<std::pair<std::uint64_t, attention::TileRequest>> oldest_first;
  for (const auto& [request, entry] : tiles_) {
    const std::uint64_t wanted_at = wanted_at_[request];
    if (wanted_at < clock_) oldest_first.emplace_back(wanted_at, request);
  }
  std::sort(oldest_first.begin(), oldest_first.end());
  for (const auto& [wanted_at, request] : oldest_first) {
    if (bytes_ <= budget_bytes_) return;
    bytes_ -= bytes_of(tiles_[request]);
    tiles_.erase(request);
    wanted_at_.erase(request);
  }
}

}  // namespace headlight::app
