#include "export/figures.h"

#include <algorithm>
#include <set>

#include "chart/color.h"
#include "chart/ellipsis.h"
#include "core/error.h"
#include "export/figure_frame.h"

namespace headlight::exporting {
namespace {

constexpr float kFlowRow = 64.0F;  // from one layer to the next
constexpr float kMinFlowColumn = 34.0F, kMaxFlowColumn = 96.0F;
constexpr float kFlowGap = 8.0F;
constexpr float kNode = 5.0F;  // the edge of its square
constexpr float kThinnest = 0.6F, kThickest = 5.0F;
constexpr std::size_t kMaxFlowTokens = 400, kMaxFlowLayers = 200;

class FlowDrawing final : public FigureDrawing<FlowFigure> {
 public:
  explicit FlowDrawing(FlowFigure shown)
      : FigureDrawing(std::move(shown)),
        gutter_(metrics_.width(
                    fmt::format("layer {}",
                                std::max(figure_.layers, figure_.layer_numbers.empty() ? 0U : figure_.layer_numbers.back())),
                    kTextSize) +
                kFlowGap),
        column_(column_width()),
        width_(std::max(2.0F * kMargin + gutter_ + column_ * static_cast<float>(figure_.tokens.size()), kMinWidth)),
        legend_top_(lay_out_titles(width_ - 2.0F * kMargin)) {
    if (figure_.tokens.size() > kMaxFlowTokens || figure_.layers > kMaxFlowLayers) {
      throw Error("a figure of a flow has at most {} tokens and {} layers, not {} and {}", kMaxFlowTokens, kMaxFlowLayers,
                  figure_.tokens.size(), figure_.layers);
    }
    std::set<std::uint32_t> heads;
    for (const FlowFigure::Edge& edge : figure_.edges) {
      const std::size_t tokens = figure_.tokens.size();
      if (edge.layer >= figure_.layers || edge.from >= tokens || edge.to >= tokens) {
        throw Error("an edge of layer {} joins tokens {} and {}, which the figure lacks", edge.layer, edge.from, edge.to);
      }
      if (edge.head) heads.insert(*edge.head);
    }
    if (figure_.style.parts.legend) legend_ = ColorLegend(legend_of(heads), width_ - 2.0F * kMargin, metrics_);
    first_y_ = legend_top_ + legend_.height() + kFlowGap + kNode;
    size_ = {width_, first_y_ + static_cast<float>(figure_.layers) * kFlowRow + kFlowGap + 2.0F * kTextSize + kMargin};
  }

  void draw_content(Canvas& canvas) const override {
    legend_.draw(canvas, {kMargin, legend_top_}, paper_);
    draw_layers(canvas);
    std::set<std::pair<std::uint32_t, std::uint32_t>> nodes;
    for (const FlowFigure::Edge& edge : figure_.edges) {
      const float share = std::isfinite(edge.share) ? std::clamp(edge.share, 0.0F, 1.0F) : 0.0F;
      canvas.line(at(edge.layer, edge.from), at(edge.layer + 1, edge.to), color_of(edge),
                  std::max(kThickest * share, kThinnest));
      nodes.insert({edge.layer, edge.from});
      nodes.insert({edge.layer + 1, edge.to});
    }
    for (const auto& [layer, token] : nodes) {
      canvas.fill({.origin = at(layer, token) - kNode * 0.5F, .size = {kNode, kNode}}, paper_.ink);
    }
    draw_tokens(canvas);
  }

 private:
  inline static constexpr float kMinWidth = 360.0F;

  float column_width() const {
    float widest = 0.0F;
    for (const std::string& token : figure_.tokens) widest = std::max(widest, metrics_.width(printable(token), kTextSize));
    return std::clamp(std::ceil(widest) + kFlowGap, kMinFlowColumn, kMaxFlowColumn);
  }

  /// The state after so many layers.
  glm::vec2 at(std::uint32_t layer, std::uint32_t token) const {
    return {kMargin + gutter_ + (static_cast<float>(token) + 0.5F) * column_,
            first_y_ + static_cast<float>(figure_.layers - layer) * kFlowRow};
  }

  /// 0: grey; else between nearly the middle of the diverging colours, which is nearly white, and one of their ends.
  Rgb change_color(float change) const {
    if (!(std::abs(change) > 0.0F)) return paper_.muted;
    const float strength = 0.25F + 0.75F * std::clamp(std::abs(change) / std::max(*figure_.reach, 1e-6F), 0.0F, 1.0F);
    return chart::color(chart::ColorMap::BlueRed, 0.5F + std::copysign(0.5F * strength, change));
  }

  Rgb color_of(const FlowFigure::Edge& edge) const {
    if (figure_.reach) return change_color(edge.change);
    if (edge.is_residual) return paper_.muted;
    return edge.head ? chart::head_color(*edge.head) : paper_.ink;
  }

  /// "−12 points", "no change", "+12 points", or the heads, beside their colours.
  std::vector<ColorLegend::Entry> legend_of(const std::set<std::uint32_t>& heads) const {
    std::vector<ColorLegend::Entry> entries;
    if (!figure_.reach) {
      for (const std::uint32_t head : heads) entries.push_back({chart::head_color(head), fmt::format("head {}", head)});
      const auto is_mixed = [](const FlowFigure::Edge& edge) { return !edge.is_residual && !edge.head; };
      if (std::ranges::any_of(figure_.edges, is_mixed))
        entries.push_back({paper_.ink, heads.empty() ? "attention" : "several heads"});
      return entries;
    }
    for (const float change : {-*figure_.reach, 0.0F, *figure_.reach})
      entries.push_back(
          {change_color(change), change == 0.0F ? "no change" : fmt::format("{:+.1f} points", 100.0F * change)});
    return entries;
  }

  void draw_layers(Canvas& canvas) const {
    for (std::uint32_t layer = 0; layer <= figure_.layers; ++layer) {
      write(canvas, {kMargin, at(layer, 0).y},
            layer == 0 ? "input" : fmt::format("layer {}", figure_.layer_number(layer - 1)), paper_.muted);
    }
  }

  void draw_tokens(Canvas& canvas) const {
    for (std::uint32_t token = 0; token < figure_.tokens.size(); ++token) {
      const std::string text = chart::shorten(printable(figure_.tokens[token]), column_ - 4.0F, metrics_.measure(kTextSize));
      canvas.text(at(0, token) + glm::vec2(0.0F, kFlowGap + kTextSize + kNode), text,
                  {.size = kTextSize, .color = paper_.ink, .align = TextAlign::Middle});
    }
  }

  float gutter_, column_, width_, legend_top_;
  ColorLegend legend_;
  float first_y_ = 0.0F;
};

}  // namespace

std::unique_ptr<Drawing> make_drawing(FlowFigure figure) { return std::make_unique<FlowDrawing>(std::move(figure)); }

}  // namespace headlight::exporting
