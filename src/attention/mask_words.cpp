#include "attention/mask_words.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "core/error.h"
#include "gpu/context.h"

namespace headlight::attention {
namespace {

constexpr std::uint32_t kNoPlane = 0xffffffffu;

/// What decides a map's cells beside the rule: which part of the matrix and which painted scopes concern it.
struct PlaneKey {
  std::int64_t matrix_map = -1;
  std::vector<PaintScope> scopes;

  auto operator<=>(const PlaneKey&) const = default;
};

bool concerns(const PaintScope& scope, std::uint32_t layer, std::uint32_t batch, std::uint32_t head) {
  return (!scope.layer || *scope.layer == layer) && (!scope.batch || *scope.batch == batch) &&
         (!scope.head || *scope.head == head);
}

/// Builds the planes of one kind (deny or allow) and the table that says which map uses which.
class Planes {
 public:
  Planes(const MaskSpec& mask, const MaskExtent& extent)
      : mask_(mask), extent_(extent), table(extent.batch * extent.heads, kNoPlane) {}

  /// `state`: the painted state that this kind of plane holds; the matrix denies only.
  void add_maps(bool state) {
    for (std::uint32_t batch = 0; batch < extent_.batch; ++batch) {
      for (std::uint32_t head = 0; head < extent_.heads; ++head) {
        const PlaneKey key = key_of(batch, head, state);
        if (key.matrix_map < 0 && key.scopes.empty()) continue;
        const auto [known, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size()));
        if (is_new && !fill_plane(batch, head, state, key)) {
          numbers_.erase(known);
          continue;
        }
        table[batch * extent_.heads + head] = known->second;
      }
    }
  }

  std::uint32_t words_per_row() const { return (extent_.keys + 31) / 32; }
  std::uint32_t plane_words() const { return extent_.queries * words_per_row(); }
  bool is_empty() const { return numbers_.empty(); }
  std::size_t count() const { return numbers_.size(); }

 private:
  PlaneKey key_of(std::uint32_t batch, std::uint32_t head, bool state) const {
    PlaneKey key;
    if (!state && mask_.matrix) {
      const BooleanMask& matrix = *mask_.matrix;
      key.matrix_map = std::int64_t{matrix.batch == 1 ? 0 : batch} * matrix.heads + (matrix.heads == 1 ? 0 : head);
    }
    for (const auto& [scope, cells] : mask_.painted) {
      if (!cells.empty() && concerns(scope, extent_.layer, batch, head)) key.scopes.push_back(scope);
    }
    return key;
  }

  void set(std::vector<std::uint32_t>& plane, std::uint32_t query, std::uint32_t key) const {
    plane[query * words_per_row() + key / 32] |= 1u << (key % 32);
  }

  /// False when no cell of the map is in the plane: then the map needs none.
  bool fill_plane(std::uint32_t batch, std::uint32_t head, bool state, const PlaneKey& key) {
    std::vector<std::uint32_t> plane(plane_words(), 0);
    bool has_cells = false;
    if (key.matrix_map >= 0) {
      has_cells = true;
      for (std::uint32_t query = 0; query < extent_.queries; ++query) {
        for (std::uint32_t k = 0; k < extent_.keys; ++k) {
          if (!mask_.matrix->is_kept(batch, head, query, k)) set(plane, query, k);
        }
      }
    }
    for (const PaintScope& scope : key.scopes) {
      for (const auto& [cell, unused] : mask_.painted.at(scope)) {
        if (cell.query >= extent_.queries || cell.key >= extent_.keys) continue;  // painted on a longer text
        if (mask_.painted_state(extent_.layer, batch, head, cell) != state) continue;
        set(plane, cell.query, cell.key);
        has_cells = true;
      }
    }
    if (has_cells) words.insert(words.end(), plane.begin(), plane.end());
    return has_cells;
  }

  const MaskSpec& mask_;
  const MaskExtent& extent_;
  std::map<PlaneKey, std::uint32_t> numbers_;

 public:
  std::vector<std::uint32_t> table;  ///< [batch, head] plane number or kNoPlane
  std::vector<std::uint32_t> words;
};

}  // namespace

DeviceMask upload_mask(gpu::Stream& stream, const MaskSpec& mask, const MaskExtent& extent,
                       std::span<const std::uint32_t> key_ranges, std::span<const std::uint32_t> bias) {
  Planes deny(mask, extent), allow(mask, extent);
  deny.add_maps(false);
  allow.add_maps(true);

  DeviceMask device;
  ops::MaskData& data = device.data;
  data.causal = mask.rule.causal || mask.rule.prefix > 0;  // a prefix alone is causal behind the prefix
  data.window = mask.rule.window;
  data.prefix = mask.rule.prefix;
  data.key_padding = mask.rule.key_padding;
  data.has_finite_fill = mask.fill != MaskFill::NegativeInfinity;
  data.fill = data.has_finite_fill ? fill_value(mask.fill) : std::numeric_limits<float>::lowest();
  data.words_per_row = deny.words_per_row();
  data.plane_words = deny.plane_words();

  std::vector<std::uint32_t> words(key_ranges.begin(), key_ranges.end());
  if (!deny.is_empty()) {
    data.deny_at = static_cast<std::uint32_t>(words.size());
    words.insert(words.end(), deny.table.begin(), deny.table.end());
  }
  if (!allow.is_empty()) {
    data.allow_at = static_cast<std::uint32_t>(words.size());
    for (const std::uint32_t plane : allow.table) {
      words.push_back(plane == kNoPlane ? kNoPlane : plane + static_cast<std::uint32_t>(deny.count()));
    }
  }
  data.planes_at = static_cast<std::uint32_t>(words.size());
  words.insert(words.end(), deny.words.begin(), deny.words.end());
  words.insert(words.end(), allow.words.begin(), allow.words.end());
  if (!bias.empty()) data.bias_at = static_cast<std::uint32_t>(words.size());
  words.insert(words.end(), bias.begin(), bias.end());

  const std::size_t bytes = words.size() * sizeof(std::uint32_t);
  const gpu::DeviceInfo& info = stream.context().device();
  if (bytes > info.max_storage_range) {
    throw Error(
        "the mask's cells take {} MiB, the device '{}' binds at most {} MiB at once; use fewer different masks or a shorter "
        "text",
        bytes >> 20, info.name, info.max_storage_range >> 20);
  }
  device.words = gpu::Buffer(stream.context(), bytes, gpu::Memory::Device, "the mask");
  stream.upload(device.words, 0, std::span<const std::uint32_t>(words));
  return device;
}

std::vector<std::uint32_t> position_bias_words(const model::PositionBias& bias, std::uint32_t farthest) {
  const std::uint32_t reach = std::min(bias.reach(), farthest);
  std::vector<std::uint32_t> words{reach};
  for (std::uint32_t head = 0; head < bias.heads(); ++head) {
    for (std::int64_t distance = -std::int64_t{reach}; distance <= reach; ++distance) {
      words.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(bias.value(head, distance))));
    }
  }
  return words;
}

ops::MaskData mask_data(const DeviceMask& mask) {
  ops::MaskData data = mask.data;
  data.words = &mask.words;
  return data;
}

}  // namespace headlight::attention
