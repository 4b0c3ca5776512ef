#include "app/engine/tile_cache.h"

#include <algorithm>
#include <set>
#include <utility>

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

/// Of what a tile depends on in a run whose blocks have these versions; 0: unknown.
std::uint64_t version_of(const TileQuery& query, const BlockVersions& versions) {
  if (quantity(query.quantity).scope != Scope::Kind) {
    const auto found = versions.find(query.block);
    return found == versions.end() ? 0 : found->second;
  }
  std::uint64_t newest = 0;  // a block that is computed anew gets the largest number so far
  for (const auto& [block, version] : versions) {
    if (block.kind == query.block.kind) newest = std::max(newest, version);
  }
  return newest;
}

/// The same of the other run of a difference.
std::uint64_t reference_version_of(const TileQuery& query, const BlockVersions& versions) {
  return quantity(query.quantity).base ? version_of(query, versions) : 0;
}

}  // namespace

EngineTile make_engine_tile(attention::Tile tile, std::uint64_t run, std::uint64_t version) {
  auto facts = std::make_shared<const TileFacts>(make_tile_facts(tile));
  return {.tile = std::make_shared<const attention::Tile>(std::move(tile)),
          .run = run,
          .version = version,
          .facts = std::move(facts)};
}

bool TileCache::is_up_to_date(const TileQuery& query, const EngineTile& known) const {
  const std::uint64_t version = version_of(query, versions_);
  return version != 0 && known.version == version &&
         known.reference_version == reference_version_of(query, reference_versions_);
}

EngineTiles::iterator TileCache::drop(EngineTiles::iterator entry) {
  bytes_ -= bytes_of(entry->second);
  wanted_at_.erase(entry->first);
  return tiles_.erase(entry);
}

void TileCache::begin_run(std::uint64_t run, const BlockShapes& before, const BlockShapes& after, BlockVersions versions) {
  run_ = run;
  versions_ = std::move(versions);
  for (auto entry = tiles_.begin(); entry != tiles_.end();) {
    if (!has_same_shape(entry->first.block, before, after)) {
      entry = drop(entry);
      continue;
    }
    if (is_up_to_date(entry->first, entry->second)) entry->second.run = run;
    ++entry;
  }
}

void TileCache::compare_with(BlockVersions reference) {
  if (reference == reference_versions_) return;
  reference_versions_ = std::move(reference);
  for (auto entry = tiles_.begin(); entry != tiles_.end();) {
    if (!quantity(entry->first.quantity).base) {
      ++entry;
    } else if (reference_versions_.empty()) {
      entry = drop(entry);
    } else {
      entry->second.run = is_up_to_date(entry->first, entry->second) ? run_ : 0;
      ++entry;
    }
  }
}

std::vector<TileQuery> TileCache::missing(std::span<const TileQuery> queries) {
  ++clock_;
  std::vector<TileQuery> result;
  std::set<TileQuery> seen;
  for (const TileQuery& query : queries) {
    if (!seen.insert(query).second) continue;
    wanted_at_[query] = clock_;
    const auto found = tiles_.find(query);
    if (found == tiles_.end() || found->second.run != run_) result.push_back(query);
  }
  // A query that a later one replaced before its tile was evaluated will never be evicted with a tile.
  std::erase_if(wanted_at_, [&](const auto& entry) { return entry.second < clock_ && !tiles_.contains(entry.first); });
  evict();
  return result;
}

Task<void> TileCache::add_evaluated(TileQuery query, Evaluation evaluation) {
  attention::Tile tile = co_await std::move(evaluation);
  add(query, std::move(tile));
}

void TileCache::add(const TileQuery& query, attention::Tile tile) {
  if (const auto old = tiles_.find(query); old != tiles_.end()) bytes_ -= bytes_of(old->second);
  EngineTile& known = tiles_[query] = make_engine_tile(std::move(tile), run_, version_of(query, versions_));
  known.reference_version = reference_version_of(query, reference_versions_);
  bytes_ += bytes_of(known);
  wanted_at_.try_emplace(query, clock_);
  evict();
}

void TileCache::evict() {
  if (bytes_ <= budget_bytes_) return;
  std::vector<std::pair<std::uint64_t, TileQuery>> oldest_first;
  for (const auto& [query, entry] : tiles_) {
    const std::uint64_t wanted_at = wanted_at_[query];
    if (wanted_at < clock_) oldest_first.emplace_back(wanted_at, query);
  }
  std::sort(oldest_first.begin(), oldest_first.end());
  for (const auto& [wanted_at, query] : oldest_first) {
    if (bytes_ <= budget_bytes_) return;
    drop(tiles_.find(query));
  }
}

}  // namespace headlight::app
