#include "export/figures.h"

#include "chart/color.h"
#include "chart/number_format.h"
#include "core/error.h"
#include "export/figure_frame.h"

namespace headlight::exporting {
namespace {

constexpr float kComponentRow = 16.0F, kScoreHead = 20.0F;
constexpr float kComponentWidth = 28.0F, kVectorWidth = 58.0F, kColumnGap = 4.0F;
constexpr float kProductWidth = 190.0F, kProductNumber = 56.0F;
constexpr float kChainGap = 28.0F, kChainWidth = 300.0F;
constexpr float kChainLine = 15.0F, kChainSpace = 8.0F;
constexpr float kScoreText = 10.0F;
constexpr std::size_t kMaxComponents = 1'024, kMaxVectors = 8;

/// A result of the chain with its wrapped text.
struct WrappedLine {
  std::vector<std::string> calculation, note;
  float height = 0.0F;
};

class ScoreDrawing final : public FigureDrawing<ScoreFigure> {
 public:
  explicit ScoreDrawing(ScoreFigure shown) : FigureDrawing(std::move(shown)) {
    const std::size_t components = figure_.components.size();
    if (components == 0) throw Error("a figure of a score needs at least one component");
    if (components > kMaxComponents || figure_.vectors.size() > kMaxVectors) {
      throw Error("a figure of a score has at most {} components, not {}", kMaxComponents, components);
    }
    bool is_complete = figure_.products.size() == components;
    for (const ScoreFigure::Vector& vector : figure_.vectors) {
      is_complete = is_complete && vector.values.size() == components;
      reaches_.push_back(1e-12F);
      for (const float value : vector.values) reaches_.back() = std::max(reaches_.back(), std::abs(value));
    }
    if (!is_complete) throw Error("a figure of a score needs all numbers of its {} components", components);
    for (const double product : figure_.products) {
      low_ = std::min(low_, product);
      high_ = std::max(high_, product);
    }
    if (!(high_ - low_ > 1e-12)) high_ = low_ + 1e-12;
    const float table = chain_x() - kChainGap - kMargin;
    top_ = lay_out_titles(figure_.lines.empty() ? table : table + kChainGap + kChainWidth);
    float chain = 0.0F;
    for (const ScoreFigure::Line& line : figure_.lines) {
      WrappedLine& wrapped = wrapped_.emplace_back();
      wrapped.calculation = wrap(line.calculation, kChainWidth, metrics_.measure(kScoreText));
      wrapped.note = wrap(line.note, kChainWidth, metrics_.measure(kScoreText));
      wrapped.height = kChainLine * static_cast<float>(1 + wrapped.calculation.size() + wrapped.note.size()) + kChainSpace;
      chain += wrapped.height;
    }
    const float rows = kScoreHead + kComponentRow * static_cast<float>(components);
    size_ = {figure_.lines.empty() ? kMargin + table + kMargin : chain_x() + kChainWidth + kMargin,
             top_ + std::max(rows, chain) + kMargin};
  }

  void draw_content(Canvas& canvas) const override {
    draw_head(canvas);
    for (std::size_t i = 0; i < figure_.components.size(); ++i) draw_component(canvas, i);
    float y = top_;
    for (std::size_t i = 0; i < figure_.lines.size(); ++i) {
      draw_line(canvas, figure_.lines[i], wrapped_[i], y);
      y += wrapped_[i].height;
    }
  }

 private:
  float vector_x(std::size_t index) const {
    return kMargin + kComponentWidth + static_cast<float>(index) * (kVectorWidth + kColumnGap);
  }
  float product_x() const { return vector_x(figure_.vectors.size()) + kColumnGap; }
  float chain_x() const { return product_x() + kProductWidth + kChainGap; }
  float place(double product) const {
    return product_x() + static_cast<float>((product - low_) / (high_ - low_)) * (kProductWidth - kProductNumber);
  }

  void draw_head(Canvas& canvas) const {
    const float y = top_ + kScoreText;
    canvas.text({kMargin, y}, "i", {.size = kScoreText, .is_italic = true, .color = paper_.muted});
    for (std::size_t i = 0; i < figure_.vectors.size(); ++i) {
      canvas.text({vector_x(i), y}, figure_.vectors[i].title,
                  {.size = kScoreText, .is_bold = true, .color = figure_.vectors[i].color});
    }
    canvas.text({product_x() + kProductWidth, y}, figure_.product_title,
                {.size = kScoreText, .is_bold = true, .color = figure_.output_color, .align = TextAlign::End});
  }

  void draw_component(Canvas& canvas, std::size_t index) const {
    const float y = top_ + kScoreHead + kComponentRow * static_cast<float>(index);
    const float middle = y + kComponentRow * 0.5F;
    write(canvas, {kMargin + kComponentWidth - 6.0F, middle}, figure_.components[index], paper_.muted, TextAlign::End,
          kScoreText);
    for (std::size_t i = 0; i < figure_.vectors.size(); ++i) {
      const float value = figure_.vectors[i].values[index];
      const Rect cell = {.origin = {vector_x(i), y + 0.5F}, .size = {kVectorWidth, kComponentRow - 1.0F}};
      const Rgb ground = chart::color(chart::diverging(figure_.style.is_dark), 0.5F + 0.5F * value / reaches_[i]);
      canvas.fill(cell, ground);
      write(canvas, {cell.center().x, middle}, chart::format_fixed(value, 3), chart::text_on(ground), TextAlign::Middle,
            kScoreText);
    }
    const double product = figure_.products[index];
    const float zero = place(0.0), end = std::isfinite(product) ? place(product) : zero;
    canvas.fill({.origin = {std::min(zero, end), y + 3.0F}, .size = {std::abs(end - zero), kComponentRow - 6.0F}},
                chart::color(chart::ColorMap::BlueRed, product < 0.0 ? 0.19F : 0.81F));
    canvas.line({zero, y}, {zero, y + kComponentRow}, paper_.outline, 0.5F);
    write(canvas, {product_x() + kProductWidth, middle}, chart::format_fixed(static_cast<float>(product), 3), paper_.ink,
          TextAlign::End, kScoreText);
  }

  void draw_line(Canvas& canvas, const ScoreFigure::Line& line, const WrappedLine& wrapped, float y) const {
    const Rgb color = line.is_result ? figure_.output_color : paper_.ink;
    float baseline = y + kTextSize;
    canvas.text({chain_x(), baseline}, line.name, {.size = kTextSize, .is_bold = true, .color = color});
    canvas.text({chain_x() + kChainWidth, baseline}, line.value,
                {.size = kTextSize, .color = color, .align = TextAlign::End});
    for (const std::vector<std::string>* part : {&wrapped.calculation, &wrapped.note}) {
      for (const std::string& text : *part) {
        baseline += kChainLine;
        canvas.text({chain_x(), baseline}, text,
                    {.size = kScoreText, .is_italic = part == &wrapped.note, .color = paper_.muted});
      }
    }
    const float below = y + wrapped.height - kChainSpace * 0.5F;
    canvas.line({chain_x(), below}, {chain_x() + kChainWidth, below}, paper_.outline, 0.5F);
  }

  std::vector<float> reaches_;  ///< of each vector: its largest magnitude
  double low_ = 0.0, high_ = 0.0;
  std::vector<WrappedLine> wrapped_;
  float top_ = 0.0F;
};

}  // namespace

std::unique_ptr<Drawing> make_drawing(ScoreFigure figure) { return std::make_unique<ScoreDrawing>(std::move(figure)); }

}  // namespace headlight::exporting
