#include "app/views/heads/composition_arcs.h"

#include <map>
#include <set>

#include "app/engine/analyses/head_metric_text.h"
#include "app/state/heads_settings.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/head_tools.h"

namespace headlight::app {
namespace {

/// The threshold leaves so many arcs while it is automatic; more than the second aren't drawn.
constexpr std::size_t kAutomaticArcs = 60, kMaxArcs = 1'500;
constexpr float kMinHeadStep = 4.0F, kMaxHeadStep = 26.0F, kLayerGap = 10.0F, kDot = 9.0F, kHeadLine = 34.0F;
constexpr float kArcReach = 5.0F;  // of the pointer
constexpr int kArcPieces = 24;

struct DrawnArc {
  const CompositionGraph::Arc* arc = nullptr;
  float score = 0.0F;
};

/// Strongest first, down to the threshold, which is the first member.
std::pair<float, std::vector<DrawnArc>> arcs_to_draw(const CompositionGraph& graph, attribution::Composition by,
                                                     std::optional<float> least) {
  std::vector<DrawnArc> arcs;
  for (const CompositionGraph::Arc& arc : graph.arcs) {
    const float score = arc.scores[static_cast<std::size_t>(by)];
    if (!std::isnan(score) && score >= least.value_or(0.0F)) arcs.push_back({&arc, score});
  }
  const std::size_t most = least ? kMaxArcs : kAutomaticArcs;
  const auto end = arcs.begin() + static_cast<std::ptrdiff_t>(std::min(most, arcs.size()));
  std::ranges::partial_sort(arcs, end, std::ranges::greater(), &DrawnArc::score);
  arcs.erase(end, arcs.end());
  return {least.value_or(arcs.empty() ? kMinFlowThreshold : arcs.back().score), std::move(arcs)};
}

/// From head to head above the line: the four points of a cubic curve.
std::array<glm::vec2, 4> curve(glm::vec2 from, glm::vec2 to, float highest, float longest) {
  const float high = 4.0F / 3.0F * highest * std::abs(to.x - from.x) / std::max(longest, 1.0F);
  return {from, from - glm::vec2(0.0F, high), to - glm::vec2(0.0F, high), to};
}

float distance_to(const std::array<glm::vec2, 4>& points, glm::vec2 at) {
  float least = 1e9F;
  for (int i = 0; i <= kArcPieces; ++i) {
    const float t = static_cast<float>(i) / kArcPieces, s = 1.0F - t;
    const glm::vec2 on =
        s * s * s * points[0] + 3.0F * s * s * t * points[1] + 3.0F * s * t * t * points[2] + t * t * t * points[3];
    least = std::min(least, std::hypot(on.x - at.x, on.y - at.y));
  }
  return least;
}

std::string arc_text(const DrawnArc& arc) {
  return fmt::format("{} reads {}: {:.4f}", head_name(arc.arc->reader), head_name(arc.arc->writer), arc.score);
}

void draw_threshold(Frame& frame, float shown) {
  State& state = frame.state;
  ImGui::SetNextItemWidth(200.0F);
  ImGui::SliderFloat("##least", &shown, kMinFlowThreshold, kMaxFlowThreshold, "at least %.3f", ImGuiSliderFlags_AlwaysClamp);
  if (ImGui::IsItemEdited()) state.set(kHeadsView.least_arc, shown);
  mark_last_item(frame, "heads.arcs.least", "The smallest score that is drawn as an arc.");
  if (step_by_keys(frame, shown, kMinFlowThreshold, kMaxFlowThreshold, 0.005F)) state.set(kHeadsView.least_arc, shown);
  if (!state[kHeadsView.least_arc]) return;
  ImGui::SameLine();
  if (draw_button(frame, "heads.arcs.automatic", "Automatic", "Draws the 60 strongest."))
    state.set(kHeadsView.least_arc, {});
}

}  // namespace

Table draw_composition_arcs(Frame& frame, const CompositionGraph& graph, attribution::Composition by) {
  const auto [least, arcs] = arcs_to_draw(graph, by, frame.state[kHeadsView.least_arc]);
  draw_threshold(frame, std::clamp(least, kMinFlowThreshold, kMaxFlowThreshold));
  write_note(frame,
             graph.is_complete() ? fmt::format("{} arcs", arcs.size())
                                 : fmt::format("{} arcs; {} of {} heads so far", arcs.size(), graph.known, graph.all),
             {}, "heads.arcs.count");
  ImGui::BeginChild("arcs", {0.0F, 0.0F}, false, ImGuiWindowFlags_HorizontalScrollbar);
  const BlockShapes& shapes = frame.result.shapes;
  std::size_t heads = 0;
  std::set<model::BlockKind> kinds;
  for (const auto& [block, shape] : shapes) {
    heads += shape.heads;
    kinds.insert(block.kind);
  }
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float free = room.x - 12.0F - kLayerGap * static_cast<float>(shapes.size());
  const float step =
      std::clamp(std::floor(free / static_cast<float>(std::max<std::size_t>(heads, 1))), kMinHeadStep, kMaxHeadStep);
  const glm::vec2 origin = cursor_position();
  const float line = origin.y + std::max(room.y - kHeadLine, 80.0F);
  const shell::Theme& theme = frame.ui.theme();
  std::map<HeadRef, glm::vec2> places;
  Selection& selection = frame.state.selection;
  float x = origin.x + 6.0F;
  {
    const shell::ControlGroup group(frame.ui.keyboard(), "heads of arcs");
    for (const auto& entry : shapes) {
      const model::BlockRef block = entry.first;
      put_text(frame.ui.fonts().small, {x, line + kDot + 4.0F}, block == selection.block ? theme.accent : theme.text_dim,
               kinds.size() > 1 ? fmt::format("{} {}", kind_name(frame.result, block.kind), block.layer.value)
                                : fmt::format("L{}", block.layer.value));
      for (std::uint32_t head = 0; head < entry.second.heads; ++head, x += step) {
        const HeadRef ref{.block = block, .head = head};
        places[ref] = {x + step * 0.5F, line};
        const chart::Rect dot{.origin = {x, line}, .size = {std::max(step - 1.0F, 2.0F), kDot}};
        ImGui::SetCursorScreenPos(to_imgui(dot.origin));
        const std::string name = fmt::format("heads.arcs.{}.{}.{}", to_string(block.kind), block.layer.value, head);
        if (click_area(name.c_str(), to_imgui(dot.size))) select_head(selection, {block, head});
        const bool is_selected = block == selection.block && head == selection.head;
        const std::string about = head_name(ref) + ". Click: selects the head.";
        mark_last_item(frame, name, about.c_str());
        if (is_selected) frame.ui.keyboard().prefer_last();
        fill_rect(dot, is_selected ? theme.accent : ImGui::IsItemHovered() ? theme.text : theme.border, 2.0F);
      }
      x += kLayerGap;
    }
  }
  const float highest = line - origin.y - 8.0F;
  float longest = 1.0F;
  for (const DrawnArc& arc : arcs) {
    longest = std::max(longest, std::abs(places[arc.arc->reader].x - places[arc.arc->writer].x));
  }
  const glm::vec2 pointer = pointer_position();
  const DrawnArc* nearest = nullptr;
  float reach = ImGui::IsWindowHovered() && pointer.y < line ? kArcReach : 0.0F;
  Table table = named_columns({"writer", "reader", "score"});
  const HeadRef selected = selection.head_ref();
  const auto points_of = [&](const DrawnArc& arc) {
    return curve(places[arc.arc->writer], places[arc.arc->reader], highest, longest);
  };
  const auto draw = [&](const DrawnArc& arc, shell::Color color, float width) {
    const std::array<glm::vec2, 4> points = points_of(arc);
    ImGui::GetWindowDrawList()->AddBezierCubic(to_imgui(points[0]), to_imgui(points[1]), to_imgui(points[2]),
                                               to_imgui(points[3]), color, width);
  };
  for (auto arc = arcs.rbegin(); arc != arcs.rend(); ++arc) {
    const bool is_own = arc->arc->writer == selected || arc->arc->reader == selected;
    const float share = std::clamp(arc->score / std::max(arcs.front().score, 1e-6F), is_own ? 0.7F : 0.15F, 1.0F);
    const auto alpha = static_cast<std::uint32_t>(share * 255.0F);
    draw(*arc, ((is_own ? theme.accent : theme.text_dim) & 0x00FFFFFFU) | alpha << 24U, is_own ? 2.0F : 1.2F);
    if (reach == 0.0F) continue;
    const float distance = distance_to(points_of(*arc), pointer);
    if (distance > reach) continue;
    reach = std::max(distance, 1e-3F);
    nearest = &*arc;
  }
  for (const DrawnArc& arc : arcs) {
    table.put(head_name(arc.arc->writer), head_name(arc.arc->reader), arc.score);
  }
  if (nearest != nullptr) {
    draw(*nearest, theme.crosshair, 3.0F);
    draw_tooltip(frame, around_pointer(), arc_text(*nearest) + ". Click: selects the later head; Shift: the earlier one.");
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
      const HeadRef& chosen = ImGui::GetIO().KeyShift ? nearest->arc->writer : nearest->arc->reader;
      select_head(selection, chosen);
    }
  }
  frame.mark("heads.arcs.area", {.origin = origin, .size = {x - origin.x, line - origin.y}});
  for (std::size_t i = 0; i < std::min<std::size_t>(arcs.size(), 3); ++i) {
    const std::array<glm::vec2, 4> points = points_of(arcs[i]);
    const glm::vec2 top = 0.125F * (points[0] + points[3]) + 0.375F * (points[1] + points[2]);
    frame.mark(fmt::format("heads.arcs.arc.{}", i), {.origin = top - 1.0F, .size = {2.0F, 2.0F}});
  }
  ImGui::SetCursorScreenPos(to_imgui(origin));
  ImGui::Dummy({x - kLayerGap - origin.x, line + kHeadLine - origin.y - 6.0F});
  ImGui::EndChild();
  return table;
}

}  // namespace headlight::app
