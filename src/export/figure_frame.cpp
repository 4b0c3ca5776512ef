#include "export/figure_frame.h"

#include <fmt/format.h>

namespace headlight::exporting {
namespace {

constexpr float kSwatch = 12.0F;
constexpr float kLegendGap = 12.0F;
constexpr float kColorSwatch = 10.0F, kColorGap = 5.0F, kColorLine = 18.0F;
constexpr float kTitleLine = 1.3F * kTitleSize;
constexpr float kTextLine = 1.4F * kTextSize;

constexpr float kBarWidth = 12.0F;
constexpr float kTickLength = 4.0F;
constexpr float kTickSize = 10.0F;

}  // namespace

Paper paper_of(const FigureStyle& style) {
  if (style.is_dark) {
    return {.ground = {20, 22, 26},
            .ink = {236, 238, 241},
            .muted = {158, 163, 172},
            .outline = {92, 97, 107},
            .blank = {34, 37, 43},
            .stripe = {104, 109, 120}};
  }
  return {.ground = {255, 255, 255},
          .ink = {24, 26, 30},
          .muted = {100, 104, 112},
          .outline = {150, 154, 162},
          .blank = {246, 247, 248},
          .stripe = {176, 180, 187}};
}

FigureStyle on_paper(const FigureStyle& style, FigureStyle page) {
  if (page.map_edge == 0.0F) page.map_edge = style.map_edge;
  page.color_map = style.color_map;
  page.scale = style.scale;
  page.spread = style.spread;
  page.limits = style.limits;
  return page;
}

void drop_marks(std::vector<std::string>& tokens) {
  constexpr std::string_view kMark = "\u00B7";
  for (std::string& token : tokens) {
    if (token.starts_with(kMark) && token != kMark) token.erase(0, kMark.size());
  }
}

DrawingOutput output_of(const FigureStyle& style, const std::string& title, const std::string& session) {
  DrawingOutput output = {.title = printable(title),
                          .png_scale = style.png_scale,
                          .font = style.font,
                          .margin = margin_of(style),
                          .session = session};
  if (!style.is_transparent) output.ground = paper_of(style).ground;
  return output;
}

TitleBlock::TitleBlock(const std::string& title, const std::string& subtitle, float width, const TextMetrics& metrics)
    : title_(wrap(title, width, metrics.measure(kTitleSize, true))),
      subtitle_(wrap(subtitle, width, metrics.measure(kTextSize))) {
  for (const std::string& line : title_) width_ = std::max(width_, metrics.width(line, kTitleSize, true));
  for (const std::string& line : subtitle_) width_ = std::max(width_, metrics.width(line, kTextSize));
}

float TitleBlock::height() const {
  if (title_.empty() && subtitle_.empty()) return 0.0F;
  return kTitleLine * static_cast<float>(title_.size()) + kTextLine * static_cast<float>(subtitle_.size()) + 16.0F;
}

void TitleBlock::draw(Canvas& canvas, glm::vec2 top_left, const Paper& paper) const {
  float y = top_left.y;
  for (const std::string& line : title_) {
    canvas.text({top_left.x, y + kTitleSize}, line, {.size = kTitleSize, .is_bold = true, .color = paper.ink});
    y += kTitleLine;
  }
  for (const std::string& line : subtitle_) {
    canvas.text({top_left.x, y + kTextSize + 2.0F}, line, {.size = kTextSize, .color = paper.muted});
    y += kTextLine;
  }
}

std::string pooling_note(const FigureMap& map) {
  if (map.is_exact()) return "";
  return fmt::format("Each point is the {} of {} × {} cells.", map.pools_by_maximum ? "largest" : "mean", map.pool,
                     map.column_pool());
}

Legend::Legend(std::string masked_title, std::string remark, float width, const TextMetrics& metrics)
    : masked_title_(std::move(masked_title)), remark_(wrap(remark, width, metrics.measure(kTextSize))) {}

float Legend::height() const {
  if (masked_title_.empty() && remark_.empty()) return 0.0F;
  return kLegendGap + (masked_title_.empty() ? 0.0F : kSwatch + 4.0F) + kTextLine * static_cast<float>(remark_.size());
}

void Legend::draw(Canvas& canvas, glm::vec2 top_left, const Paper& paper) const {
  float y = top_left.y + kLegendGap;
  if (!masked_title_.empty()) {
    const Rect swatch = {{top_left.x, y}, {kSwatch * 1.5F, kSwatch}};
    canvas.fill(swatch, paper.blank);
    canvas.hatch(std::span(&swatch, 1), paper.stripe);
    canvas.frame(swatch, paper.outline, 0.75F);
    canvas.text({swatch.end().x + 6.0F, y + kSwatch / 2 + kHalfCapital * kTextSize}, masked_title_,
                {.size = kTextSize, .color = paper.muted});
    y += kSwatch + 4.0F;
  }
  for (const std::string& line : remark_) {
    canvas.text({top_left.x, y + kTextSize + 1.0F}, line, {.size = kTextSize, .color = paper.muted});
    y += kTextLine;
  }
}

ColorLegend::ColorLegend(std::vector<Entry> entries, float width, const TextMetrics& metrics)
    : entries_(std::move(entries)) {
  for (const Entry& entry : entries_) step_ = std::max(step_, metrics.width(entry.name, kTextSize));
  step_ += kColorSwatch + kColorGap + kLegendGap;
  across_ = static_cast<std::size_t>(std::max(std::floor(width / step_), 1.0F));
}

float ColorLegend::height() const { return kColorLine * static_cast<float>((entries_.size() + across_ - 1) / across_); }

void ColorLegend::draw(Canvas& canvas, glm::vec2 top_left, const Paper& paper) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const glm::vec2 at = top_left + glm::vec2(i % across_, i / across_) * glm::vec2(step_, kColorLine);
    canvas.fill({.origin = at, .size = glm::vec2(kColorSwatch)}, entries_[i].color);
    canvas.text(at + glm::vec2(kColorSwatch + kColorGap, kColorSwatch * 0.5F + kHalfCapital * kTextSize), entries_[i].name,
                {.size = kTextSize, .color = paper.ink});
  }
}

bool has_masked(const FigureMap& map) {
  return std::any_of(map.masked.begin(), map.masked.end(), [](std::uint8_t masked) { return masked != 0; });
}

std::string odd_cells_note(const FigureMap& map) {
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    if (!std::isfinite(map.values[i]) && (map.masked.empty() || map.masked[i] == 0)) return "Magenta: NaN or infinite.";
  }
  return "";
}

ColorBar::ColorBar(const chart::ValueScale& scale, const FigureStyle& style, const std::string& title, float height,
                   const TextMetrics& metrics)
    : scale_(scale), color_map_(style.color_map), title_(printable(title)) {
  if (scale.kind == chart::ScaleKind::PerRow) title_ += " ÷ row maximum";
  if (scale.kind == chart::ScaleKind::Quantile) title_ += ", to 98 %";
  if (scale.spread == chart::ScaleSpread::Root) title_ += ", \u221A";
  if (scale.spread == chart::ScaleSpread::Log) title_ += ", log";
  height_ = std::max({height, 72.0F, metrics.width(title_, kTextSize) + 4.0F});
  ticks_ = chart::make_bar_ticks({.low = scale.low, .high = scale.high}, scale.spread, height_, line_height(kTickSize));
  for (const chart::Tick& tick : ticks_) tick_width_ = std::max(tick_width_, metrics.width(tick.label, kTickSize));
  width_ = kBarWidth + kTickLength + 3.0F + tick_width_ + (title_.empty() ? 0.0F : 6.0F + line_height(kTextSize));
}

void ColorBar::draw(Canvas& canvas, glm::vec2 top_left, const Paper& paper) const {
  const Rect bar = {top_left, {kBarWidth, height_}};
  // Each step reaches down to the end and is painted over by the next: no seams in any renderer.
  const auto steps = static_cast<std::uint32_t>(std::min(256.0F, std::round(height_)));
  for (std::uint32_t i = 0; i < steps; ++i) {
    const float begin = std::round(height_ * static_cast<float>(i) / static_cast<float>(steps) * 2.0F) / 2.0F;
    const float position = 1.0F - (static_cast<float>(i) + 0.5F) / static_cast<float>(steps);
    canvas.fill({{bar.origin.x, bar.origin.y + begin}, {bar.size.x, bar.size.y - begin}},
                chart::color(color_map_, position));
  }
  canvas.frame(bar, paper.outline, 0.75F);
  for (const chart::Tick& tick : ticks_) {
    const float y =
        bar.end().y - bar.size.y * chart::position_in({.low = scale_.low, .high = scale_.high}, scale_.spread, tick.value);
    canvas.line({bar.end().x, y}, {bar.end().x + kTickLength, y}, paper.outline, 0.75F);
    canvas.text({bar.end().x + kTickLength + 3.0F + tick_width_, y + kHalfCapital * kTickSize}, tick.label,
                {.size = kTickSize, .color = paper.muted, .align = TextAlign::End});
  }
  canvas.text({top_left.x + width_ - 2.0F, bar.center().y}, title_,
              {.size = kTextSize, .color = paper.ink, .align = TextAlign::Middle, .degrees = 90.0F});
}

chart::ValueScale scale_of(const FigureMap& map, const FigureStyle& style) {
  chart::ValueScale scale = chart::make_scale(style.scale, map.values, map.masked);
  scale.spread = style.spread;
  const bool is_symmetric = scale.kind == chart::ScaleKind::Symmetric;
  if ((is_symmetric || scale.kind == chart::ScaleKind::Maximum) && map.largest > 0.0F) {
    scale.high = map.largest;
    scale.low = is_symmetric ? -map.largest : 0.0F;
  }
  if (style.limits) {
    scale.low = style.limits->low;
    scale.high = style.limits->high;
  }
  return scale;
}

}  // namespace headlight::exporting
