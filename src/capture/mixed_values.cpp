#include "capture/mixed_values.h"

#include <utility>

namespace headlight::capture {

MixedValues::MixedValues(std::shared_ptr<const Numbers> values, std::uint32_t heads)
    : values_(std::move(values)), group_(heads / values_->shape()[1]) {}

void MixedValues::read(const Rectangle& cells, float* to) const {
  Rectangle of_values = cells;
  of_values.head = cells.head / group_;
  values_->read(of_values, to);
}

void MixedValues::mix(std::uint32_t item, std::uint32_t head, std::span<const float> weights, std::uint32_t first,
                      std::uint32_t count, float* to) const {
  const std::uint32_t of_values = head / group_, keys = values_->shape()[2];
  if (loaded_.empty() || loaded_item_ != item || loaded_head_ != of_values) {
    loaded_.resize(std::size_t{keys} * width());
    values_->read({.item = item, .head = of_values, .row = 0, .rows = keys, .column = 0, .columns = width()},
                  loaded_.data());
    loaded_item_ = item;
    loaded_head_ = of_values;
  }
  std::vector<double> sums(count, 0.0);
  for (std::size_t key = 0; key < weights.size(); ++key) {
    if (weights[key] == 0.0F) continue;
    const float* row = loaded_.data() + key * width() + first;
    for (std::size_t i = 0; i < count; ++i) sums[i] += double{weights[key]} * double{row[i]};
  }
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(sums[i]);
}

}  // namespace headlight::capture
