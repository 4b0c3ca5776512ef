#include "inference/apply_operation.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace headlight::inference {
namespace {

using model::reference::Array;

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

void apply(const Scale& scale, std::span<double> row) {
  for (double& value : row) value *= static_cast<double>(scale.gain);
}

void apply(const Add& add, std::span<double> row) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] += static_cast<double>(add.vector[i]);
}

}  // namespace

void apply_operation(const Operation& operation, const DeviceHead& head) {
  std::visit([&](const auto& one) { apply(one, head); }, operation);
}

void apply_operation(const Operation& operation, Array& values, std::uint32_t head) {
  const std::size_t heads = values.shape[1], tokens = values.shape[2], width = values.shape[3];
  for (std::size_t item = 0; item < values.shape[0]; ++item) {
    for (std::size_t token = 0; token < tokens; ++token) {
      const std::span<double> row(values.values.data() + ((item * heads + head) * tokens + token) * width, width);
      std::visit([&](const auto& one) { apply(one, row); }, operation);
    }
  }
}

model::reference::SiteEdit reference_edit(const Interventions& interventions) {
  return [&interventions](model::BlockRef block, model::Site site, Array& values) {
    for (const Intervention& one : interventions) {
      if (one.site != site || !one.scope.covers(block)) continue;
      for (std::uint32_t head = 0; head < values.shape[1]; ++head) {
        if (one.scope.head.value_or(head) == head) apply_operation(one.operation, values, head);
      }
    }
  };
}

}  // namespace headlight::inference
