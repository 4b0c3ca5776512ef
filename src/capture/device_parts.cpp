#include "capture/device_parts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace headlight::capture {
namespace {

/// Heads of short texts are computed together; of a long one each is a part of its own, because a tile of one head computes
/// the rows of all heads of its part.
constexpr std::size_t kPartBytes = std::size_t{8} << 20;

constexpr std::size_t padded(std::uint32_t width) { return (std::size_t{width} + 3) / 4 * 4; }

/// Bytes of the tensors of some KV heads and the heads that read them.
struct PartSize {
  std::size_t queries, keys, values, merged, stats;

  PartSize(const attention::BlockShape& shape, std::uint32_t kv_heads)
      : queries(floats(std::size_t{kv_heads} * group(shape) * shape.queries, padded(shape.d_k))),
        keys(floats(std::size_t{kv_heads} * shape.keys, padded(shape.d_k))),
        values(floats(std::size_t{kv_heads} * shape.keys, padded(std::max(shape.d_v, 1U)))),
        merged(floats(std::size_t{kv_heads} * group(shape) * shape.queries, padded(std::max(shape.d_v, 1U)))),
        stats(floats(std::size_t{kv_heads} * group(shape) * shape.queries, 2)) {}

  static std::uint32_t group(const attention::BlockShape& shape) { return shape.heads / shape.kv_heads; }
  static std::size_t floats(std::size_t rows, std::size_t width) { return rows * width * sizeof(float); }
  std::size_t sum() const { return queries + keys + values + merged + stats; }
  std::size_t largest() const { return std::max({queries, keys, values, merged, stats}); }
};

/// KV heads of a part; 0: the device can't bind those of a single one.
std::uint32_t kv_heads_at_once(const attention::BlockShape& shape, std::size_t most_bytes) {
  // Attention by blocks of queries binds the scores of 8 rows of all heads at once.
  constexpr std::uint32_t kScoreRows = 8;
  const auto fits = [&](std::uint32_t kv_heads) {
    const std::size_t scores =
        PartSize::floats(std::size_t{kv_heads} * PartSize::group(shape) * kScoreRows, padded(shape.keys));
    return std::max(PartSize(shape, kv_heads).largest(), scores) <= most_bytes;
  };
  if (!fits(1)) return 0;
  std::uint32_t kv_heads = 1;
  while (kv_heads < shape.kv_heads && PartSize(shape, kv_heads + 1).sum() <= kPartBytes && fits(kv_heads + 1)) ++kv_heads;
  return kv_heads;
}

/// All rows and columns of some heads [head, row, column].
Tensor read_heads(const Numbers& numbers, std::uint32_t item, std::uint32_t first_head, std::uint32_t heads) {
  const std::uint32_t rows = numbers.shape()[2], columns = numbers.shape()[3];
  Tensor tensor({heads, rows, columns});
  for (std::uint32_t head = 0; head < heads; ++head) {
    numbers.read({.item = item, .head = first_head + head, .row = 0, .rows = rows, .column = 0, .columns = columns},
                 tensor.values.data() + std::size_t{head} * rows * columns);
  }
  return tensor;
}

bool is_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.values, [](float value) { return std::isfinite(value); });
}

}  // namespace

DeviceParts::Part DeviceParts::part(const CapturedBlock& block, std::uint32_t item, std::uint32_t head) {
  const attention::BlockShape& shape = block.shape;
  const std::uint32_t kv_heads = kv_heads_at_once(shape, session_.most_tensor_bytes());
  if (kv_heads == 0 || block.mask.first_row > 0 || block.score.needs_host()) return {};
  const std::uint32_t at_once = kv_heads * PartSize::group(shape);
  const Key key{.block = block.ref, .item = item, .first_head = head / at_once * at_once};
  const std::uint32_t heads = std::min(at_once, shape.heads - key.first_head);
  auto found = kept_.find(key);
  if (found == kept_.end()) found = kept_.emplace(key, make(block, key, heads)).first;
  found->second.last_use = ++uses_;
  return {.run = found->second.run, .first_head = key.first_head, .heads = heads};
}

DeviceParts::Kept DeviceParts::make(const CapturedBlock& block, const Key& key, std::uint32_t heads) {
  const std::uint32_t group = PartSize::group(block.shape);
  const std::uint32_t first_kv = key.first_head / group, kv_heads = heads / group;
  const attention::KeyRange keys = block.mask.keys[key.item];
  const bool has_padding = keys.begin > 0 || keys.end < block.shape.keys;
  const auto real_keys = has_padding ? std::optional(keys) : std::nullopt;
  inference::GivenAttention given{.block = block.ref,
                                  .q = read_heads(*block.queries, key.item, key.first_head, heads),
                                  .k = read_heads(*block.keys, key.item, first_kv, kv_heads),
                                  .v = {},
                                  .scale = block.score.scale,
                                  .softcap = block.score.softcap,
                                  .is_causal = block.mask.is_causal,
                                  .window = block.mask.window,
                                  .real_keys = real_keys};
  if (block.values) given.v = read_heads(*block.values, key.item, first_kv, kv_heads);
  if (!is_finite(given.q) || !is_finite(given.k) || !is_finite(given.v)) return {};
  const std::size_t bytes = PartSize(block.shape, kv_heads).sum();
  make_room(bytes);
  try {
    return {.run = session_.attend(given), .bytes = bytes};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::OutOfDeviceMemory || kept_.empty()) throw;
    kept_.clear();  // perhaps they hold the memory that is missing
    return {.run = session_.attend(given), .bytes = bytes};
  }
}

void DeviceParts::make_room(std::size_t bytes) {
  std::size_t all = bytes;
  for (const auto& [key, kept] : kept_) all += kept.bytes;
  while (all > most_bytes_) {
    const auto oldest = std::ranges::min_element(kept_, {}, [](const auto& entry) {
      // One that holds nothing makes no room.
      return entry.second.bytes == 0 ? UINT64_MAX : entry.second.last_use;
    });
    if (oldest == kept_.end() || oldest->second.bytes == 0) return;
    all -= oldest->second.bytes;
    kept_.erase(oldest);
  }
}

MixedValues::MixedValues(std::shared_ptr<const Numbers> values, std::uint32_t heads)
    : values_(std::move(values)), group_(heads / values_->shape()[1]) {}

void MixedValues::read(const Rectangle& cells, float* to) const {
  Rectangle of_values = cells;
  of_values.head = cells.head / group_;
  values_->read(of_values, to);
}

void MixedValues::mix(std::uint32_t item, std::uint32_t head, std::span<const float> weights, std::uint32_t first,
                      std::uint32_t count, float* to) const {
  const std::uint32_t of_values = head / group_, keys = values_->shape()[2];
  if (loaded_.empty() || loaded_item_ != item || loaded_head_ != of_values) {
    loaded_.resize(std::size_t{keys} * width());
    values_->read({.item = item, .head = of_values, .row = 0, .rows = keys, .column = 0, .columns = width()},
                  loaded_.data());
    loaded_item_ = item;
    loaded_head_ = of_values;
  }
  std::vector<double> sums(count, 0.0);
  for (std::size_t key = 0; key < weights.size(); ++key) {
    if (weights[key] == 0.0F) continue;
    const float* row = loaded_.data() + key * width() + first;
    for (std::size_t i = 0; i < count; ++i) sums[i] += double{weights[key]} * double{row[i]};
  }
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(sums[i]);
}

}  // namespace headlight::capture
