#include "view/viewport.h"

#include <algorithm>
#include <cmath>

namespace headlight::view {
namespace {

constexpr float kMaxAspect = 4.0F;

// Pixels of a cell when the whole matrix fits.
Point fit(Rect area, std::uint32_t rows, std::uint32_t columns) {
  if (rows == 0 || columns == 0 || area.width <= 0 || area.height <= 0) return {};
  const Point full = {area.width / static_cast<float>(columns), area.height / static_cast<float>(rows)};
  const float square = std::min({full.x, full.y, Viewport::kMaxCell});
  Point cell = {square, square};
  if (full.x > square * kMaxAspect) cell.x = std::min({square * kMaxAspect, full.x, Viewport::kMaxCell});
  if (full.y > square * kMaxAspect) cell.y = std::min({square * kMaxAspect, full.y, Viewport::kMaxCell});
  return cell;
}

// First and one past the last visible cell of an axis, given where cell 0 begins.
struct Span {
  std::uint32_t first = 0, end = 0;
};
Span visible_cells(float begin, float end, float origin, float cell, std::uint32_t count) {
  const float limit = static_cast<float>(count);
  const float first = std::clamp(std::floor((begin - origin) / cell), 0.0F, limit);
  const float last = std::clamp(std::ceil((end - origin) / cell), first, limit);
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
}

}  // namespace

Viewport::Viewport(Rect area, std::uint32_t rows, std::uint32_t columns, float zoom, Point pan)
    : area_(area), rows_(rows), columns_(columns), zoom_(zoom), pan_(pan), fit_cell_(fit(area, rows, columns)) {
  clamp();
}

float Viewport::max_zoom() const {
  const float smaller = std::min(fit_cell_.x, fit_cell_.y);
  return smaller > 0 ? std::max(1.0F, kMaxCell / smaller) : 1.0F;
}

void Viewport::clamp() {
  zoom_ = std::isfinite(zoom_) ? std::clamp(zoom_, 1.0F, max_zoom()) : 1.0F;
  const auto limit = [](float offset, float area, float cell, std::uint32_t count) {
    if (!std::isfinite(offset) || cell <= 0) return 0.0F;
    const float room = std::max(0.0F, (static_cast<float>(count) - area / cell) / 2);
    return std::clamp(offset, -room, room);
  };
  pan_.x = limit(pan_.x, area_.width, cell_width(), columns_);
  pan_.y = limit(pan_.y, area_.height, cell_height(), rows_);
}

Rect Viewport::matrix() const {
  const float width = cell_width() * static_cast<float>(columns_);
  const float height = cell_height() * static_cast<float>(rows_);
  return {area_.x + (area_.width - width) / 2 - pan_.x * cell_width(),
          area_.y + (area_.height - height) / 2 - pan_.y * cell_height(), width, height};
}

Rect Viewport::visible() const {
  const Rect all = matrix();
  const float left = std::max(all.x, area_.x), top = std::max(all.y, area_.y);
  const float right = std::min(all.right(), area_.right()), bottom = std::min(all.bottom(), area_.bottom());
  return {left, top, std::max(0.0F, right - left), std::max(0.0F, bottom - top)};
}

std::optional<CellPosition> Viewport::cell_at(Point point) const {
  if (!visible().contains(point)) return std::nullopt;
  const Rect all = matrix();
  return CellPosition{std::min(static_cast<std::uint32_t>((point.y - all.y) / cell_height()), rows_ - 1),
                      std::min(static_cast<std::uint32_t>((point.x - all.x) / cell_width()), columns_ - 1)};
}

Rect Viewport::rect_of(CellPosition cell) const {
  const Rect all = matrix();
  return {all.x + static_cast<float>(cell.column) * cell_width(), all.y + static_cast<float>(cell.row) * cell_height(),
          cell_width(), cell_height()};
}

Viewport Viewport::zoomed_at(Point point, float factor) const {
  Viewport result = *this;
  result.zoom_ = std::clamp(zoom_ * factor, 1.0F, max_zoom());
  const Rect before = matrix(), after = result.matrix();
  if (before.width <= 0 || before.height <= 0) return result;
  const float grown = result.zoom_ / zoom_;
  const float left = point.x - (point.x - before.x) * grown, top = point.y - (point.y - before.y) * grown;
  result.pan_.x += (after.x - left) / result.cell_width();
  result.pan_.y += (after.y - top) / result.cell_height();
  result.clamp();
  return result;
}

Viewport Viewport::moved(float dx, float dy) const {
  if (fit_cell_.x <= 0) return *this;
  return {area_, rows_, columns_, zoom_, {pan_.x - dx / cell_width(), pan_.y - dy / cell_height()}};
}

Viewport Viewport::resized(Rect area, std::uint32_t rows, std::uint32_t columns) const {
  return {area, rows, columns, zoom_, pan_};
}

Viewport Viewport::revealing(CellPosition cell) const {
  const Rect rect = rect_of(cell);
  const auto shift = [](float begin, float end, float area_begin, float area_end) {
    if (begin < area_begin) return area_begin - begin;
    return end > area_end ? area_end - end : 0.0F;
  };
  return moved(shift(rect.x, rect.right(), area_.x, area_.right()), shift(rect.y, rect.bottom(), area_.y, area_.bottom()));
}

Region Viewport::visible_region(float pixels_per_unit) const {
  Region region;
  const Rect all = matrix(), seen = visible();
  if (seen.width <= 0 || seen.height <= 0) return region;
  const float cell_pixels = std::min(cell_width(), cell_height()) * pixels_per_unit;
  while (static_cast<float>(region.pool) * cell_pixels < 0.999F) region.pool *= 2;
  const auto aligned = [&](Span span, std::uint32_t count, std::uint32_t& first, std::uint32_t& size) {
    first = span.first / region.pool * region.pool;
    size = std::min((span.end + region.pool - 1) / region.pool * region.pool, count) - first;
  };
  aligned(visible_cells(seen.y, seen.bottom(), all.y, cell_height(), rows_), rows_, region.row, region.rows);
  aligned(visible_cells(seen.x, seen.right(), all.x, cell_width(), columns_), columns_, region.column, region.columns);
  return region;
}

}  // namespace headlight::view
