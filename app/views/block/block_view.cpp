#include "app/views/view.h"

#include "app/state/block_settings.h"
#include "app/state/comparison.h"
#include "app/state/map_settings.h"
#include "app/views/block/activation_map.h"
#include "app/views/block/block_parts.h"
#include "app/widgets/arithmetic_strip.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/tile_numbers.h"
#include "export/figures.h"

namespace headlight::app {
namespace {

/// The parts of a layer's figure: its matrices as the engine's answers, kept from the last frame.
struct BlockFigure {
  BlockPlan plan;
  std::vector<std::shared_ptr<const attention::Tile>> tiles;  ///< [node]; null: not known yet
  std::vector<chart::Rgb> colors;                             ///< [node]
  std::vector<float> reaches;                                 ///< [node] shared_reach()
  bool is_compared = false;
  std::string title = {}, subtitle = {};
  chart::ColorMap color_map = chart::ColorMap::Viridis;
  chart::Rgb arrow{};  ///< of the residual stream past a branch
};

constexpr glm::vec2 kDiagram{1'180.0F, 680.0F};  // units

exporting::FigureStyle style_of(const BlockNode& node, chart::ColorMap color_map, bool is_compared, float reach) {
  exporting::FigureStyle style;
  style.scale = chart::ScaleKind::Maximum;
  style.color_map = color_map;
  if (reach > 0.0F) style.limits = {.low = -reach, .high = reach};
  return node.stage == attention::Stage::Weights && !is_compared ? style : exporting::diverging(style);
}

/// Asks for the layer's matrices as they are drawn in a flow of this size.
BlockFigure keep_block(Frame& frame, const HeadSubject& subject, const BlockPlan& plan, glm::vec2 room) {
  BlockFigure kept{.plan = plan, .tiles = {}, .colors = {}, .reaches = {}, .is_compared = compares_matrices(frame)};
  const shell::Theme& theme = shell::theme_of(shell::ThemeKind::Light);  // the paper is white
  const BlockLayout layout = lay_out_block(plan, {.origin = {0.0F, 0.0F}, .size = room});
  for (const PlacedNode& placed : layout.nodes) {
    const BlockNode& node = plan.nodes[placed.node];
    const TileQuery query = node_query(frame, subject, node, placed.cells.size);
    const EngineTile* known = frame.ask(query);
    kept.reaches.push_back(shared_reach(frame, query));
    kept.tiles.push_back(known == nullptr ? nullptr : known->tile);
    kept.colors.push_back(chart::unpack(role_color(node.quantity().role, theme)));
  }
  kept.title = fmt::format("Layer {}, head {}", subject.block.layer.value, subject.geometry.head);
  kept.subtitle = kind_name(frame.result, subject.block.kind) +
                  std::string("; beside each matrix its size and the values at both ends of its colours");
  if (compares_matrices(frame)) {
    kept.subtitle += fmt::format("; {} \u201C{}\u201D", difference_caption(frame.state),
                                 frame.ui.unshaped(frame.state.compare.baseline->name));
  }
  kept.color_map = frame.state[kMapView.color_map];
  kept.arrow = chart::unpack(theme.text_dim);
  return kept;
}

/// Returns the layer's data flow with all of its matrices; null while one of them isn't known.
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
    drawn.style = style_of(node, kept.color_map, kept.is_compared, kept.reaches[placed.node]);
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

/// The block view's state from frame to frame.
struct BlockViewState {
  BlockWalk walk;
  bool shows_all_terms = false;
  bool has_strip = false;                   ///< a cell was pointed at once: the arithmetic keeps its room
  std::string hovered;                      ///< id of the matrix under the pointer in the previous frame
  std::optional<attention::Cell> held;      ///< of the unfolded matrix: its calculation stays when the pointer leaves
  Selection selection;                      ///< that the held cell is of
  std::optional<std::size_t> step_in_view;  ///< of the walk, to which the flow was scrolled
  glm::vec2 room{1'000.0F, 500.0F};         ///< of the whole flow when it was drawn last
  BlockFigure figure;                       ///< of the last frame
};

constexpr float kWalkControlsHeight = 34.0F;

/// Draws "softmax → attention weights": a formula, cut as text where it has no room.
void draw_step(Frame& frame, const std::string& step) {
  const shell::FontSet& fonts = frame.ui.fonts();
  const float room = width_left();
  const glm::vec2 size = measure_math(fonts, fonts.small, step);
  if (size.x > room) {
    write_text(fonts.small, frame.ui.theme().text_dim, fit_text(fonts.small, step, room));
    return;
  }
  const glm::vec2 at = cursor_position();
  const float drop = text_drop(fonts.small, ImGui::GetFrameHeight());
  draw_math(fonts, fonts.small, {at.x, at.y + drop}, frame.ui.theme().text_dim, step);
  ImGui::Dummy(size);
}

/// Draws play, pause, one step on or back, the position, speed and "reduce motion", in one row from the cursor on. `step`:
/// what the walk shows now: "softmax → attention weights".
void draw_walk_controls(Frame& frame, BlockWalk& walk, const std::string& step) {
  const float room = width_left();
  const bool is_wide = room >= 560.0F;
  if (walk.is_playing()) {
    if (draw_button(frame, "block.pause", "Pause", "Stops the walk here (Space).", 56.0F)) walk.pause();
  } else if (draw_button(frame, "block.play", "Play", "Walks through the layer step by step (Space).", 56.0F)) {
    walk.play();
  }
  ImGui::SameLine(0.0F, 4.0F);
  if (draw_arrow_button(frame, "block.back", ImGuiDir_Left, "One step back (comma). Enter unfolds the matrix of a step.")) {
    walk.go(-1);
  }
  ImGui::SameLine(0.0F, 4.0F);
  if (draw_arrow_button(frame, "block.on", ImGuiDir_Right, "One step on (full stop). Enter unfolds the matrix of a step.")) {
    walk.go(1);
  }
  ImGui::SameLine();
  float position = walk.position();
  ImGui::SetNextItemWidth(is_wide ? 140.0F : 80.0F);
  if (ImGui::SliderFloat("##position", &position, 0.0F, static_cast<float>(walk.steps()), "")) walk.scrub(position);
  mark_last_item(frame, "block.position", "Where the walk is; at the right end the whole layer is shown.");
  if (step_by_keys(frame, position, 0.0F, static_cast<float>(walk.steps()), 1.0F, false)) walk.scrub(position);
  ImGui::SameLine();
  choose_motion_speed(frame, "block.speed", "How fast the steps follow each other.", false);
  ImGui::SameLine();
  check_box(frame, "block.reduce motion", is_wide ? "reduce motion" : "still", frame.state.edit(kBlockView.reduces_motion),
            "Steps are shown one after the other, without matrices that move.");
  if (!is_wide || walk.is_at_end()) return;
  ImGui::SameLine();
  draw_step(frame, step);
}

constexpr float kLowStrip = 84.0F;
constexpr float kSmallMap = 60.0F, kSmallCell = 4.0F;  // the least edges of a short text's maps and of their cells
constexpr float kFrame = 2.0F;  // around the flow: a matrix at its edge has its frame outside of its cells
constexpr float kLowRegion = 560.0F, kMinLowWidth = 600.0F;  // lower, and wide enough: the walk is beside the title

/// Is the region too low for a header with a chart and a line of controls below the flow?
bool has_low_header(glm::vec2 region) { return region.y < kLowRegion && region.x >= kMinLowWidth; }

/// Returns the token whose vector the chart of the residual stream shows: the pinned query, else the last token.
std::uint32_t token_of_interest(const Frame& frame) {
  if (frame.state.view.pinned) return frame.state.view.pinned->query;
  const attention::KeyRange queries = query_range(frame);
  return std::max(queries.end, 1U) - 1;
}

/// The place where a matrix's number was computed: the view that shows it, and the map's stage.
struct Destination {
  std::string_view command;
  const char* label;
  const char* tip;
};
std::vector<Destination> destinations(const BlockNode& node) {
  std::vector<Destination> list;
  if (attention::is_map(node.stage)) {
    list.push_back({"view.head", "Head", "Shows this map in the Head view."});
    list.push_back({"view.neuron", "Neuron", "Takes the score of the cell apart in the Neuron view."});
  }
  list.push_back({"view.steps", "Steps", "Shows this matrix among all steps of the head."});
  return list;
}

void go_to(Frame& frame, const BlockNode& node, const Destination& destination) {
  if (attention::is_map(node.stage)) {
    frame.state.view.heatmap_stage = node.stage;
    frame.state.view.weighs_values = false;
  }
  frame.start_command(destination.command);
}

/// Returns "softmax → attention weights".
std::string describe_step(const BlockPlan& plan, std::size_t step) {
  if (step >= plan.nodes.size()) return {};
  const BlockNode& node = plan.nodes[step];
  return node.operation.empty() ? node.quantity().title : fmt::format("{} → {}", node.operation, node.quantity().title);
}

void draw_unfolded_header(Frame& frame, const BlockNode& node) {
  const shell::Theme& theme = frame.ui.theme();
  if (draw_button(frame, "block.fold", "Fold", "Goes back to the whole layer (Esc).")) frame.state.opened_matrix.clear();
  ImGui::SameLine();
  write_label(frame.ui.fonts().strong, color_of_node(node, theme), node.quantity().title);
  ImGui::SameLine();
  write_dim(frame, fmt::format("{} × {}", node.rows, node.columns));
  for (const Destination& destination : destinations(node)) {
    ImGui::SameLine();
    if (draw_button(frame, fmt::format("block.to {}", destination.command.substr(5)), destination.label, destination.tip))
      go_to(frame, node, destination);
  }
}

/// Draws one matrix, large, with its numbers.
void draw_opened(Frame& frame, const HeadSubject& subject, const BlockNode& node, BlockViewState& memory) {
  draw_unfolded_header(frame, node);
  ImGui::BeginChild("unfolded", ImVec2(0.0F, -kLowStrip - ImGui::GetStyle().ItemSpacing.y), false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  const std::optional<attention::Cell> hovered = draw_unfolded(frame, node, memory.held);
  const bool is_map = attention::is_map(node.stage);
  if (hovered && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
    memory.held = memory.held == hovered ? std::nullopt : hovered;
    if (is_map) frame.state.view.pinned = memory.held;
  }
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && is_map) {
    memory.held = frame.state.view.pinned = hovered;
    frame.start_command("view.neuron");
  }
  if (hovered) frame.point_at(*hovered, node.stage);
  ImGui::EndChild();
  const std::optional<attention::Cell> cell = hovered ? hovered : memory.held;
  draw_cell_strip(frame, subject, cell ? &node : nullptr, cell.value_or(attention::Cell{}), kLowStrip,
                  memory.shows_all_terms);
}

/// Draws the flow in a region of this size, which scrolls where maps would be too small, and follows the walk then. `whole`:
/// the height that the flow has, of which a strip of arithmetic may take a part, so that nothing moves when a cell is
/// pointed at.
PointedCell draw_flow(Frame& frame, const HeadSubject& subject, const BlockPlan& plan, glm::vec2 room, float whole,
                      BlockViewState& memory) {
  const float width = room.x - ImGui::GetStyle().ScrollbarSize;
  // A short text's maps may be smaller where all rows are in sight for it.
  const float small = std::clamp(kSmallCell * static_cast<float>(subject.geometry.shape.queries), kSmallMap, kReadableMap);
  const bool fits = whole >= least_block_height(plan, width, small) + 2.0F * kFrame;
  const float least = fits ? 0.0F : least_block_height(plan, width) + 2.0F * kFrame;
  memory.room = {width, std::max(least, whole)};
  begin_bare_region("flow", room);
  const std::optional<std::size_t> step = memory.walk.is_at_end() ? std::nullopt : std::optional(memory.walk.step());
  if (std::exchange(memory.step_in_view, step) != step && step && plan.rows > 1) {
    const float down = static_cast<float>(plan.nodes[*step].row) / static_cast<float>(plan.rows - 1);
    ImGui::SetScrollY(down * ImGui::GetScrollMaxY());
  }
  const glm::vec2 at = cursor_position();
  const chart::Rect area{.origin = at + kFrame, .size = memory.room - 2.0F * kFrame};
  frame.mark("block.flow", area);
  const PointedCell pointed = draw_block_flow(
      frame, subject, {.plan = plan, .layout = lay_out_block(plan, area), .walk = memory.walk, .name = "block"},
      memory.hovered);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy(memory.room);
  ImGui::EndChild();
  return pointed;
}

/// Draws the whole layer. `corner`: of the view, where a low one has the controls of the walk at the right.
void draw_whole(Frame& frame, const HeadSubject& subject, const BlockPlan& plan, bool has_controls_above, glm::vec2 corner,
                BlockViewState& memory) {
  const glm::vec2 at = cursor_position();
  const glm::vec2 room = region_left();
  memory.has_strip |= frame.state.view.pinned.has_value();
  const float strip = !memory.has_strip        ? kEmptyStrip
                      : memory.shows_all_terms ? std::max(room.y * 0.42F, kLowStrip)
                                               : kLowStrip;
  const float spacing = ImGui::GetStyle().ItemSpacing.y;
  const float controls = has_controls_above ? 0.0F : kWalkControlsHeight + spacing;
  const auto height_above = [&](float below) { return std::max(room.y - below - controls - spacing, 40.0F); };
  const float flow_height = height_above(strip), gap = has_controls_above ? 0.0F : 8.0F;
  const PointedCell pointed =
      draw_flow(frame, subject, plan, {room.x, flow_height - gap}, height_above(kEmptyStrip) - gap, memory);
  ImGui::SetCursorScreenPos(has_controls_above ? corner + glm::vec2(room.x - kHeaderTools, 0.0F)
                                               : at + glm::vec2(0.0F, flow_height));
  draw_walk_controls(frame, memory.walk, describe_step(plan, memory.walk.step()));
  memory.has_strip |= pointed.node != nullptr;
  ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + room.y - strip));
  if (!pointed.node && frame.state.view.pinned) {
    return draw_cell_strip(frame, subject, plan.find(attention::Stage::Weights), *frame.state.view.pinned, strip,
                           memory.shows_all_terms);
  }
  draw_cell_strip(frame, subject, pointed.node, pointed.cell, strip, memory.shows_all_terms);
}

/// Moves the walk on by keys and time.
void walk_on(Frame& frame, const BlockPlan& plan, BlockViewState& memory) {
  memory.walk.set_steps(plan.nodes.size());
  using shell::Key;
  if (frame.ui.is_pressed(Key::Space)) memory.walk.is_playing() ? memory.walk.pause() : memory.walk.play();
  if (frame.ui.is_pressed(Key::Comma)) memory.walk.go(-1);
  if (frame.ui.is_pressed(Key::Period)) memory.walk.go(1);
  const BlockNode& shown = plan.nodes[memory.walk.step()];
  if (frame.ui.is_pressed(Key::Enter)) frame.state.opened_matrix = std::string(shown.id());
  memory.walk.advance(ImGui::GetIO().DeltaTime, frame.state[kBlockView.speed]);
}

/// Draws one layer as data flow, from the residual stream through attention and the MLP back to it, with a heatmap of real
/// numbers for each matrix. A click unfolds one; the walk shows step by step how they are made.
void draw_block_panel(Frame& frame, BlockViewState& memory) {
  memory.figure = {};
  if (!selected_shape(frame)) return;
  if (memory.selection != frame.state.selection) memory.held.reset();
  memory.selection = frame.state.selection;
  const std::uint32_t token = token_of_interest(frame);
  const HeadSubject subject = selected_subject(frame);
  const BlockPlan plan = plan_block(subject.block, subject.layer, subject.geometry.shape);
  const glm::vec2 corner = cursor_position();
  const bool is_header_low = has_low_header(region_left());
  draw_block_header(frame, subject, token, is_header_low);
  Analysed told{.result = nullptr, .error = {}, .is_done = true};  // tiles, which are differences already
  if (frame.shows_difference() && !compares_matrices(frame)) {
    told.error = "one of the two runs is a capture, of which only weights are compared";
  }
  draw_comparison(frame, "block", "each matrix", &told);
  if (plan.nodes.empty()) return;
  const BlockNode* opened = plan.find(frame.state.opened_matrix);
  if (opened) {
    draw_opened(frame, subject, *opened, memory);
    memory.figure = keep_block(frame, subject, plan, memory.room);
    return;
  }
  walk_on(frame, plan, memory);
  draw_whole(frame, subject, plan, is_header_low, corner, memory);
  if (!frame.transient.pointed_number) {
    const bool has_mlp = plan.find(attention::Stage::FfnOutput) != nullptr;
    frame.says = fmt::format("Arrows lead from a matrix to what it makes{}.",
                             !subject.geometry.shape.has_residual ? ""
                             : has_mlp ? "; attention and the MLP add their outputs to the residual stream"
                                       : "; attention adds its output to the residual stream, and there is no MLP");
  }
  memory.figure = keep_block(frame, subject, plan, memory.room);
  if (memory.walk.is_playing()) frame.ui.request_redraw(2);  // also in the frame in which Play was pressed
}

}  // namespace

bool fold_block(State& state) {
  if (state[kBlockView.activations]) {
    state.set(kBlockView.activations, false);
    return true;
  }
  if (state.opened_matrix.empty()) return false;
  state.opened_matrix.clear();
  return true;
}

std::unique_ptr<ViewPanel> open_block_view() {
  class BlockView final : public ViewPanel {
    void draw(Frame& frame) override {
      shows_activations_ = frame.state[kBlockView.activations];
      if (shows_activations_) return activations_.draw(frame);
      draw_block_panel(frame, memory_);
    }
    std::unique_ptr<exporting::Drawing> figure() const override {
      return shows_activations_ ? activations_.figure() : make_block_figure(memory_.figure);
    }
    BlockViewState memory_;
    ActivationMap activations_;
    bool shows_activations_ = false;  ///< in the last frame
  };
  return std::make_unique<BlockView>();
}

}  // namespace headlight::app
