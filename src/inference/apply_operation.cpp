#include "inference/apply_operation.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace headlight::inference {
namespace {

void apply(const Scale& scale, const DeviceHead& head) {
  if (scale.gain != 1.0f) ops::scale_head(head.stream, head.kernels, head.slot, scale.gain, head.rows);
}

void apply(const Add& add, const DeviceHead& head) {
  std::vector<float> padded(std::size_t{head.slot.width4} * 4);
  std::copy_n(add.vector.begin(), std::min(add.vector.size(), padded.size()), padded.begin());
  const auto buffer = std::make_shared<const gpu::Buffer>(head.stream.context(), padded.size() * sizeof(float),
                                                          gpu::Memory::Transient, "an intervention's vector");
  head.stream.upload(*buffer, 0, std::span<const float>(padded));
  head.buffers.push_back(buffer);
  ops::add_to_head(head.stream, head.kernels, head.slot, *buffer, head.rows);
}

void apply(const Average&, const DeviceHead& head) {
  std::vector<std::uint32_t> ranges;
  for (std::uint32_t item = 0; item < head.tokens.batch; ++item) {
    ranges.push_back(head.tokens.start(item));
    ranges.push_back(head.tokens.start(item) + head.tokens.lengths[item]);
  }
  const auto buffer = std::make_shared<const gpu::Buffer>(head.stream.context(), ranges.size() * sizeof(std::uint32_t),
                                                          gpu::Memory::Transient, "the texts' ends");
  head.stream.upload(*buffer, 0, std::span<const std::uint32_t>(ranges));
  head.buffers.push_back(buffer);
  ops::average_head(head.stream, head.kernels, head.slot, *buffer);
}

void apply(const Replace& replace, const DeviceHead& head) {
  if (replace.item >= head.tokens.batch || head.item.value_or(replace.item) != replace.item) return;
  const std::size_t width = head.width, count = replace.rows.size() / width;
  const std::uint32_t first = std::max(replace.first, head.rows.first);
  const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(replace.first + count, head.rows.end()));
  if (first >= end) return;
  const std::size_t stride = std::size_t{head.slot.width4} * 4;
  std::vector<float> padded(stride * (end - first));
  for (std::size_t row = 0; row < end - first; ++row) {
    const auto from = replace.rows.begin() + static_cast<std::ptrdiff_t>((row + first - replace.first) * width);
    std::copy_n(from, width, padded.begin() + static_cast<std::ptrdiff_t>(row * stride));
  }
  const auto buffer = std::make_shared<const gpu::Buffer>(head.stream.context(), padded.size() * sizeof(float),
                                                          gpu::Memory::Transient, "an intervention's rows");
  head.stream.upload(*buffer, 0, std::span<const float>(padded));
  head.buffers.push_back(buffer);
  ops::replace_in_head(head.stream, head.kernels, head.slot, replace.item, {*buffer, 0, padded.size() * sizeof(float)},
                       {.first = first, .count = end - first});
}

/// Of the head's queries: with 0 all scores are equal.
void apply(const ReplacePattern& replaced, const DeviceHead& head) {
  if (replaced.pattern.kind != attention::FixedPattern::Uniform) return;
  ops::scale_head(head.stream, head.kernels, head.slot, 0.0f, head.rows);
}

/// Of weights the attention's kernels drop.
void apply(const Dropout& dropout, const DeviceHead& head) {
  const auto& [block, site, number] = head.place;
  if (site == model::Site::Weights || dropout.probability == 0.0f) return;
  const attention::DropoutPlan plan = attention::dropout_plan(dropout.probability, dropout.seed, site, block);
  ops::drop_from_head(head.stream, head.kernels, head.slot,
                      {.key = plan.key, .threshold = plan.threshold, .factor = plan.factor, .head = number}, head.rows);
}

}  // namespace

void apply_operation(const Operation& operation, const DeviceHead& head) {
  std::visit([&](const auto& one) { apply(one, head); }, operation);
}

}  // namespace headlight::inference
