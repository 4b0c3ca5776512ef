#include "ops/linear.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "ops/expand_blocks.h"
#include "ops/host_operations.h"
#include "ops/parameters.h"

namespace headlight::ops {
namespace {

/// The tiles of linear_tiled.comp, with the share of multiply-adds among the instructions of their inner loop: machine code
/// for AMD's navi21 (docs/BENCHMARKS_KERNELS.md, "Machine code").
struct Tile {
  std::uint32_t lanes, rows, bands, shared_bytes;
  double share;
};
constexpr std::array<Tile, 3> kTiles{{{64, 16, 1, 5'376, 0.61}, {128, 64, 1, 8'448, 0.78}, {256, 128, 2, 16'640, 0.85}}};

// The model counts multiply-adds of one lane after another, on a core that needs kCoreLanes to be busy: four subgroups of 64
// on AMD, eight of 32 on NVIDIA.
constexpr double kCoreLanes = 256.0;
constexpr double kStart = 32.0;              // inner steps that pass before the first multiply-add and after the last
constexpr double kDispatch = 4'000.0;        // a second dispatch and its barrier: some 4 µs at 1 GHz
constexpr double kStoredNumber = 64.0;       // writing and reading a partial sum
constexpr std::uint32_t kFewestInner4 = 32;  // of a part
constexpr std::size_t kMaxSplitBytes = std::size_t{16} << 20;

double modelled_time(const gpu::DeviceInfo& device, const Tile& tile, std::uint32_t parts, std::uint32_t rows,
                     std::uint32_t bands, std::uint32_t inner4) {
  const double groups = static_cast<double>(divide_up(rows, tile.rows)) * divide_up(bands, tile.bands) * parts;
  const double rounds = std::ceil(groups * tile.lanes / (kCoreLanes * std::max(device.cores, 1u)));
  const double results = 64.0 * tile.rows * tile.bands / tile.lanes;
  const double time = rounds * results / tile.share * (4.0 * inner4 / parts + kStart);
  if (parts == 1) return time;
  const double sums = 64.0 * rows * bands * parts;
  return time + kDispatch + sums * kStoredNumber / (kCoreLanes * std::max(device.cores, 1u));
}

/// A kernel and how many rows one of its workgroups covers.
struct LinearChoice {
  const gpu::Kernel* kernel = nullptr;
  std::uint32_t rows = 1;
  std::uint32_t groups_per_tile = 1;
  std::uint32_t tiles_per_group = 1;
  std::uint32_t parts = 1;  ///< of the inner axis, each of split4
  std::uint32_t split4 = 0;
  const gpu::Kernel* row_scales = nullptr;  ///< what it needs beforehand
};

constexpr std::uint32_t kGemvLanes = 256, kGemvSharedBytes = 16'384;  // of linear_gemv.comp

/// Chooses a kernel that uses the device's units for matrices, or plain code with the same numbers, in the largest
/// tiles that keep three quarters of the device's cores busy. Returns no kernel where none do so (on an H100,
/// linear_tiled, which splits the inner axis, takes a third of the time for 16 and 64 rows), or the device can't run
/// it.
LinearChoice matrix_choice(Kernels& kernels, WeightType type, Activation activation, std::uint32_t rows,
                           std::uint32_t tiles) {
  struct MatrixTile {
    Shader shader;
    std::uint32_t rows, bands, shared_bytes;
  };
  constexpr std::array<MatrixTile, 2> kMatrixTiles{
      {{Shader::LinearMatrixLarge, 128, 2, 29'696}, {Shader::LinearMatrix, 64, 1, 15'104}}};
  constexpr std::uint32_t kGuessedCores = 32, kPlainLanes = 32;  // lanes in place of a subgroup
  const gpu::DeviceInfo& device = kernels.context().device();
  const std::uint32_t cores = device.cores > 0 ? device.cores : kGuessedCores;
  for (const MatrixTile& tile : kMatrixTiles) {
    const std::uint32_t subgroups = matrix_subgroups(tile.shader);
    const bool has_units = multiplies_matrices(device) && subgroups * device.matrix_lanes <= device.max_invocations;
    const std::uint32_t lanes = subgroups * (has_units ? device.matrix_lanes : kPlainLanes);
    const bool keeps_busy = divide_up(rows, tile.rows) * divide_up(tiles, tile.bands) * 4 >= cores * 3;
    if (!keeps_busy || !can_run(device, lanes, tile.shared_bytes)) continue;
    const gpu::Kernel* kernel = kernels.find({.shader = tile.shader,
                                              .weights = type,
                                              .multiplies_matrices = has_units,
                                              .constants = {static_cast<std::uint32_t>(activation), lanes}});
    const gpu::Kernel* row_scales = kernels.find({.shader = Shader::LinearRowScales});
    if (kernel == nullptr || row_scales == nullptr) continue;
    return {.kernel = kernel, .rows = tile.rows, .tiles_per_group = tile.bands, .row_scales = row_scales};
  }
  return {};
}

/// Returns the factor that brings the largest of a weight's bfloat16 to 2^14 … 2^15, as lib/matrix_product.glsl wants
/// it; 0 where the largest isn't known, or is no finite number other than 0. The factor's reciprocal is no subnormal
/// number.
float weight_scale(const PackedLinear::Run& run) {
  const std::uint32_t exponent = std::max<std::uint32_t>(std::uint32_t{run.largest} >> 7, 27);
  return run.largest == 0 || exponent >= 255 ? 0.0F : std::bit_cast<float>((268 - exponent) << 23);
}

KernelVariant sum_kernel(Activation activation) {
  return {.shader = Shader::LinearSum, .constants = {static_cast<std::uint32_t>(activation)}};
}

/// `rows` of x in all, `tiles` of the weight. Where the driver refuses a kernel, another one.
LinearChoice choose(Kernels& kernels, LinearKernel kind, WeightType type, std::uint32_t inner4, Activation activation,
                    std::uint32_t rows, std::uint32_t tiles) {
  const bool has_halves = type == WeightType::F16;
  constexpr std::uint32_t kFewestToShuffle = 5;  // with fewer rows most lanes would have none to share
  const bool texel = is_texel(kind);             // texel buffers convert halves by themselves
  const auto variant = [&](Shader shader, std::uint32_t per_lane) {
    return KernelVariant{.shader = shader,
                         .reads_texels = texel,
                         .weights = texel || has_blocks(type) ? WeightType::F32 : type,
                         .reads_half_bits = has_halves && !texel && !kernels.half_conversions().unpacking_keeps,
                         .constants = {static_cast<std::uint32_t>(activation), per_lane}};
  };
  const auto instead = [&](LinearKernel other) { return choose(kernels, other, type, inner4, activation, rows, tiles); };
  if (is_shuffle(kind) && can_shuffle(kernels.context().device()) && rows >= kFewestToShuffle) {
    const std::uint32_t per_group = rows <= 8 ? 8 : 16;
    if (const gpu::Kernel* kernel = kernels.find(variant(Shader::LinearShuffle, per_group))) return {kernel, per_group, 2};
  }
  switch (kind) {
    case LinearKernel::Naive:
      return {&kernels[variant(Shader::LinearNaive, 0)], 1};
    case LinearKernel::Matrix:
      // The units for matrices have no other conversion, nor has the x that this kernel stores.
      if ((has_halves || type == WeightType::BF16) && kernels.half_conversions().unpacking_keeps) {
        const LinearChoice choice = matrix_choice(kernels, type, activation, rows, tiles);
        if (choice.kernel != nullptr) return choice;
      }
      return instead(LinearKernel::Tiled);
    case LinearKernel::Gemv:
      if (rows <= kFewRows && can_run(kernels.context().device(), kGemvLanes, kGemvSharedBytes)) {
        const std::uint32_t per_group = std::bit_ceil(rows);
        if (const gpu::Kernel* kernel = kernels.find(variant(Shader::LinearGemv, per_group))) return {kernel, per_group, 4};
      }
      [[fallthrough]];
    case LinearKernel::Tiled:
      for (LinearTileLimits limits; limits.lanes >= LinearTiles{}.lanes;) {
        const LinearTiles division = choose_tiles(kernels.context().device(), rows, tiles, inner4, limits);
        if (division.parts > 1 && kernels.find(sum_kernel(activation)) == nullptr) {
          limits.parts = 1;
          continue;
        }
        if (const gpu::Kernel* kernel = kernels.find(variant(Shader::LinearTiled, division.lanes))) {
          return {kernel, division.rows, 1, division.bands, division.parts, division.split4};
        }
        limits.lanes = division.lanes / 2;
      }
      return instead(LinearKernel::Vec4);
    case LinearKernel::Vec4:
    case LinearKernel::Vec4Texel:
    case LinearKernel::Shuffle:
    case LinearKernel::ShuffleTexel:
    case LinearKernel::Host:
      break;
  }
  const std::uint32_t per_group = rows == 1 ? 1 : (rows <= 4 ? 4 : 8);
  if (const gpu::Kernel* kernel = kernels.find(variant(Shader::LinearVec4, per_group))) return {kernel, per_group};
  return instead(texel ? LinearKernel::Vec4 : LinearKernel::Naive);
}

/// The part of a run that a call uses and the destination of its columns.
struct Target {
  std::uint32_t first_tile, end_tile;
  const DeviceTensor* q;
  const DeviceTensor* k;
  const DeviceTensor* v;
};

constexpr std::uint32_t kNever = 0xffffffffu;

/// One dispatch, or several where a binding would span more than the device allows: runs of batch items × runs of tiles.
void record_run(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const PackedLinear& weight,
                const PackedLinear::Run& run, const Target& target, LinearParameters parameters, Activation activation) {
  const std::uint32_t all_rows = x.items * parameters.tokens;
  const Tuning& tuning = kernels.tuning();
  LinearKernel kind = all_rows <= kFewRows ? tuning.few_rows : tuning.many_rows;
  const bool has_halves = run.type == WeightType::F16;
  parameters.weight_scale = run.type == WeightType::BF16 ? weight_scale(run) : 1.0F;
  if ((has_halves || run.type == WeightType::BF16) && parameters.weight_scale > 0.0F && all_rows > kFewRows) {
    kind = tuning.many_rows_of_halves.value_or(kind);
  }
  if (kind == LinearKernel::Matrix && parameters.weight_scale == 0.0F) kind = LinearKernel::Tiled;
  if (kind == LinearKernel::Host) {
    const HostLinear on_host{x,
                             weight,
                             run,
                             *target.q,
                             *target.k,
                             *target.v,
                             target.first_tile,
                             target.end_tile,
                             static_cast<std::uint32_t>(activation),
                             parameters};
    if (can_run_on_host(kernels, on_host)) return linear_on_host(stream, kernels, on_host);
    kind = default_shader(kernels.context().device());
  }
  const std::size_t texel_range = kernels.max_binding(true);  // of vec4; a float16 element has half the bytes
  const std::size_t weight_texel_range = has_halves ? texel_range / 2 : texel_range;
  const bool is_expanded = has_blocks(run.type);
  const std::size_t tile_numbers = std::size_t{weight.inner4} * 4 * 64;
  const std::size_t tile_bytes = is_expanded ? tile_numbers * sizeof(float) : run.tile_bytes;  // as a kernel reads it
  const auto can_read_texels = [&] {  // texel buffers may be far smaller than storage buffers
    return x.item_bytes() <= texel_range && tile_bytes <= weight_texel_range && run.type != WeightType::BF16 &&
           (!has_halves || kernels.half_conversions().texels_keep);
  };
  if (is_texel(kind) && !can_read_texels()) kind = is_shuffle(kind) ? LinearKernel::Shuffle : LinearKernel::Vec4;
  const LinearChoice choice =
      choose(kernels, kind, run.type, weight.inner4, activation, all_rows, target.end_tile - target.first_tile);
  parameters.split4 = choice.parts > 1 ? choice.split4 : weight.inner4;
  const std::size_t in_range = kernels.max_binding(is_texel(kind));
  const std::size_t weight_range = is_texel(kind) ? weight_texel_range : in_range;
  const std::size_t out_range = kernels.max_binding(false);

  std::size_t items_per_slice = std::min<std::size_t>(x.items, in_range / x.item_bytes());
  for (const DeviceTensor* output : {target.q, target.k, target.v}) {
    items_per_slice = std::min(items_per_slice, out_range / output->item_bytes());
  }
  constexpr std::uint32_t kScaledRows = 4;  // of a workgroup of linear_row_scales.comp
  const std::uint32_t group_rows = choice.row_scales != nullptr ? kScaledRows : choice.rows;
  const std::size_t max_rows = std::size_t{kernels.context().device().max_groups[0]} * group_rows;
  items_per_slice = std::min(items_per_slice, max_rows / parameters.tokens);
  const std::size_t most_expanded =
      is_expanded ? std::max<std::size_t>(kMostExpandedBytes / tile_bytes, 1) : ~std::size_t{0};
  const auto tiles_per_slice = static_cast<std::uint32_t>(std::min<std::size_t>(
      {weight_range / tile_bytes, most_expanded, kernels.context().device().max_groups[1] / choice.groups_per_tile,
       target.end_tile - target.first_tile}));
  if (items_per_slice == 0 || tiles_per_slice == 0) {
    throw Error(
        "one matrix of {} tokens × {} columns is more than the {} MiB that '{}' can bind at once; make the text or the "
        "model smaller",
        x.tokens, std::max(x.width, target.v->width), std::min(in_range, out_range) >> 20, kernels.context().device().name);
  }
  const auto slice = static_cast<std::uint32_t>(items_per_slice);
  const auto row_work = static_cast<double>(tile_numbers);  // of one tile
  for (std::uint32_t item = 0; item < x.items; item += slice) {
    const std::uint32_t items = std::min(slice, x.items - item);
    parameters.rows = items * parameters.tokens;
    const std::uint32_t step = std::min(tiles_per_slice, kernels.parts_at_once(tiles_per_slice, row_work * parameters.rows));
    for (std::uint32_t tile = target.first_tile; tile < target.end_tile; tile += step) {
      const std::uint32_t tiles = std::min(step, target.end_tile - tile);
      parameters.first_tile = tile;
      const bool is_split = choice.parts > 1;
      const std::size_t sum_bytes = is_split ? split_bytes(choice.parts, parameters.rows, tiles) : 0;
      const std::size_t expanded_bytes = is_expanded ? tiles * tile_bytes : 0;
      const std::size_t scale_bytes = choice.row_scales != nullptr ? parameters.rows * sizeof(float) : 0;
      const std::size_t scratch_bytes = sum_bytes + expanded_bytes + scale_bytes;
      const gpu::Buffer* const scratch = scratch_bytes > 0 ? &stream.scratch(scratch_bytes, "parts of a layer") : nullptr;
      const gpu::Slice weights = is_expanded ? gpu::Slice(*scratch, 0, expanded_bytes)
                                             : gpu::Slice(weight.weight, run.byte_of(tile), tiles * tile_bytes, has_halves);
      if (is_expanded) expand_blocks(stream, kernels, weight, run, {.first_tile = tile, .tiles = tiles}, weights);
      const gpu::Slice q = target.q->slice(item, items), k = target.k->slice(item, items), v = target.v->slice(item, items);
      const gpu::Groups groups{divide_up(parameters.rows, choice.rows),
                               divide_up(tiles * choice.groups_per_tile, choice.tiles_per_group), choice.parts};
      const double work = row_work * parameters.rows * tiles;
      parameters.tiles = tiles;
      if (choice.row_scales != nullptr) {
        const gpu::Slice scales(*scratch, 0, scale_bytes);
        if (tile == target.first_tile) {
          stream.dispatch(*choice.row_scales, {x.slice(item, items), scales}, parameters,
                          {divide_up(parameters.rows, kScaledRows), 1, 1});
        }
        stream.dispatch(*choice.kernel, {x.slice(item, items), weights, weight.bias, q, k, v, scales}, parameters, groups,
                        work);
        continue;
      }
      if (!is_split) {
        stream.dispatch(*choice.kernel, {x.slice(item, items), weights, weight.bias, q, k, v}, parameters, groups, work);
        continue;
      }
      const gpu::Slice sums(*scratch, expanded_bytes, sum_bytes);
      stream.dispatch(*choice.kernel, {x.slice(item, items), weights, weight.bias, sums, sums, sums}, parameters, groups,
                      work);
      constexpr std::uint32_t kRows = 4;  // of a workgroup of linear_sum.comp
      stream.dispatch(kernels[sum_kernel(activation)], {sums, weight.bias, q, k, v}, parameters,
                      {divide_up(parameters.rows, kRows), tiles, 1});
    }
  }
}

/// Each run of the weight that the target touches.
void record(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const PackedLinear& weight, const Target& target,
            const LinearParameters& parameters, Activation activation = Activation::None) {
  for (const PackedLinear::Run& run : weight.runs) {
    Target part = target;
    part.first_tile = std::max(run.first_tile, target.first_tile);
    part.end_tile = std::min(run.end_tile, target.end_tile);
    if (part.first_tile < part.end_tile) record_run(stream, kernels, x, weight, run, part, parameters, activation);
  }
}

}  // namespace

void linear(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const PackedLinear& weight, const DeviceTensor& y,
            const LinearOptions& options) {
  const Rows rows = options.rows.value_or(y.all());
  LinearParameters parameters{};
  parameters.tokens = rows.count;
  parameters.x_first = options.x_first.value_or(rows.first);
  parameters.y_first = rows.first;
  parameters.inner4 = weight.inner4;
  parameters.x_stride4 = x.stride4();
  parameters.key_tile = kNever;
  parameters.value_tile = kNever;
  parameters.heads = 1;
  parameters.d_k4 = y.width4();
  parameters.d_v4 = y.width4();
  parameters.q_tokens = y.tokens;
  parameters.q_stride4 = y.stride4();
  parameters.combine = static_cast<std::uint32_t>(options.combine);
  parameters.scale = options.scale;
  record(stream, kernels, x, weight,
         {0, weight.sections.front().tiles, &y, options.sum != nullptr ? options.sum : &y,
          options.other != nullptr ? options.other : &y},
         parameters, options.activation);
}

void project_heads(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const PackedLinear& weight,
                   const DeviceTensor* q, const DeviceTensor* k, const DeviceTensor* v, std::optional<Rows> rows,
                   float clip) {
  const auto& [query, key, value] = std::tie(weight.sections.at(0), weight.sections.at(1), weight.sections.at(2));
  const DeviceTensor* any = q != nullptr ? q : k;
  const Rows some = rows.value_or(any->all());
  LinearParameters parameters{};
  parameters.tokens = some.count;
  parameters.x_first = some.first;
  parameters.y_first = some.first;
  parameters.inner4 = weight.inner4;
  parameters.x_stride4 = x.stride4();
  parameters.key_tile = key.first_tile;
  parameters.value_tile = value.first_tile;
  parameters.heads = query.heads;
  parameters.kv_heads = key.heads;
  parameters.d_k4 = query.slot4;
  parameters.d_v4 = value.slot4;
  parameters.clip = clip;
  if (q != nullptr) {
    parameters.q_tokens = q->tokens;
    parameters.q_stride4 = q->stride4();
  }
  if (k != nullptr) {
    parameters.k_tokens = k->tokens;
    parameters.k_stride4 = k->stride4();
    parameters.v_stride4 = v->stride4();
  }
  const std::uint32_t first = q != nullptr ? query.first_tile : key.first_tile;
  const std::uint32_t end = v != nullptr ? value.first_tile + value.tiles : key.first_tile;
  // A binding that isn't written still needs a buffer.
  record(stream, kernels, x, weight, {first, end, any, k != nullptr ? k : any, v != nullptr ? v : any}, parameters);
}

bool can_run(const gpu::DeviceInfo& device, std::uint32_t lanes, std::uint32_t shared_bytes) {
  return device.max_invocations >= lanes && device.shared_memory_bytes >= shared_bytes;
}

std::size_t split_bytes(std::uint32_t parts, std::uint32_t rows, std::uint32_t bands) {
  return std::size_t{parts} * rows * bands * 64 * sizeof(float);
}

LinearTiles choose_tiles(const gpu::DeviceInfo& device, std::uint32_t rows, std::uint32_t bands, std::uint32_t inner4,
                         const LinearTileLimits& limits) {
  constexpr std::uint32_t kSlice4 = 4;  // of linear_tiled.comp
  LinearTiles best;
  double best_time = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    if (tile.lanes > limits.lanes || !can_run(device, tile.lanes, tile.shared_bytes)) continue;
    for (std::uint32_t parts = 1; parts <= limits.parts; ++parts) {
      const std::uint32_t split4 = divide_up(divide_up(inner4, parts), kSlice4) * kSlice4;
      if (parts > 1 && (split4 < kFewestInner4 || divide_up(inner4, split4) != parts)) continue;
      if (parts > 1 && split_bytes(parts, rows, bands) > std::min(kMaxSplitBytes, device.max_storage_range)) continue;
      const double time = modelled_time(device, tile, parts, rows, bands, inner4);
      if (time >= best_time) continue;
      best_time = time;
      best = {tile.lanes, tile.rows, tile.bands, parts, parts == 1 ? inner4 : split4};
    }
  }
  return best;
}

}  // namespace headlight::ops
