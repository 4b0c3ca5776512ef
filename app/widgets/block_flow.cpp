#include "app/widgets/block_flow.h"

#include "app/state/block_settings.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/tile_numbers.h"
#include "chart/number_format.h"

namespace headlight::app {
namespace {

constexpr std::uint32_t kNodePlace = 0xB100, kGhostPlace = 0xB180;
constexpr std::uint32_t kSafeBlockPool = 64;  // llvmpipe ends a shader's loops early
constexpr std::size_t kLongestLetter = 3;     // bytes of a symbol; a longer one is a word
constexpr float kFlight = 0.65F;              // part of a step in which its inputs move; then the result appears

TileQuery compared(const Frame& frame, const TileQuery& query) {
  return compares_matrices(frame) ? frame.compared(query) : query;
}

/// Draws the flow of one frame.
class FlowPainter {
 public:
  FlowPainter(Frame& frame, const HeadSubject& subject, const BlockFlow& flow, std::string& hovered)
      : frame_(frame),
        subject_(subject),
        flow_(flow),
        plan_(flow.plan),
        walk_(flow.walk),
        layout_(flow.layout),
        hovered_(hovered),
        theme_(frame.ui.theme()),
        gap_(layout_.nodes.size() > 1 ? layout_.nodes[1].box.origin.x - layout_.nodes[0].box.end().x : 0.0F),
        has_operations_(has_room_for_operations()),
        has_strong_(has_room_for_strong()) {}

  PointedCell draw() {
    for (const PlacedArrow& arrow : layout_.arrows) draw_arrow(arrow);
    draw_memory();
    const shell::ControlGroup group(frame_.ui.keyboard(), "nodes");
    for (const PlacedNode& placed : layout_.nodes) draw_node(placed);
    if (pointed_.node) {
      outline_parts(sources_of(subject_.geometry, pointed_.node->stage, pointed_.cell.query, pointed_.cell.key), pointed_);
    } else {
      outline_parts(flow_.parts, flow_.marked);
    }
    draw_flight();
    return pointed_;
  }

 private:
  /// A strip whose matrices are too narrow for one of their operations has none.
  bool has_room_for_operations() const {
    const shell::FontSet& fonts = frame_.ui.fonts();
    return !layout_.is_strip || std::ranges::all_of(layout_.nodes, [&](const PlacedNode& placed) {
      return measure_math(fonts, fonts.small, plan_.nodes[placed.node].operation).x <= placed.box.size.x;
    });
  }

  /// One symbol of a strip that has no room in strong type makes all of them lighter.
  bool has_room_for_strong() const {
    const shell::FontSet& fonts = frame_.ui.fonts();
    return !layout_.is_strip || std::ranges::all_of(layout_.nodes, [&](const PlacedNode& placed) {
      const std::string& symbol = plan_.nodes[placed.node].quantity().symbol;
      const float number = text_width(fonts.small, fmt::format("{}", placed.node + 1)) + 4.0F;
      return symbol.size() > kLongestLetter || number + measure_math(fonts, fonts.strong, symbol).x <= placed.box.size.x;
    });
  }

  bool is_being_made(std::size_t node) const { return !walk_.is_at_end() && walk_.step() == node; }

  void draw_arrow(const PlacedArrow& arrow) {
    const bool is_current = is_being_made(arrow.to);
    const bool is_of_hovered = plan_.nodes[arrow.to].id() == hovered_;
    const shell::Color from = color_of_node(plan_.nodes[arrow.from], theme_);
    const shell::Color color = is_current || is_of_hovered ? theme_.accent : arrow.is_residual ? theme_.text_dim : from;
    draw_path(arrow.points, color, is_current || is_of_hovered ? 2.0F : 1.25F);
  }

  static void draw_path(std::span<const glm::vec2> points, shell::Color color, float thickness) {
    for (std::size_t i = 1; i < points.size(); ++i) draw_line(points[i - 1], points[i], color, thickness);
    const glm::vec2 tip = points.back();
    const glm::vec2 before = points[points.size() - 2];
    const glm::vec2 along = before.y == tip.y ? glm::vec2(1.0F, 0.0F) : glm::vec2(0.0F, 1.0F);
    const glm::vec2 across(-along.y, along.x);
    ImGui::GetWindowDrawList()->AddTriangleFilled(tip, tip - along * 6.0F - across * 3.5F,
                                                  tip - along * 6.0F + across * 3.5F, color);
  }

  /// Draws E, which no stage of the layer has, with arrows to the keys and values that are made of it.
  void draw_memory() const {
    const auto find = [&](attention::Stage stage) {
      const auto is_of = [&](const PlacedNode& placed) { return plan_.nodes[placed.node].stage == stage; };
      return std::ranges::find_if(layout_.nodes, is_of);
    };
    const auto queries = find(attention::Stage::Q), keys = find(attention::Stage::K), values = find(attention::Stage::V);
    if (layout_.is_strip || subject_.block.kind != model::BlockKind::Cross) return;
    if (std::ranges::count(std::array{queries, keys, values}, layout_.nodes.end()) > 0) return;
    constexpr glm::vec2 kBox(15.0F, 18.0F);
    const shell::FontSet& fonts = frame_.ui.fonts();
    const float y = std::round(keys->cells.center().y), top = keys->box.origin.y - 9.0F;
    const chart::Rect box{.origin = {keys->cells.origin.x - 25.0F, y - 0.5F * kBox.y}, .size = kBox};
    outline_rect(box, theme_.text_dim, 3.0F);
    put_text(fonts.strong,
             glm::round(box.center() - glm::vec2(text_width(fonts.strong, "E"), font_size(fonts.strong)) * 0.5F),
             theme_.text, "E");
    const float name = text_width(fonts.small, "memory"), name_x = box.origin.x - 5.0F - name;
    if (name_x > queries->cells.end().x + 4.0F)
      put_text(fonts.small, {std::round(name_x), std::round(y - 0.5F * font_size(fonts.small))}, theme_.text_dim, "memory");
    draw_path(std::array{glm::vec2(box.end().x, y), glm::vec2(keys->cells.origin.x - 3.0F, y)}, theme_.text_dim, 1.25F);
    const float x = std::round(box.center().x), x_end = std::round(values->cells.center().x);
    draw_path(std::array{glm::vec2(x, box.origin.y), glm::vec2(x, top), glm::vec2(x_end, top),
                         glm::vec2(x_end, values->box.origin.y - 2.0F)},
              theme_.text_dim, 1.25F);
    frame_.mark(fmt::format("{}.memory", flow_.name), box);
  }

  void draw_captions(const PlacedNode& placed, const BlockNode& node, bool is_shown) const {
    const shell::FontSet& fonts = frame_.ui.fonts();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const chart::Rect& box = placed.box;
    if (!ImGui::IsRectVisible(box.origin, box.end())) return;
    const shell::Color color = is_shown ? color_of_node(node, theme_) : theme_.text_dim;
    // Words may reach into the gap after a narrow box.
    const float most_below = layout_.is_strip ? 18.0F : gap_;
    const float below = std::min(gap_ - 2.0F, most_below), beyond = std::max(below - 4.0F, 0.0F);
    list->PushClipRect(box.origin, box.end() + glm::vec2(below, 0.0F), true);
    float x = box.origin.x;
    if (layout_.is_strip) {
      const std::string number = fmt::format("{}", placed.node + 1);
      put_text(fonts.small, {x, box.origin.y + 3.0F}, theme_.text_dim, number);
      x += text_width(fonts.small, number) + 4.0F;
    }
    const std::string& symbol = node.quantity().symbol;
    const bool is_word = layout_.is_strip && symbol.size() > kLongestLetter;
    const bool is_strong = has_strong_ && (!is_word || x + measure_math(fonts, fonts.strong, symbol).x <= box.end().x);
    const float down = is_strong ? 0.0F : 3.0F;
    // A word is below its matrix where operations aren't, whether or not it had room above.
    const bool is_below = layout_.is_strip && !has_operations_ && symbol.size() > kLongestLetter;
    if (const float most = box.end().x + beyond - x; is_below || measure_math(fonts, fonts.small, symbol).x > most) {
      // The next box has a ground around it where it is unfolded.
      const bool fits = text_width(fonts.small, symbol) <= box.size.x + below - 3.0F;
      if (!has_operations_)
        draw_math(fonts, fonts.small, {box.origin.x, placed.operation_y}, color, fits ? symbol : node.operation);
    } else {
      x += draw_math(fonts, is_strong ? fonts.strong : fonts.small, {x, box.origin.y + down}, color, symbol) + 6.0F;
    }
    const std::string name(node.name());
    const float room = box.end().x - x + (layout_.is_strip ? 0.0F : beyond);
    // A strip's box is too narrow for most of a name; the tooltip has it.
    if (!is_below && (!layout_.is_strip || text_width(fonts.small, name) <= room)) {
      put_text(fonts.small, {x, box.origin.y + 3.0F}, theme_.text, fit_text(fonts.small, name, room));
    }
    if (has_operations_) {
      draw_math(fonts, fonts.small, {box.origin.x, placed.operation_y}, theme_.text_dim, node.operation);
    }
    list->PopClipRect();
  }

  /// Writes the range of the colours after the operation, where there is room left of the arrows between two columns.
  void draw_range(const PlacedNode& placed, const BlockNode& node, const std::string& range) const {
    const shell::FontSet& fonts = frame_.ui.fonts();
    const float left = placed.box.origin.x + measure_math(fonts, fonts.small, node.operation).x + 10.0F;
    if (left + text_width(fonts.small, range) > placed.box.end().x + gap_ * 0.5F - 3.0F) return;
    put_text(fonts.small, {std::round(left), placed.operation_y}, theme_.text_dim, range);
  }

  void draw_node(const PlacedNode& placed) {
    const BlockNode& node = plan_.nodes[placed.node];
    const bool is_shown = walk_.is_done(placed.node) || walk_.is_at_end();
    const bool is_current = is_being_made(placed.node);
    if (flow_.opened == &node) fill_rect(placed.box.origin - 4.0F, placed.box.end() + 4.0F, theme_.active, 4.0F);
    draw_captions(placed, node, is_shown || is_current);
    const chart::Rect& cells = placed.cells;
    float shown = is_shown ? 1.0F : 0.0F;
    if (is_current) shown = frame_.state[kBlockView.reduces_motion] ? 1.0F : appearing();
    fill_rect(cells, theme_.field);
    const chart::Rect clip{.origin = cells.origin, .size = {cells.size.x * shown, cells.size.y}};
    // Asked for in any case, so that it is there when its step comes.
    const std::string range = draw_node_heatmap(
        frame_, subject_, node, cells, shown > 0.0F ? clip : chart::Rect{.origin = cells.origin, .size = {0.01F, 0.01F}},
        kNodePlace + static_cast<std::uint32_t>(placed.node));
    if (!range.empty() && is_shown && !layout_.is_strip) draw_range(placed, node, range);
    const bool is_input = flow_.opened && std::ranges::find(flow_.opened->inputs, node.stage) != flow_.opened->inputs.end();
    outline_rect(cells.origin - 1.0F, cells.end() + 1.0F, is_current || is_input ? theme_.accent : theme_.border, 2.0F,
                 is_current ? 2.0F : 1.0F);
    handle_pointer(placed, node);
  }

  void handle_pointer(const PlacedNode& placed, const BlockNode& node) {
    ImGui::SetCursorScreenPos(placed.box.origin);
    const bool is_clicked = click_area(std::string(node.id()).c_str(), placed.box.size);
    frame_.ui.keyboard().offer_last_item();
    std::string tip(node.explanation.empty() ? "A click unfolds this matrix; Esc folds it." : node.explanation);
    if (layout_.is_strip) {
      tip = fmt::format("{}. {}. {}", node.quantity().title, node.operation, node.explanation);
    }
    const bool is_hovered = ImGui::IsItemHovered();
    const glm::vec2 mouse = pointer_position();
    const bool is_on_cells = is_hovered && placed.cells.contains(mouse) && node.rows > 0 && node.columns > 0;
    // The strip below describes cells in more detail than a tooltip would.
    if (is_on_cells) {
      frame_.mark(fmt::format("{}.{}", flow_.name, node.id()), placed.cells);
    } else {
      mark_last_item(frame_, fmt::format("{}.{}", flow_.name, node.id()), tip.c_str());
    }
    if (is_hovered) {
      hovered_ = node.id();
    } else if (hovered_ == node.id()) {
      hovered_.clear();
      frame_.ui.request_redraw(2);
    }
    if (is_clicked) frame_.state.opened_matrix = std::string(node.id());
    if (!is_on_cells) return;
    const glm::vec2 part = (mouse - placed.cells.origin) / placed.cells.size;
    const auto index = [](float at, std::uint32_t count) {
      return std::min(static_cast<std::uint32_t>(at * static_cast<float>(count)), std::max(count, 1U) - 1);
    };
    pointed_.node = &node;
    pointed_.cell = {.query = index(part.y, node.rows), .key = index(part.x, node.columns)};
    frame_.point_at(pointed_.cell, node.stage);
  }

  void outline(const PlacedNode& placed, const MatrixPart& part, shell::Color color) const {
    const BlockNode& node = plan_.nodes[placed.node];
    if (part.row >= node.rows || part.column >= node.columns) return;
    const glm::vec2 cell = placed.cells.size / glm::vec2(node.columns, node.rows);
    const glm::vec2 low = placed.cells.origin + glm::vec2(part.column, part.row) * cell;
    const glm::vec2 size = glm::max(glm::vec2(part.columns, part.rows) * cell, glm::vec2(2.0F));
    outline_rect(low - 1.0F, low + size + 1.0F, theme_.background, 0.0F, 3.5F);
    outline_rect(low - 1.0F, low + size + 1.0F, color, 0.0F, 1.5F);
  }

  /// Outlines what a cell is made of, and the cell itself.
  void outline_parts(std::span<const MatrixPart> parts, const std::optional<PointedCell>& of) const {
    for (const PlacedNode& placed : layout_.nodes) {
      const BlockNode& node = plan_.nodes[placed.node];
      if (of && of->node == &node) {
        outline(placed, {.row = of->cell.query, .rows = 1, .column = of->cell.key, .columns = 1}, theme_.text);
      }
      for (const MatrixPart& part : parts) {
        if (part.stage == StepMatrix(node.stage)) outline(placed, part, theme_.accent);
      }
    }
  }

  float appearing() const { return ease((walk_.part() - kFlight) / (1.0F - kFlight)); }

  /// Draws the inputs of the current step on their way to its result. Several arrive side by side, so that each is seen to
  /// the end.
  void draw_flight() {
    if (walk_.is_at_end() || frame_.state[kBlockView.reduces_motion]) return;
    const std::size_t step = walk_.step();
    const float part = ease(walk_.part() / kFlight);
    if (step >= layout_.nodes.size() || part >= 1.0F || part <= 0.0F) return;
    std::vector<std::size_t> inputs;
    for (const PlacedArrow& arrow : layout_.arrows) {
      if (arrow.to == step) inputs.push_back(arrow.from);
    }
    const chart::Rect& all = layout_.nodes[step].cells;
    const float width = all.size.x / static_cast<float>(std::max<std::size_t>(inputs.size(), 1));
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
      const BlockNode& node = plan_.nodes[inputs[i]];
      const chart::Rect& from = layout_.nodes[inputs[i]].cells;
      const chart::Rect to{.origin = all.origin + glm::vec2(static_cast<float>(i) * width, 0.0F),
                           .size = {width, all.size.y}};
      const chart::Rect area{.origin = from.origin + (to.origin - from.origin) * part,
                             .size = from.size + (to.size - from.size) * part};
      draw_node_heatmap(frame_, subject_, node, area, area, kGhostPlace + i);
      outline_rect(area, color_of_node(node, theme_), 2.0F, 2.0F);
    }
  }

  Frame& frame_;
  const HeadSubject& subject_;
  const BlockFlow& flow_;
  const BlockPlan& plan_;
  const BlockWalk& walk_;
  const BlockLayout& layout_;
  std::string& hovered_;
  const shell::Theme& theme_;
  float gap_ = 0.0F;  ///< between the first two boxes
  bool has_operations_ = true, has_strong_ = true;
  PointedCell pointed_;
};

}  // namespace

shell::Color color_of_node(const BlockNode& node, const shell::Theme& theme) {
  return role_color(node.quantity().role, theme);
}

PointedCell draw_block_flow(Frame& frame, const HeadSubject& subject, const BlockFlow& flow, std::string& hovered) {
  return FlowPainter(frame, subject, flow, hovered).draw();
}

bool compares_matrices(const Frame& frame) { return shows_difference_of(frame, attention::Stage::Scores); }

TileQuery node_cells(const Frame& frame, const BlockNode& node, const chart::Region& region) {
  return compared(frame, tile_of(frame, node.stage, region));
}

TileQuery node_query(const Frame& frame, const HeadSubject& subject, const BlockNode& node, glm::vec2 area) {
  if (node.stage == attention::Stage::Weights) {
    const float edge = std::max(area.x, area.y);
    TileQuery query = compared(frame, thumbnail_request(frame, subject.block, frame.state.selection.head, edge));
    query.sampled_rows = 0;  // one map is exact at any length
    const inference::BlockShape& shape = frame.result.shapes.at(subject.block);
    query.row = query.column = 0;
    query.rows = shape.queries;  // with padding, as the matrices beside it have
    query.columns = shape.keys;
    return query;
  }
  TileQuery query = node_cells(frame, node, {.rows = node.rows, .columns = node.columns});
  const glm::uvec2 pixels(glm::max(area * frame.ui.scale(), glm::vec2(1.0F)));
  pool_sides(query, pixels);  // vectors of a long text are few columns beside many tokens
  const std::uint32_t columns = std::min(query.column_pool(), kSafeBlockPool);
  query.pool = std::min(query.pool, kSafeBlockPool);
  query.pooled_columns = columns == query.pool ? 0 : columns;  // a square's tile is the one that other views ask for
  return query;
}

std::string draw_node_heatmap(Frame& frame, const HeadSubject& subject, const BlockNode& node, const chart::Rect& area,
                              const chart::Rect& clip, std::uint32_t place) {
  const shell::Theme& theme = frame.ui.theme();
  const ShownTile shown = find_tile(frame, node_query(frame, subject, node, area.size));
  const bool is_hidden = frame.transient.aim.hides(node.stage);
  if (is_hidden || !shown.tile || shown.tile->values.empty()) {
    fill_rect(area, theme.missing);
    return {};
  }
  shell::HeatmapImage image = heatmap_of(shown, place, theme);
  color_matrix(frame, image, shown);
  image.area = area;
  image.clip = clip;
  image.grid_from = 1e6F;
  draw_heatmap(frame, image);
  // Means of cells have a narrower range than the matrix, which depends on the size of the picture.
  const bool is_of_means = node.stage != attention::Stage::Weights && !shown.query.is_exact();
  if (is_of_means && shared_reach(frame, shown.query) <= 0.0F) return {};
  const std::string high = chart::format_number(image.high, 3);
  if (image.low == -image.high) return "\u00B1" + high;
  const bool has_larger = shown.facts->range.high > 1.005F * image.high;  // a row that sees a single key
  return (has_larger ? "0 \u2026 \u2265 " : "0 \u2026 ") + high;
}

}  // namespace headlight::app
