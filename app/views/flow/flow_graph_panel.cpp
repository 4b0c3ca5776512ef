#include "app/views/flow/flow_graph_panel.h"

#include <cmath>

#include <glm/geometric.hpp>

#include "app/state/comparison.h"
#include "app/widgets/controls.h"
#include "app/widgets/position_header.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/size_text.h"
#include "chart/color.h"

namespace headlight::app {
namespace {

constexpr float kGutter = 64.0F;  // of the layers' names
constexpr float kTop = 26.0F;     // of what the node at the top predicts
constexpr float kApart = 8.0F;    // of a token's attention to itself from its residual stream
constexpr float kMinColumn = 26.0F, kMaxColumn = 320.0F;
constexpr float kMinRow = 24.0F, kMaxRow = 320.0F;
constexpr float kWrittenColumn = 52.0F;  // narrower: names are turned
constexpr float kTurnedNames = 84.0F, kNames = 26.0F;
constexpr float kRadius = 4.5F;
constexpr float kReach = 5.0F;  // of the pointer, from a line

/// Pixels of the graph.
struct Geometry {
  glm::vec2 origin{0.0F};
  float column = 0.0F, row = 0.0F;
  std::uint32_t layers = 0;

  float y_of(std::uint32_t layer) const { return origin.y + kTop + static_cast<float>(layers - layer) * row; }
  glm::vec2 at(const FlowLayout& layout, const FlowNode& node) const {
    return {origin.x + kGutter + (static_cast<float>(layout.columns.at(node.token)) + 0.5F) * column, y_of(node.layer)};
  }
  glm::vec2 begin(const FlowLayout& layout, const attribution::FlowEdge& edge) const {
    return at(layout, {.layer = edge.layer, .token = edge.from}) + aside(edge);
  }
  glm::vec2 end(const FlowLayout& layout, const attribution::FlowEdge& edge) const {
    return at(layout, {.layer = edge.layer + 1, .token = edge.to}) + aside(edge);
  }
  static glm::vec2 aside(const attribution::FlowEdge& edge) {
    return {edge.from == edge.to && !edge.is_residual ? kApart : 0.0F, 0.0F};
  }
};

float distance(glm::vec2 point, glm::vec2 from, glm::vec2 to) {
  const glm::vec2 along = to - from;
  const float length = glm::dot(along, along);
  const float share = length > 0.0F ? std::clamp(glm::dot(point - from, along) / length, 0.0F, 1.0F) : 0.0F;
  return glm::distance(point, from + along * share);
}

/// The strongest colours are changes of 4 points at least: a graph in which hardly anything changed stays pale.
constexpr double kMinReach = 0.04;

/// Returns the colour of a change: blue less, red more, grey where nothing changed.
shell::Color change_color(const Frame& frame, double change, double reach) {
  if (change == 0.0) return frame.ui.theme().text_dim;
  // The middle of the scale is nearly the ground of a light window: what changed begins away from it.
  const double strength = 0.25 + 0.75 * std::clamp(std::abs(change) / reach, 0.0, 1.0);
  const double at = 0.5 + std::copysign(0.35 * strength, change);  // the ends are nearly a dark window's ground
  return chart::table(chart::ColorMap::BlueRed)[static_cast<std::size_t>(std::lround(at * 255.0))] | 0xFF000000U;
}

shell::Color color_of(const Frame& frame, const attribution::FlowEdge& edge) {
  if (edge.is_residual) return frame.ui.theme().text_dim;
  const std::optional<std::uint32_t> head = main_head(edge);
  if (!head) return frame.ui.theme().output;
  const shell::Theme& theme = frame.ui.theme();
  return shell::mark_on(theme.background, chart::pack(chart::head_color(*head)), theme.text);
}

/// The look of an edge.
struct EdgeLook {
  shell::Color color = 0;
  float share = 0.0F;  ///< 0 … 1: the line's width
  bool is_dashed = false;
};

/// Returns an edge's look. Its width between two runs is the larger share; an edge that the present run doesn't have is
/// dashed.
EdgeLook look_of(const Frame& frame, const FlowLayout& layout, const attribution::FlowEdge& edge, double reach) {
  const std::optional<double> before = layout.baseline_share(edge);
  const auto share = static_cast<float>(std::clamp(std::max(edge.share, before.value_or(0.0)), 0.0, 1.0));
  const auto alpha = static_cast<std::uint32_t>(190.0F + 65.0F * std::sqrt(share));  // paler, hues are alike
  const auto seen = [&](shell::Color color) {
    return shell::mark_on(frame.ui.theme().background, color, frame.ui.theme().text);
  };
  if (!before) return {.color = seen(shell::with_alpha(color_of(frame, edge), alpha)), .share = share};
  return {.color = seen(shell::with_alpha(change_color(frame, edge.share - *before, reach), std::max(alpha, 190U))),
          .share = share,
          .is_dashed = edge.share == 0.0};
}

float line_width(float share) { return 2.0F + 4.0F * share; }

void draw_edge(const EdgeLook& look, glm::vec2 from, glm::vec2 to) {
  constexpr float kDash = 6.0F;
  const shell::Color color = look.color;
  const float width = line_width(look.share);
  if (!look.is_dashed) return draw_line(from, to, color, width);
  const float length = glm::distance(from, to);
  for (float at = 0.0F; at < length; at += 2.0F * kDash) {
    draw_line(glm::mix(from, to, at / length), glm::mix(from, to, std::min(at + kDash, length) / length), color, width);
  }
}

/// Returns the part of the region that is in sight: labels are whole inside of it.
chart::Rect in_sight() {
  const ImDrawList* list = ImGui::GetWindowDrawList();
  const glm::vec2 low = to_glm(list->GetClipRectMin());
  return {.origin = low, .size = to_glm(list->GetClipRectMax()) - low};
}

/// Does another edge of the layer cross the box: one that goes straight up, or is at least as strong?
bool is_crossed(const FlowLayout& layout, const Geometry& geometry, const attribution::FlowEdge& edge,
                const chart::Rect& box) {
  return std::ranges::any_of(layout.edges, [&](const attribution::FlowEdge& other) {
    if (other.layer != edge.layer || &other == &edge) return false;
    if (other.share < edge.share && other.from != other.to) return false;
    const glm::vec2 from = geometry.begin(layout, other), to = geometry.end(layout, other);
    const auto x_at = [&](float y) { return glm::mix(to.x, from.x, (y - to.y) / (from.y - to.y)); };
    const auto [left, right] = std::minmax({x_at(box.origin.y), x_at(box.end().y)});
    return right > box.origin.x && left < box.end().x;
  });
}

/// An edge's label, and whether it is written even where it lies over other edges.
struct EdgeLabel {
  const attribution::FlowEdge* edge = nullptr;
  std::string text;
  bool is_needed = false;
};

/// Writes at edges, the first ones before others, where there is room beside the labels before and other edges.
void draw_labels(Frame& frame, const FlowLayout& layout, const Geometry& geometry, const std::vector<EdgeLabel>& labels,
                 const char* name) {
  constexpr std::array kPlaces = {0.6F, 0.4F, 0.75F, 0.25F};  // on the way up
  ImFont* font = frame.ui.fonts().small;
  const chart::Rect seen = in_sight();
  std::vector<chart::Rect> taken;
  for (const auto& [edge, text, is_needed] : labels) {
    const glm::vec2 from = geometry.begin(layout, *edge), to = geometry.end(layout, *edge);
    const glm::vec2 size(text_width(font, text) + 4.0F, font_size(font) + 2.0F);
    std::optional<chart::Rect> box, first;
    for (std::size_t i = 0; i < kPlaces.size() && !box; ++i) {
      const glm::vec2 middle = from + (to - from) * kPlaces[i];
      if (middle.x < seen.origin.x || middle.x > seen.end().x) continue;
      const bool goes_up = edge->from == edge->to;  // the label is beside it
      float left = goes_up ? middle.x + 4.0F : middle.x - size.x * 0.5F;
      if (left + size.x > seen.end().x) left = goes_up ? middle.x - 4.0F - size.x : seen.end().x - size.x;
      left = std::max(left, seen.origin.x);
      const chart::Rect place{.origin = glm::round(glm::vec2(left, middle.y - size.y * 0.5F)), .size = size};
      const auto is_on = [&](const chart::Rect& other) { return !chart::intersection(place, other).is_empty(); };
      if (std::ranges::none_of(taken, is_on) && !is_crossed(layout, geometry, *edge, place)) box = place;
      if (!first) first = place;
    }
    if (!box && is_needed) box = first;
    if (!box) continue;
    taken.push_back(*box);
    fill_rect(*box, shell::with_alpha(frame.ui.theme().background, 210), 3.0F);
    put_text(font, box->origin + glm::vec2(2.0F, 1.0F),
             layout.baseline || is_needed ? frame.ui.theme().text : color_of(frame, *edge), text);
    if (frame.items) frame.mark(fmt::format("{}.{}.{}.{}", name, edge->layer, edge->from, edge->to), *box);
  }
}

/// Returns "H6 3.52 %", "H6 & 3 more 3.52 %" of four heads, "3.52 %" where heads were averaged.
std::string share_text(const attribution::FlowEdge& edge) {
  const std::string share = percent_text(edge.share);
  if (edge.heads.empty()) return share;
  return fmt::format("H{}{} {}", edge.heads.front().head,
                     edge.heads.size() > 1 ? fmt::format(" & {} more", edge.heads.size() - 1) : "", share);
}

/// Writes at the edges that changed most by how many points they did, or at the strongest ones which heads they are of, and
/// at the one that is told of.
void draw_edge_labels(Frame& frame, const FlowLayout& layout, const Geometry& geometry, std::optional<std::size_t> told) {
  constexpr double kMinNamed = 0.005;
  constexpr float kNarrow = 900.0F;
  const std::size_t most = in_sight().size.x < kNarrow ? 8 : 24;
  const bool is_compared = layout.baseline.has_value();
  std::vector<std::pair<double, const attribution::FlowEdge*>> named;
  for (const attribution::FlowEdge& edge : layout.edges) {
    const double number = is_compared ? edge.share - layout.baseline_share(edge).value_or(edge.share) : edge.share;
    const bool is_told = told && &edge == &layout.edges[*told];
    if (is_told) named.emplace_back(HUGE_VAL, &edge);
    if (!is_told && std::abs(number) >= kMinNamed && (is_compared || !edge.is_residual)) named.emplace_back(number, &edge);
  }
  std::ranges::stable_sort(named, std::greater(), [](const auto& one) { return std::abs(one.first); });
  named.resize(std::min(named.size(), most));
  const std::size_t needed = is_compared ? 2 : 1;  // the edge that is told of, and the one that changed most
  std::vector<EdgeLabel> labels;
  for (const auto& [rank, edge] : named) {
    const double change = edge->share - layout.baseline_share(*edge).value_or(edge->share);
    labels.push_back({edge, is_compared ? change_points(change) : share_text(*edge), labels.size() < needed});
  }
  draw_labels(frame, layout, geometry, labels, is_compared ? "flow.change" : "flow.head");
}

/// Writes above the node at the top what is predicted there.
void draw_prediction(Frame& frame, const FlowLayout& layout, const Geometry& geometry, std::uint32_t batch) {
  if (!frame.result.has_logits) return;
  const Prediction* prediction = frame.ask(PredictionQuery{
      .batch = batch, .token = layout.start, .layer = predicting_layers(*frame.result.network), .keeps_logits = true});
  if (!prediction || prediction->candidates.empty()) return;
  const inference::Candidate& first = prediction->candidates.front();
  const std::string text =
      fmt::format("\u201C{}\u201D {}", candidate_label(frame.result, first.id), percent_text(first.probability));
  frame.ui.ensure_glyphs(text);
  ImFont* font = frame.ui.fonts().strong;
  const glm::vec2 node = geometry.at(layout, {.layer = layout.layers, .token = layout.start});
  const chart::Rect seen = in_sight();
  if (node.x < seen.origin.x || node.x > seen.end().x) return;
  const glm::vec2 size(text_width(font, text), font_size(font));
  const float left = std::max(std::min(node.x - size.x * 0.5F, seen.end().x - size.x), seen.origin.x);
  const glm::vec2 at(left, node.y - kRadius - 3.0F - size.y);
  put_text(font, glm::round(at), frame.ui.theme().text, text);
  frame.mark("flow.prediction", {.origin = at, .size = size});
}

/// Names stay at the left edge where the graph is scrolled.
void draw_layer_names(Frame& frame, const Geometry& geometry, float height) {
  ImFont* font = frame.ui.fonts().small;
  const float left = std::max(geometry.origin.x, in_sight().origin.x);
  if (left > geometry.origin.x)
    fill_rect({{left, geometry.origin.y}, {kGutter - 8.0F, height}}, frame.ui.theme().background, 0.0F);
  const auto step = static_cast<std::uint32_t>(std::ceil((font_size(font) + 2.0F) / geometry.row));
  for (std::uint32_t layer = 0; layer <= geometry.layers; ++layer) {
    const float y = geometry.y_of(layer);
    if (layer % step != 0 && layer != geometry.layers) continue;
    put_text(font, {left, std::round(y - font_size(font) * 0.5F)}, frame.ui.theme().text_dim,
             layer == 0 ? "input" : fmt::format("layer {}", frame.result.network->layer_number(layer - 1)));
  }
}

void draw_token_names(Frame& frame, const FlowLayout& layout, const Geometry& geometry, std::uint32_t batch) {
  ImFont* font = frame.ui.fonts().small;
  const float y = geometry.y_of(0) + 12.0F;
  for (const auto& [token, name] : token_names(frame, layout, batch)) {
    frame.ui.ensure_glyphs(name);
    const float x = geometry.at(layout, {.layer = 0, .token = token}).x;
    if (geometry.column >= kWrittenColumn) {
      const std::string fitted = fit_text(font, name, geometry.column - 6.0F);
      put_text(font, {std::round(x - text_width(font, fitted) * 0.5F), y}, frame.ui.theme().text, fitted);
    } else {
      const std::string fitted = fit_text(font, name, kTurnedNames - 8.0F);
      draw_turned_text(font, {x, y + text_width(font, fitted)}, {0.0F, -1.0F}, frame.ui.theme().text, fitted);
    }
  }
}

/// Returns the edge nearest to the pointer, if it is near enough; of equal ones the strongest, which is drawn last.
std::optional<std::size_t> edge_under(const FlowLayout& layout, const Geometry& geometry, glm::vec2 pointer) {
  std::optional<std::size_t> nearest;
  float least = kReach;
  for (std::size_t i = 0; i < layout.edges.size(); ++i) {
    const attribution::FlowEdge& edge = layout.edges[i];
    const float away = distance(pointer, geometry.begin(layout, edge), geometry.end(layout, edge));
    if (away > least) continue;
    least = away;
    nearest = i;
  }
  return nearest;
}

/// Scrolls the region so far that the point is in it.
void reveal(glm::vec2 point) {
  constexpr float kMargin = 40.0F;
  const ImVec2 low = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  const float left = point.x - low.x - kMargin, right = point.x - low.x + kMargin - size.x;
  const float top = point.y - low.y - kMargin, bottom = point.y - low.y + kMargin - size.y;
  if (left < 0.0F) ImGui::SetScrollX(std::max(ImGui::GetScrollX() + left, 0.0F));
  if (right > 0.0F) ImGui::SetScrollX(ImGui::GetScrollX() + right);
  if (top < 0.0F) ImGui::SetScrollY(std::max(ImGui::GetScrollY() + top, 0.0F));
  if (bottom > 0.0F) ImGui::SetScrollY(ImGui::GetScrollY() + bottom);
}

}  // namespace

void draw_flow_legend(Frame& frame, const FlowLayout& layout) {
  constexpr float kSwatch = 16.0F, kPad = 5.0F, kGap = 14.0F;
  const char* residual = assumes_residual(frame) ? "residual stream (assumed)" : "residual stream";
  std::map<std::string, shell::Color> entries;
  std::map<std::uint32_t, shell::Color> heads;
  for (const attribution::FlowEdge& edge : layout.edges) {
    const std::optional<std::uint32_t> head = main_head(edge);
    if (!edge.is_residual && head) {
      heads.emplace(*head, color_of(frame, edge));
    } else {
      entries.emplace(edge.is_residual     ? residual
                      : edge.heads.empty() ? "attention"
                                           : "several heads",
                      color_of(frame, edge));
    }
  }
  std::vector<std::pair<std::string, shell::Color>> shown(entries.begin(), entries.end());
  for (const auto& [head, color] : heads) shown.emplace_back(fmt::format("head {}", head), color);
  const TextStyleScope ink(frame);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto& [text, color] = shown[i];
    const float width = kSwatch + kPad + ImGui::CalcTextSize(text.c_str()).x;
    if (i > 0) continue_line(width, kGap);
    const glm::vec2 at = ImGui::GetCursorScreenPos();
    const float middle = std::round(at.y + ImGui::GetTextLineHeight() * 0.5F);
    ImGui::Dummy({width, ImGui::GetTextLineHeight()});
    draw_line({at.x, middle}, {at.x + kSwatch, middle}, color, 3.0F);
    put_text(frame.ui.fonts().small, {at.x + kSwatch + kPad, at.y}, frame.ui.theme().text_dim, text);
    if (frame.items) frame.mark("flow.legend." + text, last_item_rect());
  }
}

FlowEvents draw_flow_graph(Frame& frame, const FlowLayout& layout, std::uint32_t batch,
                           const std::optional<FlowNode>& chosen, const std::optional<FlowNode>& revealed) {
  FlowEvents events;
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const auto columns = static_cast<float>(std::max<std::size_t>(layout.columns.size(), 1));
  const auto rows = static_cast<float>(std::max(layout.layers, 1U));
  Geometry geometry{.origin = cursor_position(), .layers = layout.layers};
  geometry.column = std::clamp(std::floor((room.x - kGutter) / columns), kMinColumn, kMaxColumn);
  const float names = geometry.column >= kWrittenColumn ? kNames : kTurnedNames;
  geometry.row = std::clamp(std::floor((room.y - kTop - names - 12.0F) / rows), kMinRow, kMaxRow);
  const glm::vec2 size{kGutter + columns * geometry.column, kTop + rows * geometry.row + 12.0F + names};
  geometry.origin.x += std::floor(std::max(room.x - size.x, 0.0F) * 0.5F);
  ImGui::SetCursorScreenPos(geometry.origin);
  click_area("graph", size);
  frame.mark("flow.graph", {.origin = geometry.origin, .size = size});
  const bool is_hovered = ImGui::IsItemHovered();
  const bool is_clicked = ImGui::IsItemClicked() && !ImGui::GetIO().KeyCtrl;  // with Ctrl it asks where a number is from
  for (std::uint32_t layer = 0; layer <= geometry.layers; ++layer) {
    const float y = geometry.y_of(layer);
    draw_line({geometry.origin.x + kGutter, y}, {geometry.origin.x + size.x, y}, frame.ui.theme().grid);
  }
  const glm::vec2 pointer = pointer_position();
  for (const FlowNode& node : layout.nodes) {
    if (!is_hovered) break;
    const glm::vec2 off = pointer - geometry.at(layout, node);
    if (std::abs(off.x) <= kRadius + 2.0F && std::abs(off.y) <= kRadius + 2.0F) events.hovered_node = node;
  }
  if (is_hovered && !events.hovered_node) events.hovered_edge = edge_under(layout, geometry, pointer);
  if (is_clicked) events.clicked_edge = events.hovered_edge;
  const FlowNode top{.layer = layout.layers, .token = layout.start};
  events.told_edge = events.hovered_edge
                         ? events.hovered_edge
                         : told_edge_into(layout, events.hovered_node ? *events.hovered_node : chosen.value_or(top));
  if (revealed) reveal(geometry.at(layout, *revealed));
  const double reach = std::max(layout.largest_change(), kMinReach);
  for (std::size_t i = 0; i < layout.edges.size(); ++i) {
    const attribution::FlowEdge& edge = layout.edges[i];
    const glm::vec2 from = geometry.begin(layout, edge), to = geometry.end(layout, edge);
    const EdgeLook look = look_of(frame, layout, edge, reach);
    if (events.told_edge == i) draw_line(from, to, frame.ui.theme().text, line_width(look.share) + 3.0F);
    draw_edge(look, from, to);
    if (frame.items == nullptr || edge.is_residual) continue;
    frame.mark(fmt::format("flow.edge.{}.{}.{}", edge.layer, edge.from, edge.to),
               {.origin = (from + to) * 0.5F - 1.0F, .size = glm::vec2(2.0F)});
  }
  for (const FlowNode& node : layout.nodes) {
    const glm::vec2 at = geometry.at(layout, node);
    const bool is_pointed = events.hovered_node == node;
    if (chosen == node) {
      ImGui::GetWindowDrawList()->AddCircle(at, kRadius + 4.0F, frame.ui.theme().crosshair, 0, 2.0F);
      frame.mark("flow.chosen", {.origin = at - 2.0F, .size = glm::vec2(4.0F)});
    }
    const shell::Color color = is_pointed ? frame.ui.theme().crosshair : frame.ui.theme().accent;
    const float radius = kRadius + (is_pointed ? 1.5F : 0.0F);
    if (layout.is_present(node)) {
      ImGui::GetWindowDrawList()->AddCircleFilled(at, radius, color);
    } else {
      ImGui::GetWindowDrawList()->AddCircle(at, radius, color, 0, 1.5F);
    }
    if (frame.items) {
      frame.mark(fmt::format("flow.node.{}.{}", node.layer, node.token), {.origin = at - 2.0F, .size = glm::vec2(4.0F)});
    }
  }
  draw_edge_labels(frame, layout, geometry, events.told_edge);
  draw_prediction(frame, layout, geometry, batch);
  draw_token_names(frame, layout, geometry, batch);
  draw_layer_names(frame, geometry, size.y);
  if (events.hovered_edge) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  return events;
}

}  // namespace headlight::app
