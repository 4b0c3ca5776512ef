#include "export/figures.h"

#include "chart/number_format.h"
#include "core/error.h"
#include "export/heatmap_painter.h"
#include "export/text_metrics.h"

namespace headlight::exporting {
namespace {

constexpr float kKeyRow = 14.0F, kKeyHead = 34.0F;
constexpr float kKeyText = 10.0F;
constexpr float kIndexWidth = 30.0F, kNameWidth = 110.0F;
constexpr float kProductMap = 520.0F;  // as wide as its components allow
constexpr float kMinProduct = 4.0F, kMaxProduct = 22.0F;
constexpr float kScoreWidth = 74.0F, kWeightWidth = 120.0F, kWeightNumber = 46.0F;
constexpr float kScaleWidth = 120.0F, kScaleHeight = 8.0F, kScaleRoom = 34.0F;
constexpr std::size_t kMaxProductColumns = 1'024;

class ProductsDrawing final : public FigureDrawing<ProductsFigure> {
 public:
  explicit ProductsDrawing(ProductsFigure shown) : FigureDrawing(std::move(shown)) {
    const std::size_t columns = figure_.components.size();
    if (columns == 0 || figure_.rows.empty()) throw Error("a figure of products needs at least one key and one component");
    if (columns > kMaxProductColumns || figure_.rows.size() > kMaxProductRows) {
      throw Error("a figure of products has at most {} keys and {} components, not {} and {}", kMaxProductRows,
                  kMaxProductColumns, figure_.rows.size(), columns);
    }
    for (const ProductsFigure::Row& row : figure_.rows) {
      if (row.products.size() != columns) throw Error("a figure of products needs all {} products of a key", columns);
      for (const float product : row.products) {
        if (std::isfinite(product)) reach_ = std::max(reach_, std::abs(product));
        map_.values.push_back(product);
      }
    }
    map_.rows = static_cast<std::uint32_t>(figure_.rows.size());
    map_.columns = static_cast<std::uint32_t>(columns);
    column_ = std::clamp(std::floor(kProductMap / static_cast<float>(columns)), kMinProduct, kMaxProduct);
    top_ = lay_out_titles(right() - kMargin);
    size_ = {right() + kMargin, top_ + kKeyHead + kKeyRow * static_cast<float>(figure_.rows.size()) + kScaleRoom + kMargin};
  }

  void draw_content(Canvas& canvas) const override {
    draw_head(canvas);
    draw_map(canvas);
    for (std::size_t row = 0; row < figure_.rows.size(); ++row) draw_row(canvas, row);
    draw_scale(canvas);
  }

 private:
  static float map_x() { return kMargin + kIndexWidth + kNameWidth; }
  float map_width() const { return column_ * static_cast<float>(figure_.components.size()); }
  float score_end() const { return map_x() + map_width() + kScoreWidth; }
  float right() const { return score_end() + 12.0F + kWeightWidth; }
  float row_y(std::size_t row) const { return top_ + kKeyHead + kKeyRow * static_cast<float>(row); }

  void draw_head(Canvas& canvas) const {
    const float y = top_ + kKeyText;
    canvas.text({kMargin, y}, "key", {.size = kKeyText, .is_bold = true, .color = figure_.key_color});
    canvas.text({map_x(), y}, "products q\u00B7k by component",
                {.size = kKeyText, .is_bold = true, .color = figure_.output_color});
    canvas.text({score_end(), y}, "score",
                {.size = kKeyText, .is_bold = true, .color = paper_.muted, .align = TextAlign::End});
    canvas.text({right(), y}, "weight",
                {.size = kKeyText, .is_bold = true, .color = figure_.output_color, .align = TextAlign::End});
    float widest = 0.0F;
    for (const std::string& name : figure_.components) widest = std::max(widest, metrics_.width(name, kKeyText));
    const auto step = static_cast<std::size_t>(std::max(std::ceil((widest + 4.0F) / column_), 1.0F));
    for (std::size_t i = 0; i < figure_.components.size(); i += step) {
      canvas.text({map_x() + (static_cast<float>(i) + 0.5F) * column_, top_ + kKeyHead - 5.0F}, figure_.components[i],
                  {.size = kKeyText, .color = paper_.muted, .align = TextAlign::Middle});
    }
  }

  void draw_map(Canvas& canvas) const {
    const CellGrid grid{
        .area = {.origin = {map_x(), row_y(0)}, .size = {map_width(), kKeyRow * static_cast<float>(figure_.rows.size())}},
        .value = {column_, kKeyRow}};
    FigureStyle style = figure_.style;
    style.color_map = chart::diverging(style.is_dark);
    paint_cells(canvas, map_, grid, {.kind = chart::ScaleKind::Symmetric, .low = -reach_, .high = reach_}, style, paper_);
  }

  void draw_row(Canvas& canvas, std::size_t index) const {
    const ProductsFigure::Row& row = figure_.rows[index];
    const float y = row_y(index), middle = y + kKeyRow * 0.5F;
    const Rgb ink = row.is_masked ? paper_.muted : paper_.ink;
    const auto put = [&](float x, const std::string& text, Rgb color, TextAlign align) {
      write(canvas, {x, middle}, text, color, align, kKeyText);
    };
    put(kMargin + kIndexWidth - 8.0F, row.index, figure_.key_color, TextAlign::End);
    put(kMargin + kIndexWidth, chart::shorten(printable(row.name), kNameWidth - 8.0F, metrics_.measure(kKeyText)), ink,
        TextAlign::Start);
    put(score_end(), chart::format_fixed(row.score, 3), ink, TextAlign::End);
    const float room = kWeightWidth - kWeightNumber;
    const float length = std::isfinite(row.weight) ? room * std::clamp(row.weight, 0.0F, 1.0F) : 0.0F;
    canvas.fill({.origin = {score_end() + 12.0F, y + 2.0F}, .size = {length, kKeyRow - 4.0F}}, figure_.output_color);
    const bool tells_mask = row.is_masked && row.weight == 0.0F;
    put(right(), tells_mask ? "masked" : chart::format_fixed(row.weight, 3), ink, TextAlign::End);
  }

  /// The products' colours, with the numbers at both ends.
  void draw_scale(Canvas& canvas) const {
    constexpr std::size_t kSteps = 60;
    const float y = row_y(figure_.rows.size()) + 12.0F;
    const float step = kScaleWidth / static_cast<float>(kSteps);
    for (std::size_t i = 0; i < kSteps; ++i) {
      const float at = (static_cast<float>(i) + 0.5F) / static_cast<float>(kSteps);
      canvas.fill({.origin = {map_x() + static_cast<float>(i) * step, y}, .size = {step, kScaleHeight}},
                  chart::color(chart::diverging(figure_.style.is_dark), at));
    }
    canvas.frame({.origin = {map_x(), y}, .size = {kScaleWidth, kScaleHeight}}, paper_.outline, 0.5F);
    const float baseline = y + kScaleHeight + kKeyText + 3.0F;
    const TextStyle style{.size = kKeyText, .color = paper_.muted, .align = TextAlign::Middle};
    canvas.text({map_x(), baseline}, chart::format_number(-reach_, 7), style);
    canvas.text({map_x() + kScaleWidth * 0.5F, baseline}, "0", style);
    canvas.text({map_x() + kScaleWidth, baseline}, chart::format_number(reach_, 6), style);
  }

  FigureMap map_;
  float reach_ = 1e-12F;  ///< the largest magnitude of a product
  float column_ = 0.0F;   ///< of a component
  float top_ = 0.0F;
};

}  // namespace

std::unique_ptr<Drawing> make_drawing(ProductsFigure figure) { return std::make_unique<ProductsDrawing>(std::move(figure)); }

}  // namespace headlight::exporting
