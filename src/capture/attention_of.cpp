#include "capture/attention_of.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headlight::capture {

AttentionOf::AttentionOf(std::shared_ptr<const Numbers> queries, std::shared_ptr<const Numbers> keys, CapturedMask mask)
    : queries_(std::move(queries)),
      keys_(std::move(keys)),
      mask_(std::move(mask)),
      width_(queries_->shape()[3]),
      scale_(1.0 / std::sqrt(static_cast<double>(width_))) {}

void AttentionOf::load_keys(std::uint32_t item, std::uint32_t head) const {
  const std::uint32_t of_keys = head / (queries_->shape()[1] / keys_->shape()[1]);
  if (!loaded_.empty() && loaded_item_ == item && loaded_head_ == of_keys) return;
  const std::uint32_t count = keys_->shape()[2];
  loaded_.resize(std::size_t{count} * width_);
  keys_->read({.item = item, .head = of_keys, .row = 0, .rows = count, .column = 0, .columns = width_}, loaded_.data());
  loaded_item_ = item;
  loaded_head_ = of_keys;
}

void AttentionOf::dot(const float* query, std::uint32_t first, std::uint32_t count, double* to) const {
  for (std::uint32_t key = 0; key < count; ++key) {
    const float* row = loaded_.data() + std::size_t{first + key} * width_;
    double sum = 0.0;
    for (std::uint32_t i = 0; i < width_; ++i) sum += double{query[i]} * double{row[i]};
    to[key] = sum;
  }
}

void AttentionOf::weights(const Rectangle& cells, float* to, RowScale* scales) const {
  load_keys(cells.item, cells.head);
  std::vector<float> query(width_);
  std::vector<double> scores(keys_->shape()[2]);
  for (std::uint32_t r = 0; r < cells.rows; ++r) {
    const std::uint32_t row = cells.row + r;
    const attention::KeyRange visible = mask_.visible(cells.item, row);
    queries_->read({.item = cells.item, .head = cells.head, .row = row, .rows = 1, .column = 0, .columns = width_},
                   query.data());
    dot(query.data(), visible.begin, visible.end - visible.begin, scores.data() + visible.begin);
    double largest = -std::numeric_limits<double>::infinity();
    for (std::uint32_t key = visible.begin; key < visible.end; ++key) largest = std::max(largest, scores[key] *= scale_);
    double sum = 0.0;
    for (std::uint32_t key = visible.begin; key < visible.end; ++key) sum += scores[key] = std::exp(scores[key] - largest);
    float* line = to + std::size_t{r} * cells.columns;
    for (std::uint32_t column = 0; column < cells.columns; ++column) {
      const std::uint32_t key = cells.column + column;
      line[column] = visible.holds(key) ? static_cast<float>(scores[key] / sum) : 0.0F;
    }
    scales[r] = {.max = static_cast<float>(largest), .sum = static_cast<float>(sum)};
  }
}

void AttentionOf::scores(const Rectangle& cells, bool is_scaled, float* to) const {
  load_keys(cells.item, cells.head);
  std::vector<float> query(width_);
  std::vector<double> sums(cells.columns);
  for (std::uint32_t r = 0; r < cells.rows; ++r) {
    queries_->read({.item = cells.item, .head = cells.head, .row = cells.row + r, .rows = 1, .column = 0, .columns = width_},
                   query.data());
    dot(query.data(), cells.column, cells.columns, sums.data());
    float* line = to + std::size_t{r} * cells.columns;
    for (std::uint32_t column = 0; column < cells.columns; ++column) {
      line[column] = static_cast<float>(is_scaled ? sums[column] * scale_ : sums[column]);
    }
  }
}

}  // namespace headlight::capture
