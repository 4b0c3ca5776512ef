#pragma once

#include "gpu/stream.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"
#include "ops/linear.h"
#include "ops/packed_linear.h"

namespace headlight::ops {

/// Feed-forwards of which every token is given to some (model::Experts). Which ones, only the device knows: nothing is read
/// back between the ops below, and what isn't chosen isn't computed.
struct ExpertCounts {
  std::uint32_t experts = 0, per_token = 0;
  bool gates_sum_to_one = false;
};

/// Tokens of some batch items that are computed together; a pair is one of them and one of its experts.
struct ExpertRows {
  std::uint32_t first_item = 0, items = 1;
  Rows tokens;  ///< of each item

  std::uint32_t count() const { return items * tokens.count; }
};

/// Returns the number of pairs to compute at a time, so that the memory for their rows of `width` and of `result`
/// numbers stays small.
std::uint32_t pairs_at_once(std::uint32_t per_token, std::uint32_t width, std::uint32_t result);

/// All tokens `rows` of `items` batch items in parts of that size, at least a token each.
std::vector<ExpertRows> expert_parts(std::uint32_t items, Rows rows, std::uint32_t per_token, std::uint32_t pairs_at_once);

/// Numbers of a routing buffer as shaders/lib/routing.glsl has it, for so many pairs.
std::size_t routing_numbers(const ExpertCounts& counts, std::uint32_t pairs);

/// Chooses the experts of the rows: of logits [item, 1, token, expert] the largest, of equal ones the lower number.
///   gates  [item, 1, token, expert]: softmax over all experts, or over the chosen ones; 0 for the others
///   routing: choices, and the pairs in the order of their experts
void route(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& logits, const ExpertCounts& counts,
           const ExpertRows& rows, const DeviceTensor& gates, const gpu::Buffer& routing);

struct ExpertLinear {
  const PackedLinear& weight;  ///< a section each, all of one shape
  ExpertCounts counts;
  const gpu::Buffer& routing;
  Activation activation = Activation::None;
  const DeviceTensor* factor = nullptr;  ///< of y's shape, multiplied with y; or null
};
/// y [1, 1, pair, out] = activation(x · Wᵀ + b) · factor by the weights of each pair's expert, from its token's row of
/// x [item, 1, token, in].
void linear_of_tokens(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const ExpertRows& rows,
                      const ExpertLinear& linear, const DeviceTensor& y);
/// Computes the same linear layer from x [1, 1, pair, in], a row for each pair.
void linear_of_pairs(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const ExpertRows& rows,
                     const ExpertLinear& linear, const DeviceTensor& y);

/// The shared expert: null where there is none; its gate [item, 1, token, 1] is null where it counts as it is.
struct SharedExpert {
  const DeviceTensor* result = nullptr;  ///< of y's shape
  const DeviceTensor* gate = nullptr;    ///< before its sigmoid
};
/// y [item, 1, token, d] = Σ gate · result of each token's pairs [1, 1, pair, d] in the order in which they were chosen,
/// plus the shared expert's, in these rows.
void sum_experts(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& results, const ExpertRows& rows,
                 const ExpertCounts& counts, const gpu::Buffer& routing, const SharedExpert& shared, const DeviceTensor& y);

}  // namespace headlight::ops
