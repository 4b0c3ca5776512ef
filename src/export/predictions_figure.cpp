#include "export/figures.h"

#include "chart/color.h"
#include "chart/ellipsis.h"
#include "core/error.h"
#include "export/figure_frame.h"

namespace headlight::exporting {
namespace {

constexpr float kPredictionsWidth = 520.0F, kMinPredictionsWidth = 300.0F;
constexpr float kBarRow = 20.0F, kBarInset = 4.0F;
constexpr float kAxisRow = 20.0F, kRestRow = 20.0F;
constexpr float kMaxTokenWidth = 160.0F, kPercentWidth = 60.0F, kNameGap = 8.0F;
constexpr float kLensTitle = 26.0F, kLensRow = 22.0F, kLensGap = 2.0F, kLensInset = 6.0F;
constexpr std::size_t kMaxBars = 200, kMaxLayers = 200;
constexpr Rgb kBarColor = {74, 124, 196};

/// "42.1 %", "1.10 %", "0.012 %": three significant digits, or decimals.
std::string share_text(double share) {
  const double percent = 100.0 * share;
  return fmt::format("{:.{}f} %", percent, percent >= 99.95 ? 0 : percent >= 9.995 ? 1 : percent >= 0.9995 ? 2 : 3);
}

class PredictionsDrawing final : public FigureDrawing<PredictionsFigure> {
 public:
  explicit PredictionsDrawing(PredictionsFigure shown)
      : FigureDrawing(std::move(shown)),
        width_(is_of_width()                   ? std::max(figure_.style.width, kMinPredictionsWidth)
               : figure_.style.map_edge > 0.0F ? std::max(figure_.style.map_edge, kMinPredictionsWidth)
                                               : kPredictionsWidth),
        top_(lay_out_titles(width_ - 2.0F * margin_)) {
    if (figure_.bars.empty()) throw Error("a figure of predictions needs at least one token");
    if (figure_.bars.size() > kMaxBars || figure_.layers.size() > kMaxLayers) {
      throw Error("a figure of predictions has at most {} tokens and {} layers, not {} and {}", kMaxBars, kMaxLayers,
                  figure_.bars.size(), figure_.layers.size());
    }
    const bool has_labels = figure_.style.parts.labels;
    for (const PredictionsFigure::Bar& bar : figure_.bars) {
      if (has_labels) token_width_ = std::max(token_width_, metrics_.width(printable(bar.token), kTextSize));
    }
    token_width_ = std::min(std::ceil(token_width_), label_room(kMaxTokenWidth));
    for (const PredictionsFigure::Layer& layer : figure_.layers) {
      name_width_ = std::max(name_width_, metrics_.width(layer.name, kTextSize));
      cells_ = std::max(cells_, layer.readings.size());
    }
    lens_top_ = top_ + kBarRow * static_cast<float>(figure_.bars.size()) + kAxisRow + kRestRow;
    const float lens = figure_.layers.empty() ? 0.0F : kLensTitle + kLensRow * static_cast<float>(figure_.layers.size());
    size_ = {width_, lens_top_ + lens + margin_};
  }

  void draw_content(Canvas& canvas) const override {
    draw_axis(canvas);
    for (std::size_t i = 0; i < figure_.bars.size(); ++i) draw_bar(canvas, i);
    if (figure_.style.parts.numbers) {
      write(canvas, {bar_x(), lens_top_ - kRestRow * 0.5F}, "all others " + share_text(figure_.rest), paper_.muted);
    }
    if (!figure_.layers.empty()) draw_lens(canvas);
  }

 private:
  float bar_x() const { return margin_ + token_width_ + kNameGap; }
  float bar_width() const { return width_ - margin_ - bar_x() - (figure_.style.parts.numbers ? kPercentWidth : 0.0F); }

  void draw_axis(Canvas& canvas) const {
    const float bottom = top_ + kBarRow * static_cast<float>(figure_.bars.size());
    for (int quarter = 0; quarter <= 4; ++quarter) {
      const float x = bar_x() + bar_width() * static_cast<float>(quarter) / 4.0F;
      canvas.line({x, top_}, {x, bottom + 3.0F}, paper_.outline, 0.5F);
      canvas.text({x, bottom + 4.0F + kTextSize}, quarter == 4 ? "100 %" : std::to_string(quarter * 25),
                  {.size = kTextSize - 1.0F, .color = paper_.muted, .align = TextAlign::Middle});
    }
  }

  void draw_bar(Canvas& canvas, std::size_t index) const {
    const PredictionsFigure::Bar& bar = figure_.bars[index];
    const float y = top_ + kBarRow * static_cast<float>(index);
    const float middle = y + kBarRow * 0.5F;
    const double share = std::isfinite(bar.share) ? std::clamp(bar.share, 0.0, 1.0) : 0.0;
    const float length = std::max(static_cast<float>(share) * bar_width(), 1.0F);
    const Rgb ink = bar.is_cut ? paper_.muted : paper_.ink;
    canvas.fill({.origin = {bar_x(), y + kBarInset}, .size = {length, kBarRow - 2.0F * kBarInset}},
                bar.is_cut ? paper_.outline : kBarColor);
    if (figure_.style.parts.labels) {
      write(canvas, {margin_ + token_width_, middle},
            chart::shorten(printable(bar.token), token_width_, metrics_.measure(kTextSize)), ink, TextAlign::End);
    }
    if (!figure_.style.parts.numbers) return;
    write(canvas, {width_ - margin_, middle}, bar.is_cut ? "cut off" : share_text(bar.share), ink, TextAlign::End);
  }

  void draw_lens(Canvas& canvas) const {
    canvas.text({margin_, lens_top_ + kTextSize + 2.0F}, "As it would be read after each layer (logit lens)",
                {.size = kTextSize, .is_bold = true, .color = paper_.ink});
    float y = lens_top_ + kLensTitle;
    for (const PredictionsFigure::Layer& layer : figure_.layers) {
      write(canvas, {margin_, y + (kLensRow - kLensGap) * 0.5F}, layer.name, paper_.muted);
      for (std::size_t i = 0; i < layer.readings.size(); ++i) draw_reading(canvas, layer.readings[i], i, y);
      y += kLensRow;
    }
  }

  void draw_reading(Canvas& canvas, const PredictionsFigure::Reading& reading, std::size_t index, float y) const {
    const float left = margin_ + name_width_ + kNameGap;
    const float step = (width_ - margin_ - left + kLensGap) / static_cast<float>(cells_);
    const Rect box = {.origin = {left + static_cast<float>(index) * step, y},
                      .size = {step - kLensGap, kLensRow - kLensGap}};
    const Rgb ground = chart::color(figure_.style.color_map, static_cast<float>(reading.probability));
    const Rgb ink = chart::text_on(ground);
    const float middle = box.center().y;
    canvas.fill(box, ground);
    const std::string number = figure_.style.parts.numbers ? share_text(reading.probability) : std::string();
    const float room = box.size.x - 2.0F * kLensInset - metrics_.width(number, kTextSize) - (number.empty() ? 0.0F : 6.0F);
    if (figure_.style.parts.labels && room > 0.0F) {
      write(canvas, {box.origin.x + kLensInset, middle},
            chart::shorten(printable(reading.token), room, metrics_.measure(kTextSize)), ink);
    }
    write(canvas, {box.end().x - kLensInset, middle}, number, ink, TextAlign::End);
  }

  float width_, top_;
  float token_width_ = 0.0F, name_width_ = 0.0F;
  std::size_t cells_ = 1;  ///< of a layer's row
  float lens_top_ = 0.0F;
};

}  // namespace

std::unique_ptr<Drawing> make_drawing(PredictionsFigure figure) {
  return std::make_unique<PredictionsDrawing>(std::move(figure));
}

}  // namespace headlight::exporting
