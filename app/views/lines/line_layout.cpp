#include "app/views/lines/line_layout.h"

namespace headlight::app {
namespace {

constexpr float kAir = 4.0F;           // between labels
constexpr float kMaxPitch = 84.0F;     // from one token to the next: a short text fills a large screen
constexpr float kPadding = 8.0F;       // of a label, left and right
constexpr float kNumberGap = 8.0F;     // between a label and the numbers beyond it
constexpr float kMaxLabel = 0.28F;     // of the room's width
constexpr float kMaxBetween = 900.0F;  // of the lines: longer ones are harder to follow
constexpr float kMinBetween = 60.0F;

constexpr std::uint32_t kWholeCells = 512 * 512;
constexpr std::uint32_t kWholeKeys = 2048;
constexpr std::uint32_t kBlock = 64;

TokenSpan blocks_around(TokenSpan visible, std::uint32_t count) {
  return {visible.begin / kBlock * kBlock, std::min((visible.end + kBlock - 1) / kBlock * kBlock, count)};
}

}  // namespace

LineLayout::LineLayout(const Sizes& sizes) : sizes_(sizes) {
  const auto tokens = static_cast<float>(std::max({sizes.queries, sizes.keys, 1U}));
  const float least = sizes.line_height + kAir;
  pitch_ = std::floor(std::clamp(sizes.room.y / tokens, least, std::max(kMaxPitch, least)));
  const float numbers = 2.0F * (sizes.number_width + kNumberGap);
  const float most_label = std::max((sizes.room.x - numbers - kMinBetween) * 0.5F, 2.0F * kPadding);
  const auto label_of = [&](float widest) {
    return std::min({widest + 2.0F * kPadding, std::max(sizes.room.x * kMaxLabel, 4.0F * kPadding), most_label});
  };
  query_label_ = label_of(sizes.query_width);
  key_label_ = label_of(sizes.key_width);
  const float between = std::clamp(sizes.room.x - numbers - query_label_ - key_label_, 1.0F, kMaxBetween);
  const float left = std::max((sizes.room.x - numbers - query_label_ - key_label_ - between) * 0.5F, 0.0F);
  query_x_ = std::round(left + numbers * 0.5F + query_label_);
  key_x_ = std::round(query_x_ + between);
  sizes_.scroll = std::clamp(sizes.scroll, 0.0F, std::max(content_height() - sizes.room.y, 0.0F));
}

chart::Rect LineLayout::label(MapSide side, std::uint32_t token) const {
  const float height = sizes_.line_height + kAir;
  const float x = side == MapSide::Query ? query_x_ - query_label_ : key_x_;
  return {.origin = {x, std::round(y_of(token) - height * 0.5F)}, .size = {label_width(side), height}};
}

float LineLayout::number_x(MapSide side) const {
  return side == MapSide::Query ? query_x_ - query_label_ - kNumberGap : key_x_ + key_label_ + kNumberGap;
}

TokenSpan LineLayout::visible(MapSide side) const {
  const auto tokens = static_cast<float>(count(side));
  const float begin = std::clamp(std::floor(sizes_.scroll / pitch_), 0.0F, tokens);
  const float end = std::clamp(std::ceil((sizes_.scroll + sizes_.room.y) / pitch_), begin, tokens);
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

std::optional<LockedToken> LineLayout::token_at(glm::vec2 point) const {
  if (point.y < 0.0F || point.y >= sizes_.room.y) return std::nullopt;
  const float row = std::floor((point.y + sizes_.scroll) / pitch_);
  for (const MapSide side : {MapSide::Query, MapSide::Key}) {
    const chart::Rect column = label(side, 0);
    const bool is_in_column = point.x >= column.origin.x && point.x < column.end().x;
    if (is_in_column && row >= 0.0F && row < static_cast<float>(count(side))) {
      return LockedToken{.side = side, .token = static_cast<std::uint32_t>(row)};
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> LineLayout::line_at(std::span<const WeightLine> lines, glm::vec2 point) const {
  constexpr float kReach = 4.0F;  // from the point to the line
  const float across = key_x_ - query_x_;
  if (!(across > 0.0F) || point.x < query_x_ || point.x > key_x_) return std::nullopt;
  const float part = (point.x - query_x_) / across;
  for (std::size_t i = lines.size(); i-- > 0;) {
    const float from = y_of(lines[i].query), to = y_of(lines[i].key);
    const float above = std::abs(from + part * (to - from) - point.y);  // along y: the distance is this times the cosine
    if (above * across <= kReach * std::hypot(across, to - from)) return i;
  }
  return std::nullopt;
}

bool LineLayout::is_visible(const WeightLine& line) const {
  const float from = y_of(line.query);
  const float to = y_of(line.key);
  return std::max(from, to) >= 0.0F && std::min(from, to) <= sizes_.room.y;
}

float LineLayout::scroll_to(std::uint32_t token) const {
  const float top = static_cast<float>(token) * pitch_;
  const float least = top + pitch_ - sizes_.room.y;
  return std::clamp(std::clamp(sizes_.scroll, std::min(least, top), top), 0.0F,
                    std::max(content_height() - sizes_.room.y, 0.0F));
}

LineRegion region_to_ask(std::uint32_t queries, std::uint32_t keys, TokenSpan visible_queries, TokenSpan visible_keys) {
  LineRegion region{.queries = {0, queries}, .keys = {0, keys}};
  if (std::uint64_t{queries} * keys <= kWholeCells) return region;
  region.queries = blocks_around(visible_queries, queries);
  if (keys > kWholeKeys) region.keys = blocks_around(visible_keys, keys);
  return region;
}

}  // namespace headlight::app
