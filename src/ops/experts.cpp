#include "ops/experts.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "ops/expand_blocks.h"
#include "ops/host_operations.h"
#include "ops/parameters.h"

namespace headlight::ops {
namespace {

constexpr std::uint32_t kNoTile = 0xffffffffu;

ExpertsParameters expert_parameters(const ExpertCounts& counts, const ExpertRows& rows) {
  ExpertsParameters parameters{};
  parameters.rows = rows.count();
  parameters.tokens = rows.tokens.count;
  parameters.first = rows.tokens.first;
  parameters.experts = counts.experts;
  parameters.slots = counts.per_token;
  parameters.pairs = rows.count() * counts.per_token;
  parameters.sums_to_one = counts.gates_sum_to_one ? 1 : 0;
  return parameters;
}

/// A kernel and how many rows one of its workgroups covers.
struct ExpertKernel {
  const gpu::Kernel* kernel = nullptr;
  std::uint32_t rows = 1, groups_per_tile = 1;
};

/// Chooses as linear layers' tuning says: sums in parts for a few pairs, which seldom share an expert, else tiles or
/// registers.
ExpertKernel choose_expert_kernel(Kernels& kernels, WeightType type, Activation activation, std::uint32_t pairs,
                                  std::uint32_t experts) {
  constexpr std::uint32_t kGemvLanes = 256, kGemvSharedBytes = 16'384, kTileSharedBytes = 8'448;
  constexpr std::uint32_t kFewPairs = 4 * kFewRows;
  const gpu::DeviceInfo& device = kernels.context().device();
  LinearKernel kind = pairs <= kFewPairs ? kernels.tuning().few_rows : kernels.tuning().many_rows;
  if (is_host(kind)) kind = default_shader(device);
  const auto find = [&](Shader shader, std::uint32_t constant) {
    const bool has_halves = type == WeightType::F16;
    return kernels.find({.shader = shader,
                         .weights = has_blocks(type) ? WeightType::F32 : type,
                         .reads_half_bits = has_halves && !kernels.half_conversions().unpacking_keeps,
                         .of_experts = true,
                         .constants = {static_cast<std::uint32_t>(activation), constant}});
  };
  const bool is_gemv = kind == LinearKernel::Gemv;
  if (is_gemv && pairs <= kFewPairs && can_run(device, kGemvLanes, kGemvSharedBytes)) {
    if (const gpu::Kernel* kernel = find(Shader::LinearGemv, 1)) return {kernel, 1, 4};
  }
  const bool is_tiled = is_gemv || kind == LinearKernel::Tiled || kind == LinearKernel::Matrix;
  for (const auto& [lanes, rows] : {std::pair(128u, 64u), std::pair(64u, 16u)}) {
    const bool is_filled = lanes == 64 || pairs / experts >= rows / 2;
    if (!is_tiled || !is_filled || !can_run(device, lanes, kTileSharedBytes)) continue;
    if (const gpu::Kernel* kernel = find(Shader::LinearTiled, lanes)) return {kernel, rows, 1};
  }
  const std::uint32_t rows = pairs <= experts ? 1 : pairs <= 4 * experts ? 4 : 8;
  if (const gpu::Kernel* kernel = find(Shader::LinearVec4, rows)) return {kernel, rows, 1};
  throw Error("'{}' refuses every kernel for experts: update its driver, or choose another device", device.name);
}

/// The tiles of one run of the weight, as many at a time as a binding or the scratch of expanded blocks may hold.
void record_experts(gpu::Stream& stream, Kernels& kernels, const gpu::Slice& x, const ExpertLinear& linear,
                    const PackedLinear::Run& run, const DeviceTensor& y, LinearParameters parameters) {
  const gpu::DeviceInfo& device = kernels.context().device();
  const bool is_expanded = has_blocks(run.type);
  const std::size_t tile_numbers = std::size_t{linear.weight.inner4} * 4 * 64;
  const std::size_t tile_bytes = is_expanded ? tile_numbers * sizeof(float) : run.tile_bytes;
  const std::size_t range = kernels.max_binding(false);
  const std::size_t most = is_expanded ? std::min(range, std::max(kMostExpandedBytes, tile_bytes)) : range;
  const auto step = static_cast<std::uint32_t>(std::min<std::size_t>(most / tile_bytes, run.end_tile - run.first_tile));
  if (step == 0 || x.size > range || y.item_bytes() > range) {
    throw Error("experts of {} numbers are more than the {} MiB that '{}' can bind at once; make the model smaller", y.width,
                range >> 20, device.name);
  }
  const ExpertKernel choice =
      choose_expert_kernel(kernels, run.type, linear.activation, parameters.pairs, parameters.experts);
  const gpu::Groups groups{parameters.pairs / choice.rows + parameters.experts,
                           parameters.expert_tiles * choice.groups_per_tile, 1};
  const DeviceTensor& factor = linear.factor != nullptr ? *linear.factor : y;
  for (std::uint32_t tile = run.first_tile; tile < run.end_tile; tile += step) {
    parameters.first_tile = tile;
    parameters.tiles = std::min(step, run.end_tile - tile);
    const std::size_t bytes = parameters.tiles * tile_bytes;
    const gpu::Slice weights = is_expanded ? gpu::Slice(stream.scratch(bytes, "an expert's weights"), 0, bytes)
                                           : gpu::Slice(linear.weight.weight, run.byte_of(tile), bytes);
    if (is_expanded) {
      expand_blocks(stream, kernels, linear.weight, run,
                    {.first_tile = tile,
                     .tiles = parameters.tiles,
                     .expert_tiles = parameters.expert_tiles,
                     .experts = parameters.experts,
                     .pairs = parameters.pairs,
                     .routing = &linear.routing},
                    weights);
    }
    const double share = static_cast<double>(parameters.tiles) / (run.end_tile - run.first_tile);
    stream.dispatch(*choice.kernel, {x, weights, linear.weight.bias, y.item(0), factor.item(0), linear.routing}, parameters,
                    groups, share * static_cast<double>(tile_numbers) * parameters.expert_tiles * parameters.pairs);
  }
}

void record_experts(gpu::Stream& stream, Kernels& kernels, const gpu::Slice& x, const ExpertLinear& linear,
                    const DeviceTensor& y, LinearParameters parameters, std::uint32_t pairs) {
  parameters.inner4 = parameters.split4 = linear.weight.inner4;
  parameters.key_tile = parameters.value_tile = kNoTile;
  parameters.heads = 1;
  parameters.d_k4 = y.width4();
  parameters.combine = linear.factor != nullptr ? 1 : 0;
  parameters.rows = parameters.pairs = pairs;
  parameters.experts = linear.counts.experts;
  parameters.expert_tiles = linear.weight.sections.front().tiles;
  if (is_host(kernels.tuning().many_rows) && expert_linear_on_host(stream, kernels, x, linear, y, parameters)) return;
  for (const PackedLinear::Run& run : linear.weight.runs) record_experts(stream, kernels, x, linear, run, y, parameters);
}

}  // namespace

std::uint32_t pairs_at_once(std::uint32_t per_token, std::uint32_t width, std::uint32_t result) {
  constexpr std::uint32_t kBytes = 1u << 26, kMostPairs = 1u << 16;
  return std::max(per_token, std::min(kMostPairs, kBytes / 4 / std::max(width, result)));
}

std::vector<ExpertRows> expert_parts(std::uint32_t items, Rows rows, std::uint32_t per_token, std::uint32_t pairs_at_once) {
  std::vector<ExpertRows> parts;
  const std::uint32_t at_once = std::max(1u, pairs_at_once / per_token);
  const std::uint32_t whole = at_once / std::max(rows.count, 1u);  // items at once
  for (std::uint32_t item = 0; item < items; item += std::max(whole, 1u)) {
    if (whole > 0) {
      parts.push_back({item, std::min(whole, items - item), rows});
      continue;
    }
    for (std::uint32_t token = 0; token < rows.count; token += at_once) {
      parts.push_back({item, 1, {rows.first + token, std::min(at_once, rows.count - token)}});
    }
  }
  return parts;
}

std::size_t routing_numbers(const ExpertCounts& counts, std::uint32_t pairs) {
  return std::size_t{3} * pairs + counts.experts + 1;
}

void route(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& logits, const ExpertCounts& counts,
           const ExpertRows& rows, const DeviceTensor& gates, const gpu::Buffer& routing) {
  ExpertsParameters parameters = expert_parameters(counts, rows);
  parameters.stride4 = logits.stride4();
  const gpu::Slice from = logits.slice(rows.first_item, rows.items), to = gates.slice(rows.first_item, rows.items);
  if (is_host(kernels.tuning().many_rows) && route_on_host(stream, kernels, from, to, routing, parameters)) return;
  const Kernels::Fold fold = kernels.fold(parameters.rows);
  stream.dispatch(kernels[{.shader = Shader::ExpertsRoute}], {from, to, routing}, parameters, {fold.groups, fold.rows, 1});
  stream.dispatch(kernels[{.shader = Shader::ExpertsGroup}], {routing}, parameters, {counts.experts, 1, 1});
}

void linear_of_tokens(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const ExpertRows& rows,
                      const ExpertLinear& linear, const DeviceTensor& y) {
  LinearParameters parameters{};
  parameters.tokens = rows.tokens.count;
  parameters.x_first = rows.tokens.first;
  parameters.x_stride4 = x.stride4();
  parameters.slots = linear.counts.per_token;
  record_experts(stream, kernels, x.slice(rows.first_item, rows.items), linear, y, parameters,
                 rows.count() * linear.counts.per_token);
}

void linear_of_pairs(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const ExpertRows& rows,
                     const ExpertLinear& linear, const DeviceTensor& y) {
  LinearParameters parameters{};
  parameters.tokens = rows.count() * linear.counts.per_token;
  parameters.x_stride4 = x.stride4();
  parameters.slots = 1;
  record_experts(stream, kernels, x.item(0), linear, y, parameters, parameters.tokens);
}

void sum_experts(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& results, const ExpertRows& rows,
                 const ExpertCounts& counts, const gpu::Buffer& routing, const SharedExpert& shared, const DeviceTensor& y) {
  ExpertsParameters parameters = expert_parameters(counts, rows);
  parameters.width4 = y.width4();
  parameters.y_stride4 = y.stride4();
  parameters.shared_kind = shared.result == nullptr ? 0 : shared.gate == nullptr ? 1 : 2;
  const DeviceTensor& gate = shared.gate != nullptr ? *shared.gate : y;
  parameters.gate_stride4 = gate.stride4();
  const auto slice = [&](const DeviceTensor& of) { return of.slice(rows.first_item, rows.items); };
  const gpu::Slice to = slice(y), beside = slice(shared.result != nullptr ? *shared.result : y), gates = slice(gate);
  if (is_host(kernels.tuning().many_rows) &&
      sum_experts_on_host(stream, kernels, results, routing, to, beside, gates, parameters)) {
    return;
  }
  constexpr std::uint32_t kSumLanes = 64;
  const Kernels::Fold fold = kernels.fold(divide_up(parameters.rows * parameters.width4, kSumLanes));
  stream.dispatch(kernels[{.shader = Shader::ExpertsSum}], {results.item(0), routing, to, beside, gates}, parameters,
                  {fold.groups, fold.rows, 1});
}

}  // namespace headlight::ops
