#include "capture/attention_of.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headlight::capture {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

}  // namespace

AttentionOf::AttentionOf(std::shared_ptr<const Numbers> queries, std::shared_ptr<const Numbers> keys, CapturedMask mask,
                         CapturedScore score)
    : queries_(std::move(queries)),
      keys_(std::move(keys)),
      mask_(std::move(mask)),
      score_(std::move(score)),
      width_(queries_->shape()[3]),
      factor_(score_.scale.kind == model::Scale::Kind::InverseSqrtKey ? 1.0 / std::sqrt(static_cast<double>(width_))
                                                                      : double{score_.scale.factor(width_)}) {}

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

double AttentionOf::scaled(double score) const {
  const auto cap = static_cast<double>(score_.softcap);
  return cap > 0.0 ? cap * std::tanh(score * factor_ / cap) : score * factor_;
}

std::vector<float> AttentionOf::biases(const Rectangle& row, std::uint32_t first, std::uint32_t count) const {
  if (!score_.bias) return {};
  const Shape& shape = score_.bias->shape();
  std::vector<float> biases(count);
  const std::uint32_t item = shape[0] == 1 ? 0 : row.item, head = shape[1] == 1 ? 0 : row.head;
  if (count > 0) score_.bias->read({item, head, row.row, 1, first, count}, biases.data());
  return biases;
}

std::vector<std::uint8_t> AttentionOf::hidden_keys(const Rectangle& row) const {
  std::vector<std::uint8_t> hidden;
  for (const float bias : biases(row, row.column, row.columns)) hidden.push_back(bias == kHidden ? 1 : 0);
  return hidden;
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
    const std::vector<float> bias =
        biases({.item = cells.item, .head = cells.head, .row = row}, visible.begin, visible.end - visible.begin);
    float sink = kHidden;
    if (score_.sinks)
      score_.sinks->read({.item = 0, .head = cells.head, .row = 0, .rows = 1, .column = 0, .columns = 1}, &sink);
    auto largest = static_cast<double>(sink);
    for (std::uint32_t key = visible.begin; key < visible.end; ++key) {
      scores[key] = scaled(scores[key]) + (bias.empty() ? 0.0 : double{bias[key - visible.begin]});
      largest = std::max(largest, scores[key]);
    }
    // A row that sees no key has a sum of 0.
    const double from = std::isinf(largest) && largest < 0.0 ? 0.0 : largest;
    double sum = std::exp(double{sink} - from);
    for (std::uint32_t key = visible.begin; key < visible.end; ++key) sum += scores[key] = std::exp(scores[key] - from);
    float* line = to + std::size_t{r} * cells.columns;
    for (std::uint32_t column = 0; column < cells.columns; ++column) {
      const std::uint32_t key = cells.column + column;
      line[column] = visible.holds(key) && sum != 0.0 ? static_cast<float>(scores[key] / sum) : 0.0F;
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
    const std::vector<float> bias =
        is_scaled ? biases({.item = cells.item, .head = cells.head, .row = cells.row + r}, cells.column, cells.columns)
                  : std::vector<float>();
    float* line = to + std::size_t{r} * cells.columns;
    for (std::uint32_t column = 0; column < cells.columns; ++column) {
      const double added = bias.empty() || bias[column] == kHidden ? 0.0 : double{bias[column]};
      line[column] = static_cast<float>(is_scaled ? scaled(sums[column]) + added : sums[column]);
    }
  }
}

}  // namespace headlight::capture
