#include "chart/viewport.h"

#include <algorithm>
#include <cmath>

namespace headlight::chart {
namespace {

constexpr float kMaxAspect = 4.0F;
constexpr float kNamedCell = 18.0F;  // pixels along a side whose cells have room for names

// Pixels of a cell at most when the whole matrix fits: few may be large as long as their map is no larger than that of five.
float largest_cell(std::uint32_t rows, std::uint32_t columns) {
  constexpr float kOfMany = 96.0F;
  return std::clamp(5.0F * kOfMany / static_cast<float>(std::max(rows, columns)), kOfMany, Viewport::kMaxCell);
}

// Pixels of a cell when the whole matrix fits.
glm::vec2 fit(const Rect& area, std::uint32_t rows, std::uint32_t columns) {
  if (rows == 0 || columns == 0 || area.is_empty()) return {};
  const glm::vec2 full = area.size / glm::vec2(columns, rows);
  const float largest = largest_cell(rows, columns);
  const float square = std::min({full.x, full.y, largest});
  const float free = square * kMaxAspect, longest = std::min(std::max(free, kNamedCell), largest);
  return glm::mix(glm::vec2(square), glm::min(full, glm::vec2(longest)), glm::greaterThan(full, glm::vec2(free)));
}

}  // namespace

Viewport::Viewport(const Rect& area, std::uint32_t rows, std::uint32_t columns, float zoom, glm::vec2 pan,
                   CellPosition first)
    : area_(area),
      rows_(rows),
      columns_(columns),
      first_{.row = std::min(first.row, rows), .column = std::min(first.column, columns)},
      zoom_(zoom),
      pan_(pan),
      fit_cell_(fit(area, rows_ - first_.row, columns_ - first_.column)) {
  clamp();
}

glm::vec2 Viewport::cell_size() const { return glm::max(fit_cell_, std::min(fit_cell_.x, fit_cell_.y) * zoom_); }

float Viewport::max_zoom() const {
  const float smaller = std::min(fit_cell_.x, fit_cell_.y);
  return smaller > 0 ? std::max(1.0F, kMaxCell / smaller) : 1.0F;
}

void Viewport::clamp() {
  zoom_ = std::isfinite(zoom_) ? std::clamp(zoom_, 1.0F, max_zoom()) : 1.0F;
  // The quotient is infinite or NaN without cells, and there is no room.
  const glm::vec2 room = glm::max(glm::vec2(0.0F), (count() - area_.size / cell_size()) / 2.0F);
  const glm::bvec2 is_infinite = glm::isnan(pan_) || glm::isinf(pan_);
  pan_ = glm::mix(glm::clamp(pan_, -room, room), glm::vec2(0.0F), is_infinite);
}

Rect Viewport::shown() const {
  const glm::vec2 size = cell_size() * count();
  return {area_.origin + (area_.size - size) / 2.0F - pan_ * cell_size(), size};
}

Rect Viewport::matrix() const { return {shown().origin - first() * cell_size(), cell_size() * glm::vec2(columns_, rows_)}; }

Rect Viewport::visible() const { return intersection(shown(), area_); }

std::optional<CellPosition> Viewport::cell_at(glm::vec2 point) const {
  if (!visible().contains(point)) return std::nullopt;
  const auto cell = glm::min(glm::uvec2((point - matrix().origin) / cell_size()), glm::uvec2(columns_, rows_) - 1U);
  return CellPosition{.row = cell.y, .column = cell.x};
}

Rect Viewport::rect_of(CellPosition cell) const {
  return {matrix().origin + glm::vec2(cell.column, cell.row) * cell_size(), cell_size()};
}

Viewport Viewport::zoomed_at(glm::vec2 point, float factor) const {
  Viewport result = *this;
  result.zoom_ = std::clamp(zoom_ * factor, 1.0F, max_zoom());
  const Rect before = matrix();
  if (before.is_empty()) return result;
  const glm::vec2 wanted = point - (point - before.origin) * (result.cell_size() / cell_size());
  result.pan_ += (result.matrix().origin - wanted) / result.cell_size();
  result.clamp();
  return result;
}

Viewport Viewport::moved(glm::vec2 distance) const {
  if (fit_cell_.x <= 0) return *this;
  return {area_, rows_, columns_, zoom_, pan_ - distance / cell_size(), first_};
}

Viewport Viewport::resized(const Rect& area, std::uint32_t rows, std::uint32_t columns) const {
  return {area, rows, columns, zoom_, pan_, first_};
}

Viewport Viewport::revealing(CellPosition cell) const {
  const Rect rect = rect_of(cell);
  return moved(glm::mix(glm::min(area_.end() - rect.end(), glm::vec2(0.0F)), area_.origin - rect.origin,
                        glm::lessThan(rect.origin, area_.origin)));
}

Region Viewport::visible_region(float pixels_per_unit) const {
  const Rect seen = visible();
  if (seen.is_empty()) return {};
  const glm::vec2 cell = cell_size(), start = matrix().origin;
  const auto pool_of = [&](float length) {
    std::uint32_t pool = 1;
    while (static_cast<float>(pool) * length * pixels_per_unit < 0.999F) pool *= 2;
    return pool;
  };
  const glm::uvec2 pool(pool_of(cell.x), pool_of(cell.y));
  const glm::vec2 end_of_all(columns_, rows_);
  const glm::vec2 begins = glm::clamp(glm::floor((seen.origin - start) / cell), glm::vec2(0.0F), end_of_all);
  const glm::vec2 last = glm::clamp(glm::ceil((seen.end() - start) / cell), begins, end_of_all);
  const glm::uvec2 begin = glm::uvec2(begins) / pool * pool;
  const glm::uvec2 end = glm::min((glm::uvec2(last) + (pool - 1U)) / pool * pool, glm::uvec2(columns_, rows_));
  return {.row = begin.y,
          .rows = end.y - begin.y,
          .column = begin.x,
          .columns = end.x - begin.x,
          .pool = pool.y,
          .pooled_columns = pool.x == pool.y ? 0 : pool.x};
}

}  // namespace headlight::chart
