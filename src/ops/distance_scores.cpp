#include "ops/distance_scores.h"

#include <algorithm>
#include <vector>

#include "ops/attention.h"
#include "ops/host_operations.h"
#include "ops/parameters.h"

namespace headlight::ops {
namespace {

/// One head of one item. `columns` at a time, so that the compiler makes vectors of them.
void multiply_head(const DistanceScoresParameters& p, const float* x, const float* table, float* to) {
  const std::size_t d_k = std::size_t{p.d_k4} * 4;
  std::vector<float> by_component(d_k * p.columns);
  for (std::size_t column = 0; column < p.columns; ++column) {
    for (std::size_t i = 0; i < d_k; ++i) by_component[i * p.columns + column] = table[column * d_k + i];
  }
  for (std::size_t row = 0; row < p.rows; ++row, x += d_k, to += p.columns) {
    std::fill_n(to, p.columns, 0.0f);
    for (std::size_t i = 0; i < d_k; ++i) {
      const float factor = x[i];
      const float* components = &by_component[i * p.columns];
      for (std::size_t column = 0; column < p.columns; ++column) to[column] += factor * components[column];
    }
  }
}

/// False, and nothing is recorded, where a buffer isn't in the program's memory.
bool multiply_on_host(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const DeviceTensor& table,
                      const gpu::Buffer& words, const DistanceScoresParameters& parameters) {
  if (!rows_on_host(kernels) || !is_mapped(x.buffer()) || !is_mapped(table.buffer()) || !is_mapped(words)) return false;
  stream.run_on_host([p = parameters, items = x.items, from = numbers<const float>(x.buffer()),
                      with = numbers<const float>(table.buffer()), to = numbers<float>(words),
                      &threads = kernels.host_threads()] {
    const auto part = [&](std::uint32_t map) {
      const std::size_t item = map / p.heads, head = map % p.heads;
      multiply_head(p, from + (item * p.x_stride4 + head * p.x_tokens * p.d_k4) * 4,
                    with + head * p.table_tokens * p.d_k4 * 4, to + p.out_at + std::size_t{map} * p.rows * p.columns);
    };
    threads.run(items * p.heads, 4.0 * p.d_k4 * p.rows * p.columns * items * p.heads, part);
  });
  return true;
}

}  // namespace

void distance_scores(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const DeviceTensor& table,
                     std::uint32_t rows, const gpu::Buffer& words, std::uint32_t at) {
  constexpr std::uint32_t kDistanceLanes = 64;
  DistanceScoresParameters parameters{};
  parameters.heads = x.heads;
  parameters.rows = rows;
  parameters.columns = table.tokens;
  parameters.x_tokens = x.tokens;
  parameters.table_tokens = table.tokens;
  parameters.d_k4 = x.width4();
  parameters.x_stride4 = x.stride4();
  parameters.out_at = at;
  if (multiply_on_host(stream, kernels, x, table, words, parameters)) return;
  const gpu::DeviceInfo& device = kernels.context().device();
  const auto per_slice = static_cast<std::uint32_t>(
      std::min<std::size_t>({x.items, kernels.max_binding(false) / x.item_bytes(), device.max_groups[2] / x.heads}));
  const double row_work = kAttentionCost * 4.0 * parameters.d_k4 * parameters.columns * per_slice * x.heads;
  const std::uint32_t step = std::min(kernels.parts_at_once(rows, row_work), device.max_groups[1]);
  for (std::uint32_t item = 0; item < x.items; item += per_slice) {
    const std::uint32_t items = std::min(per_slice, x.items - item);
    parameters.first_item = item;
    for (std::uint32_t row = 0; row < rows; row += step) {
      parameters.first_row = row;
      const std::uint32_t some = std::min(step, rows - row);
      stream.dispatch(kernels[{.shader = Shader::DistanceScores}], {x.slice(item, items), table.item(0), words}, parameters,
                      {divide_up(parameters.columns, kDistanceLanes), some, items * x.heads}, row_work * some);
    }
  }
}

}  // namespace headlight::ops
