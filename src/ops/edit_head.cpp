#include "ops/edit_head.h"

#include <algorithm>
#include <utility>

#include "ops/parameters.h"

namespace headlight::ops {
namespace {

constexpr std::uint32_t kLanes = 64;

/// Parameters and groups of a dispatch for one item's rows.
std::pair<EditHeadParameters, gpu::Groups> one_item(const Kernels& kernels, const HeadSlot& slot, Rows rows) {
  EditHeadParameters parameters{};
  parameters.tokens = rows.count;
  parameters.first = rows.first;
  parameters.width4 = slot.width4;
  parameters.row4 = slot.row4;
  parameters.head_at4 = slot.at4;
  const Kernels::Fold fold = kernels.fold(divide_up(rows.count * slot.width4, kLanes));
  return {parameters, {fold.groups, 1, fold.rows}};
}

/// Calls dispatch(the items' slice of the tensor, parameters, groups) for as many batch items at a time as the device binds.
template <typename Dispatch>
void edit(const Kernels& kernels, const HeadSlot& slot, Rows rows, const Dispatch& dispatch) {
  const DeviceTensor& tensor = slot.tensor;
  auto [parameters, groups] = one_item(kernels, slot, rows);
  parameters.stride4 = tensor.stride4();
  const auto per_slice = static_cast<std::uint32_t>(std::min<std::size_t>(
      {tensor.items, kernels.max_binding(false) / tensor.item_bytes(), kernels.context().device().max_groups[1]}));
  const std::uint32_t first = std::min(slot.first_item, tensor.items);
  const std::uint32_t end = first + std::min(slot.items, tensor.items - first);
  for (std::uint32_t item = first; item < end; item += per_slice) {
    parameters.first_item = item;
    const std::uint32_t items = std::min(per_slice, end - item);
    dispatch(tensor.slice(item, items), parameters, gpu::Groups{groups.x, items, groups.z});
  }
}

/// Rows without gaps, the first at `at4`.
struct Source {
  gpu::Slice values;
  std::uint32_t at4 = 0;
};

void replace(gpu::Stream& stream, Kernels& kernels, const HeadSlot& slot, std::uint32_t item, const Source& source,
             Rows rows) {
  auto [parameters, groups] = one_item(kernels, slot, rows);
  parameters.source_at4 = source.at4;
  stream.dispatch(kernels[{.shader = Shader::ReplaceHead}], {slot.tensor.item(item), source.values}, parameters, groups);
}

}  // namespace

HeadSlot head_slot(const DeviceTensor& tensor, std::uint32_t head) {
  return {
      .tensor = tensor, .at4 = head * tensor.tokens * tensor.width4(), .row4 = tensor.width4(), .width4 = tensor.width4()};
}

HeadSlot head_slot(const DeviceTensor& merged, const MergedLayout& layout, std::uint32_t head, std::uint32_t d_v4) {
  return {.tensor = merged, .at4 = head * layout.head4, .row4 = layout.row4, .width4 = d_v4};
}

void scale_head(gpu::Stream& stream, Kernels& kernels, const HeadSlot& slot, float factor, Rows rows) {
  edit(kernels, slot, rows, [&](const gpu::Slice& values, EditHeadParameters parameters, const gpu::Groups& groups) {
    parameters.factor = factor;
    stream.dispatch(kernels[{.shader = Shader::ScaleHead}], {values}, parameters, groups);
  });
}

void drop_from_head(gpu::Stream& stream, Kernels& kernels, const HeadSlot& slot, const HeadDropout& dropout, Rows rows) {
  edit(kernels, slot, rows, [&](const gpu::Slice& values, EditHeadParameters parameters, const gpu::Groups& groups) {
    parameters.factor = dropout.factor;
    parameters.head = dropout.head;
    parameters.key = dropout.key;
    parameters.threshold = dropout.threshold;
    stream.dispatch(kernels[{.shader = Shader::DropHead}], {values}, parameters, groups);
  });
}

void average_head(gpu::Stream& stream, Kernels& kernels, const HeadSlot& slot, const gpu::Buffer& ranges) {
  edit(kernels, slot, {.first = 0, .count = slot.tensor.tokens},
       [&](const gpu::Slice& values, const EditHeadParameters& parameters, const gpu::Groups& groups) {
         stream.dispatch(kernels[{.shader = Shader::AverageHead}], {values, ranges}, parameters,
                         gpu::Groups{slot.width4, groups.y, 1});
       });
}

void add_to_head(gpu::Stream& stream, Kernels& kernels, const HeadSlot& slot, const gpu::Buffer& added, Rows rows,
                 bool has_rows) {
  edit(kernels, slot, rows, [&](const gpu::Slice& values, EditHeadParameters parameters, const gpu::Groups& groups) {
    if (has_rows) parameters.source_row4 = slot.width4;
    stream.dispatch(kernels[{.shader = Shader::AddToHead}], {values, added}, parameters, groups);
  });
}

void replace_in_head(gpu::Stream& stream, Kernels& kernels, const HeadSlot& slot, std::uint32_t item,
                     const gpu::Slice& source, Rows rows) {
  replace(stream, kernels, slot, item, {.values = source, .at4 = 0}, rows);
}

void copy_item(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& from, std::uint32_t item, const DeviceTensor& to,
               Rows rows) {
  const HeadSlot slot = head_slot(to, 0);
  for (std::uint32_t copy = 0; copy < to.items; ++copy) {
    replace(stream, kernels, slot, copy, {.values = from.item(item), .at4 = rows.first * slot.row4}, rows);
  }
}

void copy_rows(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& from, const DeviceTensor& to, Rows rows) {
  const HeadSlot slot = head_slot(to, 0);
  for (std::uint32_t item = 0; item < to.items; ++item) {
    replace(stream, kernels, slot, item, {.values = from.item(item), .at4 = rows.first * slot.row4}, rows);
  }
}

void add_rows(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const DeviceTensor& y, const DeviceTensor& sum,
              Rows rows, float factor) {
  const HeadSlot slot = head_slot(sum, 0);
  for (std::uint32_t item = 0; item < sum.items; ++item) {
    auto [parameters, groups] = one_item(kernels, slot, rows);
    parameters.factor = factor;
    stream.dispatch(kernels[{.shader = Shader::AddRows}], {sum.item(item), x.item(item), y.item(item)}, parameters, groups);
  }
}

}  // namespace headlight::ops
