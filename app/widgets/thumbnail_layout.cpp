#include "app/widgets/thumbnail_layout.h"

#include <algorithm>
#include <cmath>

namespace headlight::app {
namespace {

constexpr float kMostWidth = 256.0F;
constexpr std::uint32_t kMany = 64;  // maps that a scroll bar would hide

}  // namespace

struct ThumbnailLayout::Style {
  float gap = 0.0F;        ///< between maps
  float group_gap = 0.0F;  ///< more between layers than between lines of one layer
  float least = 0.0F;      ///< width of a map
  bool has_captions = true;
};

ThumbnailLayout::ThumbnailLayout(const Request& request) : request_(request) {
  const Style roomy{.gap = 8.0F, .group_gap = 8.0F, .least = 48.0F};
  const Style tight{.gap = 4.0F, .group_gap = 6.0F, .least = std::max(28.0F, request.caption_width)};
  const Style compact{.gap = 2.0F, .group_gap = 6.0F, .least = 14.0F, .has_captions = false};
  for (const Style& style : {roomy, tight, compact}) {
    if (fit(style)) return;
  }
  const Style& scrolled = request.groups * request.per_group >= kMany ? compact : roomy;
  apply(scrolled);
  set_per_line(most_per_line(scrolled.least), scrolled.least);
}

void ThumbnailLayout::apply(const Style& style) {
  gap_ = style.gap;
  group_gap_ = style.group_gap;
  has_captions_ = style.has_captions;
}

float ThumbnailLayout::room() const { return std::max(request_.width - request_.gutter, 1.0F); }

std::uint32_t ThumbnailLayout::most_per_line(float least) const {
  const auto fitting = static_cast<std::uint32_t>(std::max((room() + gap_) / (least + gap_), 1.0F));
  return std::min(fitting, std::max(request_.per_group, 1U));
}

void ThumbnailLayout::set_per_line(std::uint32_t count, float least) {
  const std::uint32_t maps = std::max(request_.per_group, 1U);
  per_line_ = count;
  lines_per_group_ = (maps + count - 1) / count;
  const float width = std::max(room(), least);
  const float share = (width - gap_ * static_cast<float>(per_line_ - 1)) / static_cast<float>(per_line_);
  map_size_.x = std::floor(std::min(share, kMostWidth));
  map_size_.y = std::floor(map_size_.x * std::clamp(request_.aspect, 0.5F, 1.5F));
}

bool ThumbnailLayout::fit(const Style& style) {
  apply(style);
  for (std::uint32_t count = 1; count <= most_per_line(style.least); ++count) {
    set_per_line(count, style.least);
    if (lines_per_group_ == 1 && !has_captions_) group_gap_ = 0.0F;
    const bool is_high_enough = request_.height <= 0.0F || height() <= request_.height;
    if (!is_high_enough || map_size_.x < style.least) continue;
    const std::uint32_t maps = std::max(request_.per_group, 1U);
    per_line_ = (maps + lines_per_group_ - 1) / lines_per_group_;  // 4 + 4 instead of 5 + 3
    return true;
  }
  return false;
}

float ThumbnailLayout::group_height() const { return static_cast<float>(lines_per_group_) * line_height() + group_gap_; }

glm::vec2 ThumbnailLayout::box(std::uint32_t group, std::uint32_t index) const {
  const std::uint32_t line = index / per_line_;
  const std::uint32_t column = index % per_line_;
  return {request_.gutter + static_cast<float>(column) * (map_size_.x + gap_),
          static_cast<float>(group) * group_height() + static_cast<float>(line) * line_height()};
}

float ThumbnailLayout::height() const {
  return std::max(static_cast<float>(request_.groups) * group_height() - group_gap_, 0.0F);
}

ThumbnailLayout::Lines ThumbnailLayout::visible_lines(float top, float bottom) const {
  Lines lines{.first = ~0U, .end = 0};
  const std::uint32_t total = request_.groups * lines_per_group_;
  // Counting instead of a binary search over the groups: exact and cheap for some hundreds of lines.
  for (std::uint32_t line = 0; line < total; ++line) {
    const float y = box(line / lines_per_group_, line % lines_per_group_ * per_line_).y;
    if (y + map_size_.y + caption() < top || y >= bottom) continue;
    lines.first = std::min(lines.first, line);
    lines.end = line + 1;
  }
  return lines.end == 0 ? Lines{} : lines;
}

}  // namespace headlight::app
