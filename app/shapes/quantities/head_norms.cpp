#include "app/shapes/quantities/head_norms.h"

#include <algorithm>
#include <utility>

namespace headlight::app {
namespace {

/// Multiply-adds of one take(), some 10 ms, and keys read at once at most.
constexpr std::size_t kWork = std::size_t{1} << 23;
constexpr std::size_t kMaxKeys = 4'096;
/// The most bytes of all kept norms: those of 128 heads of a text of 32,768 tokens.
constexpr std::size_t kCacheBytes = std::size_t{32} << 20;
constexpr std::size_t kMaxVersions = 2;  ///< of a head

}  // namespace

HeadNorms::HeadNorms(std::shared_ptr<const model::Network> network, model::BlockRef block, std::uint32_t head,
                     const attention::BlockShape& shape)
    : network_(std::move(network)), head_(head), parts_(std::make_shared<std::vector<attribution::ValueNorms>>()) {
  const model::AttentionLayer& layer = network_->layer(block);
  const bool is_own_part = layer.config.merge == model::MergeOrder::Concatenate;
  for (std::uint32_t part = 0; part < (is_own_part ? 1 : shape.heads); ++part) {
    parts_->emplace_back(layer, is_own_part ? head : part);
  }
  resize(shape);
}

HeadNorms::HeadNorms(const HeadNorms& before, const attention::BlockShape& shape)
    : network_(before.network_), head_(before.head_), parts_(before.parts_) {
  resize(shape);
}

void HeadNorms::resize(const attention::BlockShape& shape) {
  queries_ = shape.queries;
  keys_ = shape.keys;
  const std::size_t work = std::max<std::size_t>(parts_->front().work_per_key() * parts_->size(), 1);
  piece_ = static_cast<std::uint32_t>(std::clamp<std::size_t>(kWork / work, 1, kMaxKeys));
  norms_.assign(parts_->size(), std::vector<double>(keys_));
  is_known_.assign((keys_ + piece_ - 1) / piece_, false);
}

std::optional<HeadNorms::Piece> HeadNorms::missing(std::uint32_t begin, std::uint32_t end) const {
  for (std::uint32_t piece = begin / piece_; piece * piece_ < std::min(end, keys_); ++piece) {
    if (is_known_[piece]) continue;
    return Piece{.first = piece * piece_, .count = std::min(piece_, keys_ - piece * piece_)};
  }
  return std::nullopt;
}

void HeadNorms::take(const Piece& piece, std::span<const float> values) {
  if (is_known_[piece.first / piece_]) return;  // another tile has brought it
  for (attribution::ValueNorms& part : *parts_) {
    if (!part.prepare()) return;
  }
  for (std::size_t part = 0; part < parts_->size(); ++part) {
    const std::vector<double> norms = (*parts_)[part].of(values);
    std::ranges::copy(norms, norms_[part].begin() + piece.first);
  }
  is_known_[piece.first / piece_] = true;
}

std::size_t HeadNorms::bytes() const { return norms_.size() * std::size_t{keys_} * sizeof(double); }

std::shared_ptr<HeadNorms> HeadNormsCache::find(const std::shared_ptr<const model::Network>& network, model::BlockRef block,
                                                std::uint32_t batch, std::uint32_t head, std::uint64_t version,
                                                const attention::BlockShape& shape) {
  const Key key{.block = block, .batch = batch, .head = head, .version = version};
  const auto fits = [&](const Entry& entry) { return entry.norms->network()->layers == network->layers; };
  if (const auto known = entries_.find(key); known != entries_.end() && fits(known->second)) {
    known->second.used_at = ++uses_;
    return known->second.norms;
  }
  std::shared_ptr<HeadNorms> norms;
  for (auto other = entries_.lower_bound({.block = block, .batch = batch, .head = head}); other != entries_.end(); ++other) {
    if (other->first.block != block || other->first.batch != batch || other->first.head != head) break;
    if (fits(other->second)) norms = std::make_shared<HeadNorms>(*other->second.norms, shape);
  }
  if (!norms) norms = std::make_shared<HeadNorms>(network, block, head, shape);
  entries_.insert_or_assign(key, Entry{.norms = norms, .used_at = ++uses_});
  forget_old_versions(key);
  evict();
  return norms;
}

void HeadNormsCache::forget_old_versions(const Key& key) {
  const auto first = entries_.lower_bound({.block = key.block, .batch = key.batch, .head = key.head});
  const auto is_of_head = [&](const Key& other) {
    return other.block == key.block && other.batch == key.batch && other.head == key.head;
  };
  std::size_t count = 0;
  auto oldest = first;
  for (auto entry = first; entry != entries_.end() && is_of_head(entry->first); ++entry, ++count) {
    if (entry->second.used_at < oldest->second.used_at) oldest = entry;
  }
  if (count > kMaxVersions) entries_.erase(oldest);  // one is added at a time
}

void HeadNormsCache::keep_only(std::span<const model::Layers* const> layers) {
  const auto is_other = [&](const model::Layers* of) { return std::ranges::find(layers, of) == layers.end(); };
  std::erase_if(entries_, [&](const auto& entry) { return is_other(entry.second.norms->network()->layers.get()); });
  std::erase_if(largest_, [&](const auto& entry) { return is_other(entry.first.first); });
}

std::optional<float> HeadNormsCache::largest(const model::Network* network, const Key& key) const {
  const auto known = largest_.find({network->layers.get(), key});
  return known == largest_.end() ? std::nullopt : std::optional(known->second);
}

void HeadNormsCache::keep_largest(const model::Network* network, const Key& key, float largest) {
  constexpr std::size_t kMostKept = 16'384;  // half a megabyte
  if (largest_.size() >= kMostKept) largest_.clear();
  largest_.insert_or_assign({network->layers.get(), key}, largest);
}

void HeadNormsCache::evict() {
  std::size_t bytes = 0;
  for (const auto& [key, entry] : entries_) bytes += entry.norms->bytes();
  while (bytes > kCacheBytes && entries_.size() > 1) {
    const auto oldest = std::ranges::min_element(entries_, {}, [](const auto& entry) { return entry.second.used_at; });
    bytes -= oldest->second.norms->bytes();
    entries_.erase(oldest);
  }
}

}  // namespace headlight::app
