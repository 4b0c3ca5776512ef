#include "ops/host_operations.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>

#include "ops/host_tile.h"

namespace headlight::ops {
namespace {

/// The parts of a routing buffer (shaders/lib/routing.glsl).
struct Routing {
  std::uint32_t *choices, *gates, *begins, *order;

  Routing(std::uint32_t* words, std::uint32_t pairs, std::uint32_t experts)
      : choices(words), gates(words + pairs), begins(gates + pairs), order(begins + experts + 1) {}
};

bool can_run_steps(const Kernels& kernels, std::initializer_list<gpu::Slice> slices) {
  return kernels.context().device().runs_host_steps && std::ranges::all_of(slices, is_mapped);
}

/// One token: its experts and their gates, as experts_route.comp has them.
void choose_experts(const ExpertsParameters& p, const float* logits, std::uint32_t* choices, std::uint32_t* pair_gates,
                    float* gates) {
  std::vector<std::uint32_t> order(p.experts);
  std::iota(order.begin(), order.end(), 0u);
  // A comparison with a logit that isn't a number is false, so the order needn't be consistent; each slot takes the
  // best of the experts that are left.
  for (std::uint32_t slot = 0; slot < p.slots; ++slot) {
    std::uint32_t best = slot;
    for (std::uint32_t n = slot + 1; n < p.experts; ++n) {
      const float value = logits[order[n]], than = logits[order[best]];
      if (value > than || (value == than && order[n] < order[best])) best = n;
    }
    std::swap(order[slot], order[best]);
  }
  const float most = logits[order[0]];
  float sum = 0.0f;
  for (std::uint32_t n = 0; n < (p.sums_to_one != 0 ? p.slots : p.experts); ++n) sum += std::exp(logits[order[n]] - most);
  std::fill_n(gates, p.experts, 0.0f);
  for (std::uint32_t slot = 0; slot < p.slots; ++slot) {
    const float gate = std::exp(logits[order[slot]] - most) / sum;
    choices[slot] = order[slot];
    pair_gates[slot] = std::bit_cast<std::uint32_t>(gate);
    gates[order[slot]] = gate;
  }
}

/// The pairs in the order of their experts, as experts_group.comp has them.
void group(const ExpertsParameters& p, const Routing& routing) {
  std::fill_n(routing.begins, p.experts + 1, 0u);
  for (std::uint32_t pair = 0; pair < p.pairs; ++pair) ++routing.begins[routing.choices[pair] + 1];
  std::partial_sum(routing.begins, routing.begins + p.experts + 1, routing.begins);
  std::vector<std::uint32_t> next(routing.begins, routing.begins + p.experts);
  for (std::uint32_t pair = 0; pair < p.pairs; ++pair) routing.order[next[routing.choices[pair]]++] = pair;
}

struct HostExpertLayer {
  const float* x;
  float* y;
  const float* factor;  ///< or null
  std::uint32_t* routing;
  const std::byte* weight;
  const float* bias;
  std::vector<PackedLinear::Run> runs;
  std::uint32_t activation;
  LinearParameters parameters;
};

/// Some pairs of one expert × a tile of its weight.
void compute(const HostExpertLayer& layer, std::uint32_t expert, std::span<const std::uint32_t> pairs, std::uint32_t tile) {
  constexpr std::uint32_t kColumns = HostTile::kColumns;
  alignas(64) std::array<float, std::size_t{kHostRowsAtOnce} * kColumns> sums;
  thread_local std::vector<float> gathered;
  const LinearParameters& p = layer.parameters;
  const std::size_t inner = std::size_t{p.inner4} * 4, width = std::size_t{p.d_k4} * 4;
  gathered.resize(pairs.size() * inner);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::size_t from = pairs[i] / p.slots;
    const float* row = layer.x + (from / p.tokens * p.x_stride4 + (p.x_first + from % p.tokens) * p.inner4) * 4;
    std::copy_n(row, inner, gathered.data() + i * inner);
  }
  const std::uint32_t of_weight = expert * p.expert_tiles + tile;
  const auto run = std::ranges::find_if(layer.runs, [&](const PackedLinear::Run& one) { return of_weight < one.end_tile; });
  multiply_tile({layer.weight, layer.bias, *run, p.inner4, layer.activation}, of_weight, gathered.data(),
                static_cast<std::uint32_t>(pairs.size()), sums.data());
  const std::size_t first = std::size_t{tile} * kColumns, count = std::min<std::size_t>(kColumns, width - first);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::size_t at = pairs[i] * width + first;
    for (std::size_t c = 0; c < count; ++c) {
      const float value = sums[i * kColumns + c];
      layer.y[at + c] = layer.factor != nullptr ? value * layer.factor[at + c] : value;
    }
  }
}

double multiply_adds(const HostExpertLayer& layer) {
  const LinearParameters& p = layer.parameters;
  return 4.0 * p.inner4 * HostTile::kColumns * p.expert_tiles * p.pairs;
}

/// Every expert's pairs in runs of kHostRowsAtOnce; the parts of one tile follow each other.
void compute(const HostExpertLayer& layer, HostThreads& threads) {
  const LinearParameters& p = layer.parameters;
  const Routing routing(layer.routing, p.pairs, p.experts);
  struct Part {
    std::uint32_t expert, first, count, tile;
  };
  std::vector<Part> parts;
  for (std::uint32_t expert = 0; expert < p.experts; ++expert) {
    const std::uint32_t begin = routing.begins[expert], end = routing.begins[expert + 1];
    for (std::uint32_t tile = 0; tile < p.expert_tiles; ++tile) {
      for (std::uint32_t first = begin; first < end; first += kHostRowsAtOnce) {
        parts.push_back({expert, first, std::min(kHostRowsAtOnce, end - first), tile});
      }
    }
  }
  threads.run(static_cast<std::uint32_t>(parts.size()), multiply_adds(layer), [&](std::uint32_t number) {
    const Part& part = parts[number];
    compute(layer, part.expert, {routing.order + part.first, part.count}, part.tile);
  });
}

}  // namespace

bool route_on_host(gpu::Stream& stream, Kernels& kernels, const gpu::Slice& logits, const gpu::Slice& gates,
                   const gpu::Buffer& routing, const ExpertsParameters& parameters) {
  if (!can_run_steps(kernels, {logits, gates, routing})) return false;
  stream.run_on_host([p = parameters, from = numbers<const float>(logits), to = numbers<float>(gates),
                      words = numbers<std::uint32_t>(routing)] {
    const Routing parts(words, p.pairs, p.experts);
    const std::size_t width = std::size_t{divide_up(p.experts, 4)} * 4;
    for (std::size_t row = 0; row < p.rows; ++row) {
      const std::size_t at = row / p.tokens * p.stride4 * 4 + (p.first + row % p.tokens) * width, pair = row * p.slots;
      choose_experts(p, from + at, parts.choices + pair, parts.gates + pair, to + at);
    }
    group(p, parts);
  });
  return true;
}

bool expert_linear_on_host(gpu::Stream& stream, Kernels& kernels, const gpu::Slice& x, const ExpertLinear& linear,
                           const DeviceTensor& y, const LinearParameters& parameters) {
  const gpu::Slice factor = linear.factor != nullptr ? linear.factor->item(0) : y.item(0);
  if (!can_run_steps(kernels, {x, linear.weight.weight, linear.weight.bias, y.item(0), factor, linear.routing}))
    return false;
  HostExpertLayer layer{.x = numbers<const float>(x),
                        .y = numbers<float>(y.buffer()),
                        .factor = linear.factor != nullptr ? numbers<const float>(factor) : nullptr,
                        .routing = numbers<std::uint32_t>(linear.routing),
                        .weight = numbers<const std::byte>(linear.weight.weight),
                        .bias = numbers<const float>(linear.weight.bias),
                        .runs = linear.weight.runs,
                        .activation = static_cast<std::uint32_t>(linear.activation),
                        .parameters = parameters};
  const double cost = multiply_adds(layer);
  stream.run_on_host([layer = std::move(layer), &threads = kernels.host_threads()] { compute(layer, threads); }, cost);
  return true;
}

bool sum_experts_on_host(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& results, const gpu::Buffer& routing,
                         const gpu::Slice& y, const gpu::Slice& shared, const gpu::Slice& gate,
                         const ExpertsParameters& parameters) {
  if (!can_run_steps(kernels, {results.item(0), routing, y, shared, gate})) return false;
  stream.run_on_host([p = parameters, from = numbers<const float>(results.buffer()), words = numbers<std::uint32_t>(routing),
                      to = numbers<float>(y), beside = numbers<const float>(shared), gates = numbers<const float>(gate),
                      &threads = kernels.host_threads()] {
    const Routing parts(words, p.pairs, p.experts);
    const std::size_t width = std::size_t{p.width4} * 4;
    threads.run(p.rows, static_cast<double>(p.pairs) * static_cast<double>(width), [&](std::uint32_t row) {
      const std::size_t item = row / p.tokens, token = p.first + row % p.tokens;
      const std::size_t at = item * p.y_stride4 * 4 + token * width;
      std::fill_n(to + at, width, 0.0f);
      for (std::size_t pair = std::size_t{row} * p.slots; pair < std::size_t{row + 1} * p.slots; ++pair) {
        const auto factor = std::bit_cast<float>(parts.gates[pair]);
        for (std::size_t i = 0; i < width; ++i) to[at + i] += factor * from[pair * width + i];
      }
      if (p.shared_kind == 0) return;
      const float opened = gates[(item * p.gate_stride4 + token) * 4];
      const float factor = p.shared_kind == 1 ? 1.0f : 1.0f / (1.0f + std::exp(-opened));
      for (std::size_t i = 0; i < width; ++i) to[at + i] += factor * beside[at + i];
    });
  });
  return true;
}

}  // namespace headlight::ops
