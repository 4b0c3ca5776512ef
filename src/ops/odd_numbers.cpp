#include "ops/odd_numbers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/device_tensor.h"
#include "ops/host_operations.h"
#include "ops/parameters.h"

namespace headlight::ops {
namespace {

constexpr std::uint32_t kCountLanes = 64;
/// Rows of a dispatch: a multiple of this, so that each begins where the device lets a binding begin.
constexpr std::uint32_t kRowAlignment = 64;

std::uint32_t count_on_host(const NumberRows& part) {
  const float* numbers = ops::numbers<const float>(part.numbers);
  std::uint32_t odd = 0;
  for (std::uint32_t row = 0; row < part.rows; ++row) {
    if (row % part.period >= part.kept) continue;
    const float* at = numbers + std::size_t{row} * part.stride + part.first;
    for (std::uint32_t i = 0; i < part.count; ++i) odd += std::isfinite(at[i]) ? 0U : 1U;
  }
  return odd;
}

void dispatch(gpu::Stream& stream, Kernels& kernels, const NumberRows& part, std::uint32_t slot, const gpu::Buffer& counts) {
  const std::size_t row_bytes = std::size_t{part.stride} * sizeof(float);
  const std::size_t fit = kernels.max_binding(false) / row_bytes / kRowAlignment * kRowAlignment;
  const auto most =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(fit, kRowAlignment, std::max(part.rows, kRowAlignment)));
  for (std::uint32_t row = 0; row < part.rows; row += most) {
    const std::uint32_t rows = std::min(most, part.rows - row);
    const gpu::Slice some(*part.numbers.buffer, part.numbers.offset + row * row_bytes, rows * row_bytes);
    const OddNumbersParameters parameters{.rows = rows,
                                          .first_row = row,
                                          .stride = part.stride,
                                          .first = part.first,
                                          .count = part.count,
                                          .period = part.period,
                                          .kept = part.kept,
                                          .slot = slot};
    const Kernels::Fold fold = kernels.fold(divide_up(rows * part.count, kCountLanes));
    stream.dispatch(kernels[{.shader = Shader::CountOddNumbers}], {some, counts}, parameters, {fold.groups, 1, fold.rows});
  }
}

}  // namespace

void count_odd_numbers(gpu::Stream& stream, Kernels& kernels, std::span<const NumberRows> parts, const gpu::Buffer& counts) {
  const bool is_in_memory =
      is_mapped(counts) && std::ranges::all_of(parts, [](const NumberRows& part) { return is_mapped(part.numbers); });
  if (kernels.context().device().runs_host_steps && is_in_memory) {
    stream.run_on_host([parts = std::vector<NumberRows>(parts.begin(), parts.end()),
                        slots = numbers<std::uint32_t>(counts)] { std::ranges::transform(parts, slots, count_on_host); });
    return;
  }
  stream.clear(counts);
  for (std::uint32_t slot = 0; slot < parts.size(); ++slot) dispatch(stream, kernels, parts[slot], slot, counts);
}

}  // namespace headlight::ops
