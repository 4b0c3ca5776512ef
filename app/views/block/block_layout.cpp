#include "app/views/block/block_layout.h"

#include <algorithm>
#include <cmath>

namespace headlight::app {
namespace {

constexpr float kTitleHeight = 36.0F;  // the matrix' name, and what made it
constexpr float kGutterX = 26.0F;
constexpr float kGutterY = 24.0F;
constexpr float kThinnest = 0.35F;

std::size_t index_of(const BlockPlan& plan, std::string_view id) {
  const auto found = std::ranges::find(plan.nodes, id, &BlockNode::id);
  return static_cast<std::size_t>(found - plan.nodes.begin());
}

/// The line from one box to another: straight to a neighbour, else through the gutters.
std::vector<glm::vec2> route(const BlockNode& from, const PlacedNode& start, const BlockNode& to, const PlacedNode& end,
                             std::size_t lane, float left_margin) {
  const auto middle = [](const view::Rect& cells) { return cells.origin.y + cells.size.y * 0.5F; };
  const float offset = 4.0F * static_cast<float>(lane);
  if (from.row == to.row && from.column + 1 == to.column) {
    const float y = std::round(std::min(middle(start.cells), middle(end.cells)));
    return {{start.cells.end().x + 3.0F, y}, {end.cells.origin.x - 3.0F, y}};
  }
  if (from.row == to.row) {  // over the boxes between
    const float y = std::round(start.box.origin.y - 7.0F - offset);
    const float x = start.box.origin.x + start.box.size.x * 0.75F;
    const float x_end = end.box.origin.x + end.box.size.x * 0.25F - offset;
    return {{x, start.box.origin.y}, {x, y}, {x_end, y}, {x_end, end.box.origin.y}};
  }
  const float y = std::round(end.box.origin.y - 8.0F - offset);
  const float x = std::round(start.cells.origin.x + start.cells.size.x * 0.5F);
  const float x_end = std::round(end.box.origin.x + end.box.size.x * 0.5F + offset);
  if (to.row == from.row + 1) {
    const float below = start.cells.end().y + 3.0F;
    if (from.column == to.column) return {{x, below}, {x, end.box.origin.y}};
    return {{x, below}, {x, y}, {x_end, y}, {x_end, end.box.origin.y}};
  }
  const float outside = left_margin + 3.0F + offset;  // past a whole row, along the left edge
  return {{start.box.origin.x, middle(start.cells)},
          {outside, middle(start.cells)},
          {outside, y},
          {x_end, y},
          {x_end, end.box.origin.y}};
}

}  // namespace

view::Rect fit_matrix(std::uint32_t rows, std::uint32_t columns, const view::Rect& room) {
  const float most = std::max(1.0F, static_cast<float>(std::max(rows, columns)));
  glm::vec2 parts(std::max(static_cast<float>(columns) / most, kThinnest),
                  std::max(static_cast<float>(rows) / most, kThinnest));
  const float scale = std::min(room.size.x / parts.x, room.size.y / parts.y);
  return {.origin = room.origin, .size = glm::max(glm::floor(parts * scale), glm::vec2(1.0F))};
}

BlockLayout lay_out_block(const BlockPlan& plan, const view::Rect& room) {
  BlockLayout layout;
  const glm::vec2 count(std::max(plan.columns, 1U), std::max(plan.rows, 1U));
  const glm::vec2 gutters(kGutterX, kGutterY);
  const glm::vec2 margin(12.0F, 12.0F);  // lines along the left edge and above the first row
  const glm::vec2 cell =
      glm::max((room.size - margin - gutters * (count - 1.0F)) / count, glm::vec2(24.0F, kTitleHeight + 8.0F));
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const BlockNode& node = plan.nodes[i];
    const glm::vec2 at = room.origin + margin + glm::vec2(node.column, node.row) * (cell + gutters);
    PlacedNode placed{.node = i, .box = {.origin = glm::floor(at), .size = glm::floor(cell)}, .cells = {}};
    const view::Rect inner{.origin = placed.box.origin + glm::vec2(0.0F, kTitleHeight),
                           .size = placed.box.size - glm::vec2(0.0F, kTitleHeight)};
    placed.cells = fit_matrix(node.rows, node.columns, inner);
    layout.nodes.push_back(placed);
  }
  for (std::size_t to = 0; to < plan.nodes.size(); ++to) {
    const BlockNode& node = plan.nodes[to];
    for (std::size_t lane = 0; lane < node.inputs.size(); ++lane) {
      const std::size_t from = index_of(plan, node.inputs[lane]);
      if (from >= plan.nodes.size()) continue;
      const BlockNode& source = plan.nodes[from];
      const bool is_residual = source.state.has_value() && node.state.has_value() && node.inputs.size() > 1 &&
                               source.state != StateMatrix::FeedForward;
      layout.arrows.push_back({.from = from,
                               .to = to,
                               .points = route(source, layout.nodes[from], node, layout.nodes[to], lane, room.origin.x),
                               .is_residual = is_residual});
    }
  }
  return layout;
}

}  // namespace headlight::app
