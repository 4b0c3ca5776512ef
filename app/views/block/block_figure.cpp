#include "app/views/block/block_figure.h"

#include "app/cells/stage_text.h"
#include "app/state/comparison.h"
#include "app/views/block/block_layout.h"
#include "export/diagram_figure.h"

namespace headlight::app {
namespace {

constexpr glm::vec2 kDiagram{1'180.0F, 680.0F};  // units

exporting::FigureStyle style_of(const BlockNode& node, const std::string& color_map, bool is_compared) {
  exporting::FigureStyle style;
  style.scale = view::ScaleKind::Maximum;
  if (const auto map = view::parse_color_map(color_map)) style.color_map = *map;
  return node.stage == attention::Stage::Weights && !is_compared ? style : exporting::diverging(style);
}

}  // namespace

BlockFigure keep_block(Frame& frame, const HeadSubject& subject, const BlockPlan& plan, glm::vec2 room) {
  BlockFigure kept{.plan = plan, .tiles = {}, .colors = {}, .is_compared = compares_matrices(frame)};
  const shell::Theme& theme = shell::theme_of(shell::ThemeKind::Light);  // the paper is white
  const BlockLayout layout = lay_out_block(plan, {.origin = {0.0F, 0.0F}, .size = room});
  for (const PlacedNode& placed : layout.nodes) {
    const BlockNode& node = plan.nodes[placed.node];
    const EngineTile* known = frame.ask(node_query(frame, subject, node, placed.cells.size));
    kept.tiles.push_back(known == nullptr ? nullptr : known->tile);
    kept.colors.push_back(view::unpack(role_color(node.quantity().role, theme)));
  }
  const inference::BlockShape& shape = subject.geometry.shape;
  kept.title = fmt::format("Layer {}, head {} of {}", subject.block.layer.value, subject.geometry.head, shape.heads);
  kept.subtitle = kind_name(frame.result, subject.block.kind) +
                  std::string("; beside each matrix its size and the values at both ends of its colours");
  if (compares_matrices(frame)) {
    kept.subtitle += fmt::format("; {} \u201C{}\u201D", difference_caption(frame.state),
                                 frame.ui.unshaped(frame.state.compare.baseline->name));
  }
  kept.color_map = frame.state.view.color_map;
  kept.arrow = view::unpack(theme.text_dim);
  return kept;
}

std::unique_ptr<exporting::Drawing> make_block_figure(const BlockFigure& kept) {
  if (kept.plan.nodes.empty()) return nullptr;
  exporting::DiagramFigure figure{
      .title = kept.title, .subtitle = kept.subtitle, .area = kDiagram, .nodes = {}, .arrows = {}, .style = {}};
  const BlockLayout layout = lay_out_block(kept.plan, {.origin = {0.0F, 0.0F}, .size = kDiagram});
  for (const PlacedNode& placed : layout.nodes) {
    const BlockNode& node = kept.plan.nodes[placed.node];
    exporting::DiagramFigure::Node drawn{.box = placed.box,
                                         .cells = placed.cells,
                                         .symbol = node.quantity().symbol,
                                         .title = std::string(node.name()),
                                         .operation = node.operation,
                                         .color = kept.colors[placed.node]};
    const std::shared_ptr<const attention::Tile>& tile = kept.tiles[placed.node];
    if (!tile) return nullptr;  // computed soon
    drawn.map = exporting::make_map(*tile);
    drawn.style = style_of(node, kept.color_map, kept.is_compared);
    figure.nodes.push_back(std::move(drawn));
  }
  float bottom = 0.0F;
  for (const exporting::DiagramFigure::Node& node : figure.nodes) {
    bottom = std::max(bottom, node.cells.end().y);
  }
  figure.area.y = bottom;
  for (const PlacedArrow& arrow : layout.arrows) {
    figure.arrows.push_back({.points = arrow.points, .color = arrow.is_residual ? kept.arrow : kept.colors[arrow.from]});
  }
  return exporting::make_drawing(std::move(figure));
}

}  // namespace headlight::app
