#include "panels/thumbnail_layout.h"

#include <algorithm>
#include <cmath>

namespace headlight::app {
namespace {

constexpr float kGap = 8.0F;
constexpr float kGroupGap = 8.0F;  // more space between layers than between lines of one layer
constexpr float kLeastWidth = 48.0F;
constexpr float kLeastWidthOfMany = 34.0F;
constexpr std::uint32_t kMany = 16;  // heads a layer
constexpr float kMostWidth = 128.0F;
constexpr std::uint32_t kCompactFrom = 64;  // maps
constexpr float kCompactGap = 2.0F;
constexpr float kCompactGroupGap = 6.0F;  // only between layers that take several lines
constexpr float kLeastCompactWidth = 14.0F;

}  // namespace

ThumbnailLayout::ThumbnailLayout(const Request& request) : request_(request), gap_(kGap), group_gap_(kGroupGap) {
  const std::uint32_t count = std::max(request.per_group, 1U);
  const float least = count > kMany ? kLeastWidthOfMany : kLeastWidth;
  const float room = std::max(request.width - request.gutter, least);
  set_per_line(static_cast<std::uint32_t>(std::max((room + gap_) / (least + gap_), 1.0F)), least);
  const bool is_too_high = request.height > 0.0F && height() > request.height;
  if (is_too_high && request.groups > 1 && request.groups * count >= kCompactFrom) lay_out_compactly(room);
}

void ThumbnailLayout::set_per_line(std::uint32_t fitting, float least) {
  const std::uint32_t count = std::max(request_.per_group, 1U);
  lines_per_group_ = (count + fitting - 1) / fitting;
  per_line_ = (count + lines_per_group_ - 1) / lines_per_group_;  // lines of about equal length
  const float room = std::max(request_.width - request_.gutter, least);
  const float share = (room - gap_ * static_cast<float>(per_line_ - 1)) / static_cast<float>(per_line_);
  map_width_ = std::floor(std::min(share, kMostWidth));
  map_height_ = std::floor(map_width_ * std::clamp(request_.aspect, 0.5F, 1.5F));
}

void ThumbnailLayout::lay_out_compactly(float room) {
  is_compact_ = true;
  gap_ = kCompactGap;
  const std::uint32_t count = std::max(request_.per_group, 1U);
  const auto most = static_cast<std::uint32_t>(std::max((room + gap_) / (kLeastCompactWidth + gap_), 1.0F));
  for (std::uint32_t fitting = 1; fitting <= std::min(count, most); ++fitting) {
    set_per_line(fitting, kLeastCompactWidth);
    group_gap_ = lines_per_group_ > 1 ? kCompactGroupGap : 0.0F;
    if (height() <= request_.height) return;
  }
}

float ThumbnailLayout::group_height() const { return static_cast<float>(lines_per_group_) * line_height() + group_gap_; }

ThumbnailLayout::Box ThumbnailLayout::box(std::uint32_t group, std::uint32_t index) const {
  const std::uint32_t line = index / per_line_;
  const std::uint32_t place = index % per_line_;
  return {.x = request_.gutter + static_cast<float>(place) * (map_width_ + gap_),
          .y = static_cast<float>(group) * group_height() + static_cast<float>(line) * line_height()};
}

float ThumbnailLayout::height() const {
  return std::max(static_cast<float>(request_.groups) * group_height() - group_gap_, 0.0F);
}

ThumbnailLayout::Lines ThumbnailLayout::visible_lines(float top, float bottom) const {
  Lines lines{.first = ~0U, .end = 0};
  const std::uint32_t total = request_.groups * lines_per_group_;
  // A binary search over the groups would do; counting is exact and cheap for some hundreds of lines.
  for (std::uint32_t line = 0; line < total; ++line) {
    const float y = box(line / lines_per_group_, line % lines_per_group_ * per_line_).y;
    if (y + map_height_ + caption() < top || y >= bottom) continue;
    lines.first = std::min(lines.first, line);
    lines.end = line + 1;
  }
  return lines.end == 0 ? Lines{} : lines;
}

}  // namespace headlight::app
