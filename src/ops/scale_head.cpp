#include "ops/scale_head.h"

#include <algorithm>

#include "ops/parameters.h"

namespace headlight::ops {

void scale_head(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& merged, const MergedLayout& layout,
                std::uint32_t head, std::uint32_t width4, float factor, Rows rows) {
  constexpr std::uint32_t kLanes = 64;
  ScaleHeadParameters parameters{};
  parameters.tokens = rows.count;
  parameters.first = rows.first;
  parameters.width4 = width4;
  parameters.row4 = layout.row4;
  parameters.head_at4 = head * layout.head4;
  parameters.stride4 = merged.stride4();
  parameters.factor = factor;
  const auto per_slice = static_cast<std::uint32_t>(std::min<std::size_t>(
      {merged.items, kernels.max_binding(false) / merged.item_bytes(), kernels.context().device().max_groups[1]}));
  const Kernels::Fold fold = kernels.fold(divide_up(rows.count * width4, kLanes));
  for (std::uint32_t item = 0; item < merged.items; item += per_slice) {
    const std::uint32_t items = std::min(per_slice, merged.items - item);
    stream.dispatch(kernels["scale_head"], {merged.slice(item, items)}, parameters, {fold.groups, items, fold.rows});
  }
}

}  // namespace headlight::ops
