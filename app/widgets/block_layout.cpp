#include "app/widgets/block_layout.h"

#include <numeric>

#include "app/shapes/quantities/formulas.h"
#include "app/shapes/quantities/stage_words.h"

namespace headlight::app {
namespace {

constexpr float kTitleHeight = 38.0F;   // the matrix' name, and what made it
constexpr float kSymbolHeight = 19.0F;  // of its name alone
constexpr float kOperationHeight = 19.0F;
constexpr float kTipGap = 2.0F;  // between an arrow's tip and the title below it
constexpr float kGutterX = 26.0F;
constexpr float kGutterY = 16.0F;     // at least
constexpr float kFlowMargin = 12.0F;  // for lines along the left edge and above the first row
constexpr float kOthersShare = 0.5F;  // of a column's width: as high as a matrix that is no map wants to be
constexpr float kMinMatrix = 8.0F;
// Of a strip: between matrices, between lines, the least and the largest height of a matrix, and its least width as a part.
constexpr float kStripGap = 20.0F, kTightGap = 12.0F, kStripLineGap = 8.0F, kMinStripEdge = 24.0F, kMaxStripEdge = 128.0F;
constexpr float kThinnestInStrip = 0.6F;

/// States of the residual stream, which a layer carries past its branches.
bool is_state(attention::Stage stage) { return stage == attention::Stage::Residual || stage == attention::Stage::Attended; }

/// Returns the line from one box to another: straight to a neighbour, else through the gutters.
std::vector<glm::vec2> route(const BlockNode& from, const PlacedNode& start, const BlockNode& to, const PlacedNode& end,
                             std::size_t lane, float left_margin) {
  const auto middle = [](const chart::Rect& cells) { return cells.origin.y + cells.size.y * 0.5F; };
  const float offset = 4.0F * static_cast<float>(lane);
  if (from.row == to.row && from.column + 1 == to.column) {
    const float y = std::round(std::min(middle(start.cells), middle(end.cells)));
    return {{start.cells.end().x + 3.0F, y}, {end.cells.origin.x - 3.0F, y}};
  }
  if (from.row == to.row) {  // over the boxes between
    const float y = std::round(start.box.origin.y - 7.0F - offset);
    const float x = start.box.end().x + kGutterX * 0.5F;  // past the title, which a wide matrix fills to its end
    const float x_end = end.box.origin.x + end.box.size.x * 0.25F - offset, from_y = std::round(middle(start.cells));
    return {{start.cells.end().x + 3.0F, from_y}, {x, from_y}, {x, y}, {x_end, y}, {x_end, end.box.origin.y - kTipGap}};
  }
  const float y = std::round(end.box.origin.y - 8.0F - offset);
  const float x = std::round(start.cells.origin.x + start.cells.size.x * 0.5F);
  const float x_end = std::round(end.box.origin.x + end.box.size.x * 0.5F + offset);
  if (to.row == from.row + 1) {
    const float below = start.cells.end().y + 3.0F;
    if (from.column == to.column) return {{x, below}, {x, end.box.origin.y - kTipGap}};
    return {{x, below}, {x, y}, {x_end, y}, {x_end, end.box.origin.y - kTipGap}};
  }
  const float outside = left_margin + 3.0F + offset;  // past a whole row, along the left edge
  return {{start.box.origin.x, middle(start.cells)},
          {outside, middle(start.cells)},
          {outside, y},
          {x_end, y},
          {x_end, end.box.origin.y - kTipGap}};
}

float column_width(const BlockPlan& plan, float width) {
  const auto columns = static_cast<float>(std::max(plan.columns, 1U));
  return std::max((width - kFlowMargin - kGutterX * (columns - 1.0F)) / columns, 24.0F);
}

/// Returns the height of what the rows of a flow have beside the cells of their matrices.
float height_around(const BlockPlan& plan) {
  const auto rows = static_cast<float>(std::max(plan.rows, 1U));
  return kFlowMargin + rows * kTitleHeight + (rows - 1.0F) * kGutterY;
}

/// Returns the heights that the cells of each row want in columns of this width; no matrix is thinner than `thinnest` of a
/// square.
std::vector<float> wanted_heights(const BlockPlan& plan, float column, float thinnest = kThinnestMatrix) {
  constexpr float kAnyHeight = 1e6F;
  std::vector<float> wanted(std::max(plan.rows, 1U), kMinMatrix);
  for (const BlockNode& node : plan.nodes) {
    const bool is_map = attention::is_map(node.stage);
    const float most = is_map ? column : column * std::max(kOthersShare, thinnest);
    const chart::Rect whole = fit_matrix(node.rows, node.columns, {.origin = {}, .size = {column, kAnyHeight}}, thinnest);
    wanted[node.row] = std::max(wanted[node.row], std::min(whole.size.y, most));
  }
  return wanted;
}

/// Heights of the rows' cells, and what is between two rows.
struct FlowRows {
  std::vector<float> heights;
  float gutter = kGutterY;
  float thinnest = kThinnestMatrix;
};

/// Fits the rows into a room. In a low one all rows are smaller by the same factor; in a high one thin matrices grow towards
/// squares, and the height that is left then goes between the rows.
FlowRows fill_rows(const BlockPlan& plan, float column, float room) {
  constexpr float kWidestGutter = 96.0F;
  const auto sum = [](const std::vector<float>& heights) { return std::accumulate(heights.begin(), heights.end(), 0.0F); };
  FlowRows rows{.heights = wanted_heights(plan, column)};
  for (const float thinnest : {0.5F, 0.65F, 0.8F, 1.0F}) {
    std::vector<float> larger = wanted_heights(plan, column, thinnest);
    if (sum(larger) > room) break;
    rows.heights = std::move(larger);
    rows.thinnest = thinnest;
  }
  const float factor = std::min(room / sum(rows.heights), 1.0F);
  for (float& height : rows.heights) height = std::max(height * factor, kMinMatrix);
  const float left = std::max(room - sum(rows.heights), 0.0F);
  rows.gutter = std::min(kGutterY + left / static_cast<float>(rows.heights.size()), kWidestGutter);
  return rows;
}

/// Returns the width of a matrix in a strip: a square's, or less of one with few columns.
float strip_width(const BlockNode& node, float edge) {
  return fit_matrix(node.rows, node.columns, {.origin = {}, .size = {edge, edge}}, kThinnestInStrip).size.x;
}

/// Calls `place(node, x, line)` for each matrix of this height. Returns the number of lines.
template <typename Place>
std::size_t fill_lines(const BlockPlan& plan, float edge, float gap, float width, const Place& place) {
  std::size_t line = 0;
  float x = 0.0F;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const float wide = strip_width(plan.nodes[i], edge);
    if (x > 0.0F && x + wide > width) {
      x = 0.0F;
      ++line;
    }
    place(i, x, line);
    x += wide + gap;
  }
  return line + 1;
}

constexpr float kStripLine = kSymbolHeight + kOperationHeight + kStripLineGap;  // without the matrices

/// The height of a strip's matrices, how many lines they fill, and what is between two.
struct StripSize {
  float edge = kMinStripEdge;
  std::size_t lines = 1;
  float gap = kStripGap;
};

/// In one line what is unfolded below has more room: where its matrices would be small, they stand closer.
StripSize strip_size(const BlockPlan& plan, glm::vec2 room) {
  constexpr std::size_t kMaxLines = 5;
  constexpr float kReadableStrip = 44.0F;
  const auto lines_at = [&](float edge, float gap) {
    return fill_lines(plan, edge, gap, room.x, [](std::size_t, float, std::size_t) {});
  };
  const auto largest_in = [&](std::size_t lines, float gap) {
    float edge = std::floor(std::min((room.y + kStripLineGap) / static_cast<float>(lines) - kStripLine, kMaxStripEdge));
    while (edge >= kMinStripEdge && lines_at(edge, gap) > lines) edge -= 1.0F;
    return edge;
  };
  const float wide = largest_in(1, kStripGap), tight = largest_in(1, kTightGap);
  if (wide >= kReadableStrip) return {.edge = wide};
  if (tight >= kMinStripEdge) return {.edge = tight, .gap = kTightGap};
  StripSize best{.lines = lines_at(kMinStripEdge, kStripGap)};
  for (std::size_t lines = 2; lines <= kMaxLines; ++lines) {
    if (const float edge = largest_in(lines, kStripGap); edge > best.edge) best = {.edge = edge, .lines = lines};
  }
  return best;
}

}  // namespace

BlockLayout lay_out_strip(const BlockPlan& plan, const chart::Rect& room) {
  BlockLayout layout;
  layout.is_strip = true;
  const StripSize strip = strip_size(plan, room.size);
  const float edge = strip.edge;
  layout.height = static_cast<float>(strip.lines) * (edge + kStripLine) - kStripLineGap;
  fill_lines(plan, edge, strip.gap, room.size.x, [&](std::size_t i, float x, std::size_t line) {
    const glm::vec2 at = glm::floor(room.origin + glm::vec2(x, static_cast<float>(line) * (edge + kStripLine)));
    const glm::vec2 size(strip_width(plan.nodes[i], edge), edge);
    const PlacedNode placed{.node = i,
                            .box = {.origin = at, .size = size + glm::vec2(0.0F, kSymbolHeight + kOperationHeight)},
                            .cells = {.origin = at + glm::vec2(0.0F, kSymbolHeight), .size = size},
                            .operation_y = at.y + kSymbolHeight + edge + 2.0F};
    if (i > 0 && x > 0.0F) {
      const std::vector<attention::Stage>& inputs = plan.nodes[i].inputs;
      const float y = std::round(placed.cells.center().y);
      if (std::ranges::find(inputs, plan.nodes[i - 1].stage) != inputs.end()) {
        layout.arrows.push_back(
            {.from = i - 1, .to = i, .points = {{layout.nodes.back().cells.end().x + 3.0F, y}, {at.x - 3.0F, y}}});
      }
    }
    layout.nodes.push_back(placed);
  });
  return layout;
}

float least_block_height(const BlockPlan& plan, float width, float edge) {
  const std::vector<float> wanted = wanted_heights(plan, column_width(plan, width));
  const float factor = std::min(edge / *std::ranges::max_element(wanted), 1.0F);
  return std::ceil(height_around(plan) + factor * std::accumulate(wanted.begin(), wanted.end(), 0.0F));
}

chart::Rect fit_matrix(std::uint32_t rows, std::uint32_t columns, const chart::Rect& room, float thinnest) {
  const float most = std::max(1.0F, static_cast<float>(std::max(rows, columns)));
  glm::vec2 parts(std::max(static_cast<float>(columns) / most, thinnest),
                  std::max(static_cast<float>(rows) / most, thinnest));
  const float scale = std::min(room.size.x / parts.x, room.size.y / parts.y);
  return {.origin = room.origin, .size = glm::max(glm::floor(parts * scale), glm::vec2(1.0F))};
}

BlockLayout lay_out_block(const BlockPlan& plan, const chart::Rect& room) {
  BlockLayout layout;
  const float column = column_width(plan, room.size.x);
  const FlowRows rows = fill_rows(plan, column, room.size.y - height_around(plan));
  std::vector<float> tops{room.origin.y + kFlowMargin};
  for (const float height : rows.heights) tops.push_back(tops.back() + kTitleHeight + height + rows.gutter);
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const BlockNode& node = plan.nodes[i];
    const glm::vec2 at(room.origin.x + kFlowMargin + static_cast<float>(node.column) * (column + kGutterX), tops[node.row]);
    PlacedNode placed{
        .node = i,
        .box = {.origin = glm::floor(at), .size = glm::floor(glm::vec2(column, kTitleHeight + rows.heights[node.row]))},
        .cells = {},
        .operation_y = std::floor(at.y) + kSymbolHeight};
    const chart::Rect inner{.origin = placed.box.origin + glm::vec2(0.0F, kTitleHeight),
                            .size = placed.box.size - glm::vec2(0.0F, kTitleHeight)};
    placed.cells = fit_matrix(node.rows, node.columns, inner, rows.thinnest);
    layout.nodes.push_back(placed);
  }
  for (std::size_t to = 0; to < plan.nodes.size(); ++to) {
    const BlockNode& node = plan.nodes[to];
    for (std::size_t lane = 0; lane < node.inputs.size(); ++lane) {
      const BlockNode* source = plan.find(node.inputs[lane]);
      if (!source) continue;
      const auto from = static_cast<std::size_t>(source - plan.nodes.data());
      const bool is_residual = is_state(source->stage) && attention::is_of_stream(node.stage) && node.inputs.size() > 1;
      layout.arrows.push_back({.from = from,
                               .to = to,
                               .points = route(*source, layout.nodes[from], node, layout.nodes[to], lane, room.origin.x),
                               .is_residual = is_residual});
    }
  }
  return layout;
}

std::string_view BlockNode::name() const {
  const std::string_view whole = quantity().title, symbol = quantity().symbol;
  if (whole == symbol) return {};
  return whole.starts_with(symbol) && whole.substr(symbol.size()).starts_with(' ') ? whole.substr(symbol.size() + 1) : whole;
}

const BlockNode* BlockPlan::find(std::string_view id) const {
  const auto found = std::ranges::find(nodes, id, &BlockNode::id);
  return found == nodes.end() ? nullptr : &*found;
}

const BlockNode* BlockPlan::find(attention::Stage stage) const { return find(attention::to_string(stage)); }

BlockPlan plan_block(model::BlockRef block, const model::AttentionLayer* layer, const inference::BlockShape& shape) {
  using attention::Stage;
  constexpr std::array kLastOfRow = {Stage::V, Stage::Heads, Stage::FfnInput, Stage::Next};
  BlockPlan plan;
  const attention::LayerGraph graph(shape, block.kind, layer);
  std::array<std::uint32_t, kLastOfRow.size()> columns = {};
  for (const attention::LayerNode& node : graph.nodes()) {
    const auto row = static_cast<std::size_t>(
        std::ranges::find_if(kLastOfRow, [&](Stage last) { return node.stage <= last; }) - kLastOfRow.begin());
    // A block to which Q, K and V are given reads nothing: the places before them stay empty.
    if (row == 0) columns[row] = static_cast<std::uint32_t>(node.stage);
    plan.nodes.push_back({.stage = node.stage,
                          .operation = formulas::label(node, {.block = block, .layer = layer}, formulas::Detail::Full),
                          .explanation = explanation_of(node),
                          .row = static_cast<std::uint32_t>(row),
                          .column = columns[row]++,
                          .inputs = {node.inputs().begin(), node.inputs().end()},
                          .rows = node.extent.rows,
                          .columns = node.extent.columns});
    // The stream's line goes around that of the branch.
    if (node.operation == attention::LayerOperation::Add) std::ranges::reverse(plan.nodes.back().inputs);
    plan.rows = std::max(plan.rows, plan.nodes.back().row + 1);
    plan.columns = std::max(plan.columns, columns[row]);
  }
  return plan;
}

}  // namespace headlight::app
