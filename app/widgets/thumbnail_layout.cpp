#include "app/widgets/thumbnail_layout.h"

#include <algorithm>
#include <cmath>

namespace headlight::app {
namespace {

constexpr float kMaxWidth = 256.0F;
constexpr std::uint32_t kMany = 64;  // maps that a scroll bar would hide

}  // namespace

struct ThumbnailLayout::Style {
  float gap = 0.0F;        ///< between maps
  float group_gap = 0.0F;  ///< more between layers than between lines of one layer
  float least = 0.0F;      ///< width of a map
  bool has_captions = true;
};

ThumbnailLayout::ThumbnailLayout(const Request& request) : request_(request) {
  const Style captions{.gap = 6.0F, .group_gap = 4.0F, .least = std::max(28.0F, request.caption_width)};
  const Style compact{.gap = 2.0F, .group_gap = 4.0F, .least = 6.0F, .has_captions = false};
  constexpr float kMuchLarger = 1.6F;  // then a map says more than its caption
  const bool has_room = fit(captions);
  const float captioned = has_room ? map_size_.x * kMuchLarger : 0.0F;
  if (!request.needs_captions && fit(compact) && map_size_.x >= captioned) return;
  if (has_room && fit(captions)) return;
  const bool is_compact = request.groups * request.per_group >= kMany && !request.needs_captions;
  const Style& scrolled = is_compact ? compact : captions;
  constexpr float kLeastScrolled = 12.0F;
  apply(scrolled);
  const std::uint32_t maps = std::max(request.per_group, 1U), most = most_per_line(std::max(scrolled.least, kLeastScrolled));
  const std::uint32_t lines = (maps + most - 1) / most;
  set_per_line((maps + lines - 1) / lines, scrolled.least);
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
  column_gap_ = gap_;
  const float width = std::max(room(), least);
  const float share = (width - gap_ * static_cast<float>(per_line_ - 1)) / static_cast<float>(per_line_);
  set_map_width(std::min(share, kMaxWidth));
}

void ThumbnailLayout::set_map_width(float width) {
  map_size_.x = std::floor(width);
  map_size_.y = std::floor(map_size_.x * shown_aspect());
}

float ThumbnailLayout::shown_aspect() const { return std::clamp(request_.aspect, 0.5F, 1.5F); }

float ThumbnailLayout::width_in_height() const {
  const float groups = static_cast<float>(request_.groups);
  const float of_line = (request_.height - (groups - 1.0F) * group_gap_) / (groups * static_cast<float>(lines_per_group_));
  return (of_line - caption() - gap_) / shown_aspect();
}

bool ThumbnailLayout::fit(const Style& style) {
  const std::uint32_t maps = std::max(request_.per_group, 1U);
  std::uint32_t best = 0;
  float widest = 0.0F;
  constexpr float kFull = 0.75F;  // part of a line that its maps fill at least
  // Of each number of lines the shortest ones.
  for (std::uint32_t lines = maps; lines > 0; --lines) {
    apply(style);
    const std::uint32_t count = (maps + lines - 1) / lines;
    if ((maps + count - 1) / count != lines || count > most_per_line(style.least)) continue;
    set_per_line(count, style.least);
    if (lines == 1 && !has_captions_) group_gap_ = 0.0F;
    const float width = request_.height > 0.0F ? std::min(map_size_.x, width_in_height()) : map_size_.x;
    if (width < style.least || width <= widest) continue;
    // Fewer lines leave no hole beside the maps, or after a layer's last one.
    const bool has_hole = width < kFull * map_size_.x || (request_.groups > 1 && maps % count != 0);
    if (lines > 1 && has_hole) continue;
    widest = width;
    best = count;
  }
  if (best == 0) return false;
  apply(style);
  set_per_line(best, style.least);
  if (lines_per_group_ == 1 && !has_captions_) group_gap_ = 0.0F;
  set_map_width(widest);
  spread();
  return true;
}

/// Gives what is left of the lines to the gaps in them, up to a part of a map.
void ThumbnailLayout::spread() {
  constexpr float kWidest = 0.25F;
  if (per_line_ < 2) return;
  const float left = room() - static_cast<float>(per_line_) * map_size_.x;
  column_gap_ = std::clamp(std::floor(left / static_cast<float>(per_line_ - 1)), gap_, gap_ + kWidest * map_size_.x);
}

float ThumbnailLayout::group_height() const { return static_cast<float>(lines_per_group_) * line_height() + group_gap_; }

glm::vec2 ThumbnailLayout::box(std::uint32_t group, std::uint32_t index) const {
  const std::uint32_t line = index / per_line_;
  const std::uint32_t column = index % per_line_;
  return {request_.gutter + static_cast<float>(column) * (map_size_.x + column_gap_),
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
