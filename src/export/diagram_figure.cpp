#include "export/figures.h"

#include "chart/number_format.h"
#include "core/error.h"
#include "export/heatmap_painter.h"
#include "export/text_metrics.h"

namespace headlight::exporting {
namespace {

constexpr float kSymbolSize = 12.0F, kNameSize = 10.0F, kRangeSize = 8.5F;
constexpr float kScriptScale = 0.75F;
constexpr float kArrowHead = 6.0F, kArrowWidth = 1.2F;
constexpr float kLargestDiagram = 4'000.0F;
constexpr std::uint32_t kMaxDiagramValues = 256;

/// Writes a formula whose "_" and "^" set what follows low or high: a letter, or a part in braces. Returns where it ends.
float write_formula(Canvas& canvas, const TextMetrics& metrics, std::string_view formula, glm::vec2 at, TextStyle style) {
  const float base = at.y, size = style.size;
  while (!formula.empty()) {
    std::size_t plain = std::min(formula.find_first_of("_^"), formula.size());
    style.size = size;
    at.y = base;
    if (plain == 0) {
      const bool is_raised = formula.front() == '^';
      formula.remove_prefix(1);
      const std::size_t close = formula.starts_with('{') ? formula.find('}') : std::string_view::npos;
      const bool is_braced = close != std::string_view::npos;
      if (is_braced) formula.remove_prefix(1);
      plain = is_braced ? close - 1 : 1;
      while (!is_braced && plain < formula.size() && (static_cast<unsigned char>(formula[plain]) & 0xC0U) == 0x80U) ++plain;
      plain = std::min(plain, formula.size());
      style.size = size * kScriptScale;
      at.y = base + (is_raised ? -0.35F : 0.2F) * size;
      canvas.text(at, formula.substr(0, plain), style);
      at.x += metrics.width(formula.substr(0, plain), style.size, style.is_bold) + 0.5F;
      formula.remove_prefix(std::min(plain + (is_braced ? 1 : 0), formula.size()));
      continue;
    }
    canvas.text(at, formula.substr(0, plain), style);
    at.x += metrics.width(formula.substr(0, plain), style.size, style.is_bold);
    formula.remove_prefix(plain);
  }
  return at.x;
}

class DiagramDrawing final : public FigureDrawing<DiagramFigure> {
 public:
  explicit DiagramDrawing(DiagramFigure shown)
      : FigureDrawing(std::move(shown)), origin_(kMargin, lay_out_titles(figure_.area.x)) {
    size_ = origin_ + figure_.area + kMargin;
    if (!(size_.x <= kLargestDiagram && size_.y <= kLargestDiagram)) throw Error("the diagram is too large for a figure");
    for (DiagramFigure::Node& node : figure_.nodes) {
      check(node.map);
      scales_.push_back(scale_of(node.map, node.style));
      node.map = pooled(node.map, kMaxDiagramValues);
      node.style.is_dark = figure_.style.is_dark;
    }
  }

  void draw_content(Canvas& canvas) const override {
    for (const DiagramFigure::Arrow& arrow : figure_.arrows) draw_arrow(canvas, arrow);
    for (std::size_t i = 0; i < figure_.nodes.size(); ++i) draw_node(canvas, figure_.nodes[i], scales_[i]);
  }

 private:
  void draw_arrow(Canvas& canvas, const DiagramFigure::Arrow& arrow) const {
    if (arrow.points.size() < 2) return;
    for (std::size_t i = 1; i < arrow.points.size(); ++i) {
      canvas.line(origin_ + arrow.points[i - 1], origin_ + arrow.points[i], arrow.color, kArrowWidth);
    }
    const glm::vec2 tip = arrow.points.back(), way = tip - arrow.points[arrow.points.size() - 2];
    const float length = std::hypot(way.x, way.y);
    if (!(length > 0.0F)) return;
    const glm::vec2 along = way / length, across(-along.y, along.x);
    for (const float side : {-0.55F, 0.55F}) {
      canvas.line(origin_ + tip, origin_ + tip - kArrowHead * (along + side * across), arrow.color, kArrowWidth);
    }
  }

  void draw_node(Canvas& canvas, const DiagramFigure::Node& node, const chart::ValueScale& scale) const {
    const glm::vec2 corner = origin_ + node.box.origin;
    const float end = write_formula(canvas, metrics_, node.symbol, corner + glm::vec2(0.0F, kSymbolSize),
                                    {.size = kSymbolSize, .is_bold = true, .color = node.color});
    const float room = corner.x + node.box.size.x - end - 6.0F;
    if (node.title != node.symbol && room > 0.0F) {
      canvas.text({end + 6.0F, corner.y + kSymbolSize}, chart::shorten(node.title, room, metrics_.measure(kNameSize)),
                  {.size = kNameSize, .color = paper_.ink});
    }
    write_formula(canvas, metrics_, node.operation, corner + glm::vec2(0.0F, kSymbolSize + kNameSize + 5.0F),
                  {.size = kNameSize, .color = paper_.muted});
    const Rect cells = {.origin = origin_ + node.cells.origin, .size = node.cells.size};
    const glm::vec2 values(node.map.value_columns(), node.map.value_rows());
    paint_cells(canvas, node.map, {.area = cells, .value = cells.size / values}, scale, node.style, paper_);
    if (!figure_.style.parts.numbers) return;
    // The size, and the values at both ends of the colours, are in place of a colour bar.
    const std::string about = fmt::format("{} × {}: {} … {}", node.map.rows, node.map.columns,
                                          chart::format_number(scale.low, 7), chart::format_number(scale.high, 6));
    canvas.text({corner.x + node.box.size.x, corner.y + kSymbolSize + kNameSize + 5.0F}, about,
                {.size = kRangeSize, .color = paper_.muted, .align = TextAlign::End});
  }

  glm::vec2 origin_;
  std::vector<chart::ValueScale> scales_;  ///< of each node that has numbers
};

}  // namespace

std::unique_ptr<Drawing> make_drawing(DiagramFigure figure) { return std::make_unique<DiagramDrawing>(std::move(figure)); }

}  // namespace headlight::exporting
