#include "ops/rotate.h"

#include <algorithm>

#include "ops/host_operations.h"
#include "ops/parameters.h"

namespace headlight::ops {

void rotate(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const RotaryAngles& angles, Rows rows) {
  constexpr std::uint32_t kRotateLanes = 64;
  RotateParameters parameters{};
  parameters.heads = x.heads;
  parameters.tokens = rows.count;
  parameters.first = rows.first;
  parameters.all_tokens = angles.tokens;
  parameters.capacity = x.tokens;
  parameters.width = x.width4() * 4;
  parameters.stride = x.stride4() * 4;
  parameters.pairs = angles.pairs;
  parameters.is_interleaved = angles.is_interleaved ? 1 : 0;
  if (rows_on_host(kernels) && rotate_on_host(stream, kernels, x, angles, parameters)) return;
  const auto per_slice = static_cast<std::uint32_t>(std::min<std::size_t>(
      {x.items, kernels.max_binding(false) / x.item_bytes(), kernels.context().device().max_groups[1] / x.heads}));
  const Kernels::Fold fold = kernels.fold(divide_up(rows.count * angles.pairs, kRotateLanes));
  for (std::uint32_t item = 0; item < x.items; item += per_slice) {
    const std::uint32_t items = std::min(per_slice, x.items - item);
    parameters.first_item = item;
    stream.dispatch(kernels[{.shader = Shader::Rotate}], {x.slice(item, items), angles.angles, angles.positions}, parameters,
                    {fold.groups, items * x.heads, fold.rows});
  }
}

}  // namespace headlight::ops
