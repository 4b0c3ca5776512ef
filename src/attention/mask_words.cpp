#include "attention/mask_words.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <limits>
#include <map>

#include "attention/expression_glsl.h"
#include "attention/paint_words.h"
#include "core/error.h"
#include "gpu/context.h"

namespace headlight::attention {
namespace {

constexpr std::uint32_t kNoPlane = 0x0fffffffu, kPatternShift = 28;  // as in shaders/lib/mask.glsl

/// The parts that decide a map's cells beside the rule: its part of the matrix, and the painted scopes that concern it.
struct PlaneKey {
  std::int64_t matrix_map = -1;
  std::vector<PaintScope> scopes;

  auto operator<=>(const PlaneKey&) const = default;
};

/// The words of a row from the first to the last that holds a cell.
struct RowWords {
  std::uint32_t first = 0;
  std::vector<std::uint32_t> words;
};

/// The cells of a plane, by the rows that hold some.
using PlaneRows = std::map<std::uint32_t, RowWords>;

/// A row's words without the empty ones at its ends; one at least must hold a cell.
RowWords trimmed(const std::vector<std::uint32_t>& words) {
  const auto is_set = [](std::uint32_t word) { return word != 0; };
  const auto begin = std::ranges::find_if(words, is_set);
  const auto end = std::find_if(words.rbegin(), words.rend(), is_set).base();
  return {.first = static_cast<std::uint32_t>(begin - words.begin()), .words = {begin, end}};
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
        const auto [known, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(planes.size()));
        if (is_new) {
          PlaneRows rows = rows_of(batch, head, state, key);
          if (rows.empty()) {  // no cell of the map is in the plane
            numbers_.erase(known);
            continue;
          }
          for (const auto& [row, bits] : rows) words_ += bits.words.size();
          check_mask_words(words_);
          planes.push_back(std::move(rows));
        }
        table[batch * extent_.heads + head] = known->second;
      }
    }
  }

  bool is_empty() const { return planes.empty(); }

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

  PlaneRows rows_of(std::uint32_t batch, std::uint32_t head, bool state, const PlaneKey& key) const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> rows;
    const auto set = [&](std::uint32_t query, std::uint32_t k) {
      std::vector<std::uint32_t>& row = rows[query];
      if (row.empty()) row.resize((extent_.keys + 31) / 32, 0);
      row[k / 32] |= 1u << (k % 32);
    };
    if (key.matrix_map >= 0) {
      for (std::uint32_t query = 0; query < extent_.queries; ++query) {
        for (std::uint32_t k = 0; k < extent_.keys; ++k) {
          if (!mask_.matrix->is_kept(batch, head, query, k)) set(query, k);
        }
      }
    }
    for (const PaintScope& scope : key.scopes) {
      for (const CellRun& run : mask_.painted.at(scope).runs()) {
        if (run.query >= extent_.queries) break;  // this run and those that follow were painted on a longer text
        const auto end = static_cast<std::uint32_t>(std::min<std::uint64_t>(run.end_key(), extent_.keys));
        for (std::uint32_t k = run.first_key; k < end; ++k) {
          if (mask_.painted_state(extent_.layer, batch, head, {run.query, k}) == state) set(run.query, k);
        }
      }
    }
    PlaneRows plane;
    for (const auto& [row, words] : rows) plane.emplace(row, trimmed(words));
    return plane;
  }

  const MaskSpec& mask_;
  const MaskExtent& extent_;
  std::map<PlaneKey, std::uint32_t> numbers_;
  std::size_t words_ = 0;  ///< of all planes

 public:
  std::vector<std::uint32_t> table;  ///< [batch, head] number in `planes` or kNoPlane
  std::vector<PlaneRows> planes;
};

/// Appends planes, their rows and bits as shaders/lib/mask.glsl reads them.
void append(std::vector<std::uint32_t>& words, std::span<const PlaneRows* const> planes) {
  constexpr std::uint32_t kPlaneWords = 3, kRowWords = 2;
  const std::size_t planes_at = words.size();
  words.resize(words.size() + planes.size() * kPlaneWords);
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const PlaneRows& rows = *planes[i];
    const std::uint32_t first = rows.begin()->first, count = rows.rbegin()->first - first + 1;
    const std::size_t rows_at = words.size();
    const std::array header = {first, count, static_cast<std::uint32_t>(rows_at)};
    std::ranges::copy(header, words.begin() + static_cast<std::ptrdiff_t>(planes_at + i * kPlaneWords));
    words.resize(words.size() + std::size_t{count} * kRowWords, 0);  // rows without cells have no words
    for (const auto& [row, bits] : rows) {
      const std::size_t at = rows_at + std::size_t{row - first} * kRowWords;
      words[at] = static_cast<std::uint32_t>(words.size());
      words[at + 1] = bits.first | static_cast<std::uint32_t>(bits.words.size()) << 16u;
      std::ranges::copy(bits.words, std::back_inserter(words));
    }
  }
}

}  // namespace

void check_mask_words(std::size_t words) {
  if (words <= kMaxMaskBytes / sizeof(std::uint32_t)) return;
  throw Error("the mask's cells take more than {} MiB for one layer; use fewer different masks or a shorter text",
              kMaxMaskBytes >> 20);
}

bool concerns(const PaintScope& scope, std::uint32_t layer, std::uint32_t batch, std::uint32_t head) {
  return (!scope.layer || *scope.layer == layer) && (!scope.batch || *scope.batch == batch) &&
         (!scope.head || *scope.head == head);
}

DeviceMask upload_mask(gpu::Stream& stream, const MaskSpec& mask, const MaskExtent& extent,
                       std::span<const std::uint32_t> key_ranges, std::span<const std::uint32_t> bias,
                       const ExpressionTokens& tokens) {
  Planes deny(mask, extent), allow(mask, extent);
  deny.add_maps(false);
  allow.add_maps(true);

  DeviceMask device;
  ops::MaskData& data = device.data;
  data.causal = mask.rule.causal || mask.rule.prefix > 0;  // a prefix alone is causal after the prefix
  data.window = mask.rule.window;
  data.prefix = mask.rule.prefix;
  data.key_padding = mask.rule.key_padding;
  data.has_finite_fill = mask.fill != MaskFill::NegativeInfinity;
  data.fill = data.has_finite_fill ? fill_value(mask.fill) : std::numeric_limits<float>::lowest();

  std::vector<std::uint32_t> words(key_ranges.begin(), key_ranges.end());
  if (!deny.is_empty() || !extent.patterns.empty()) {
    data.deny_at = static_cast<std::uint32_t>(words.size());
    for (std::size_t map = 0; map < deny.table.size(); ++map) {
      const auto pattern = extent.patterns.empty() ? std::nullopt : extent.patterns[map % extent.heads];
      words.push_back(deny.table[map] | (pattern ? static_cast<std::uint32_t>(pattern->kind) << kPatternShift : 0U));
    }
  }
  if (!allow.is_empty()) {
    data.allow_at = static_cast<std::uint32_t>(words.size());
    for (const std::uint32_t plane : allow.table) {
      words.push_back(plane == kNoPlane ? kNoPlane : plane + static_cast<std::uint32_t>(deny.planes.size()));
    }
  }
  data.planes_at = static_cast<std::uint32_t>(words.size());
  std::vector<const PlaneRows*> planes;
  for (const Planes* kind : {&deny, &allow}) {
    for (const PlaneRows& plane : kind->planes) planes.push_back(&plane);
  }
  append(words, planes);
  if (!bias.empty()) data.bias_at = static_cast<std::uint32_t>(words.size());
  words.insert(words.end(), bias.begin(), bias.end());
  CellWords cells{.paint_at = append_paint(words, mask, extent), .documents_at = append_documents(words, mask, extent)};
  if (extent.dropout) {
    cells.dropout_at = static_cast<std::uint32_t>(words.size());
    const DropoutPlan& plan = *extent.dropout;
    words.insert(words.end(), {plan.key, plan.threshold, std::bit_cast<std::uint32_t>(plan.factor)});
  }
  if (mask.has_expressions() || !cells.empty()) {
    data.expressions = std::make_shared<const ops::MaskExpressions>(
        ops::MaskExpressions{.glsl = expressions_glsl(mask.mask_expression, mask.score_expression, cells),
                             .changes_scores = mask.score_expression || cells.paint_at != 0,
                             .has_formulas = mask.has_expressions(),
                             .drops_weights = extent.dropout.has_value()});
    data.expressions_at = static_cast<std::uint32_t>(words.size());
    append_expression_words(words, mask.mask_expression, mask.score_expression, mask.sliders,
                            {.layer = extent.layer,
                             .layers = extent.layers,
                             .heads = extent.heads,
                             .queries = extent.queries,
                             .keys = extent.keys,
                             .tokens = tokens},
                            cells);
  }

  std::size_t room = 0;
  if (!bias.empty() && (bias.front() & ops::kDistancesBit) != 0) {
    for (const auto& [slot, at] : {std::pair{4u, &device.content_position_at}, {5u, &device.position_content_at}}) {
      std::uint32_t& place = words[data.bias_at + slot];
      if (place == 0) continue;
      const std::size_t count = place;
      place = *at = static_cast<std::uint32_t>(words.size() + room);
      room += count;
    }
  }
  const std::size_t bytes = (words.size() + room) * sizeof(std::uint32_t);
  const gpu::DeviceInfo& info = stream.context().device();
  if (bytes > info.max_storage_range) {
    throw Error(
        "the mask's cells take {} MiB, the device '{}' binds at most {} MiB at once; use fewer different masks or a shorter "
        "text",
        bytes >> 20, info.name, info.max_storage_range >> 20);
  }
  device.words = gpu::Buffer(stream.context(), bytes, gpu::Memory::Transient, "the mask");
  stream.upload(device.words, 0, std::span<const std::uint32_t>(words));
  return device;
}

std::vector<std::uint32_t> position_bias_words(const model::PositionBias& bias, std::uint32_t farthest,
                                               std::span<const std::uint32_t> key_ranges) {
  if (bias.kind == model::PositionBias::Kind::KeySlopes) {
    std::vector<std::uint32_t> words{ops::kOfKeysBit | farthest, bias.heads()};
    for (std::size_t item = 0; item < key_ranges.size(); item += 2) {
      for (std::uint32_t head = 0; head < bias.heads(); ++head) {
        for (std::uint32_t key = 0; key < farthest; ++key) {
          const double value = bias.of_cell(head, 0, key, key_ranges[item]);
          words.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
        }
      }
    }
    return words;
  }
  const std::uint32_t reach = std::min(bias.reach(), farthest);
  std::vector<std::uint32_t> words{reach};
  for (std::uint32_t head = 0; head < bias.heads(); ++head) {
    for (std::int64_t distance = -std::int64_t{reach}; distance <= reach; ++distance) {
      words.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(bias.value(head, distance))));
    }
  }
  return words;
}

std::vector<std::uint32_t> distance_words(const model::DistanceVectors& distances, const model::AttentionConfig& config,
                                          std::uint32_t batch, std::uint32_t queries, std::uint32_t keys) {
  const std::uint32_t reach = std::max(queries, keys) - 1;
  const DistanceRows rows = distance_rows(distances, queries, keys);
  const auto room = [&](bool exists, std::uint32_t tokens) {
    const std::uint64_t count = exists ? std::uint64_t{batch} * config.heads * tokens * rows.count : 0;
    check_mask_words(count);
    return static_cast<std::uint32_t>(count);
  };
  std::vector<std::uint32_t> words{ops::kDistancesBit | reach,
                                   rows.count,
                                   queries,
                                   keys,
                                   room(config.has_content_position, queries),
                                   room(config.has_position_content, keys)};
  for (std::int64_t distance = -std::int64_t{reach}; distance <= reach; ++distance)
    words.push_back(distances.row(-distance) - rows.first);
  return words;
}

DistanceRows distance_rows(const model::DistanceVectors& distances, std::uint32_t queries, std::uint32_t keys) {
  const std::int64_t reach = std::int64_t{std::max(queries, keys)} - 1;
  const std::uint32_t first = distances.row(-reach);
  return {first, distances.row(reach) - first + 1};
}

ops::MaskData mask_data(const DeviceMask& mask) {
  ops::MaskData data = mask.data;
  data.words = &mask.words;
  return data;
}

}  // namespace headlight::attention
