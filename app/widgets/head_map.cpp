#include "app/widgets/head_map.h"

#include "app/cells/stage_text.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"
#include "export/figures.h"

namespace headlight::app {
namespace {

/// The layers of one kind of attention.
exporting::HeatmapFigure panel_of(const HeadMapFigure& shown, std::span<const HeadMapLayer> layers) {
  std::size_t heads = 0;
  for (const HeadMapLayer& layer : layers) heads = std::max(heads, layer.values.size());
  exporting::HeatmapFigure panel;
  panel.map.rows = static_cast<std::uint32_t>(layers.size());
  panel.map.columns = static_cast<std::uint32_t>(heads);
  panel.rows = {.title = "layer", .tokens = {}};
  panel.columns = {.title = "head", .tokens = {}};
  for (const HeadMapLayer& layer : layers) {
    panel.rows.tokens.push_back(fmt::format("{}", layer.block.layer.value));
    for (std::size_t head = 0; head < heads; ++head) {
      const bool is_known = head < layer.values.size() && layer.values[head];
      panel.map.values.push_back(is_known ? static_cast<float>(*layer.values[head]) : 0.0F);
      panel.map.masked.push_back(is_known ? 0 : 1);
    }
  }
  for (std::size_t head = 0; head < heads; ++head) panel.columns.tokens.push_back(fmt::format("{}", head));
  panel.value_title = shown.value_title;
  panel.masked_title = "no value";
  panel.marks_empty_rows = false;
  panel.style = {.color_map = shown.color_map, .scale = view::ScaleKind::Maximum};
  if (shown.is_signed) panel.style = exporting::diverging(panel.style);
  return panel;
}

constexpr float kHeadMapGutter = 30.0F;  // of the layers' numbers
constexpr float kHeader = 18.0F;         // of the heads' numbers
constexpr float kHeadMapGap = 2.0F;
constexpr float kLeastCell = 10.0F, kMostCell = 120.0F, kLowCell = 24.0F, kHighCell = 44.0F;

/// Sizes of the cells.
struct Grid {
  std::size_t layers = 0, heads = 0;
  glm::vec2 cell{0.0F};

  glm::vec2 size() const {
    return {kHeadMapGutter + static_cast<float>(heads) * (cell.x + kHeadMapGap),
            kHeader + static_cast<float>(layers) * (cell.y + kHeadMapGap)};
  }
};

Grid grid_of(std::size_t layers, std::size_t heads, float width) {
  const float edge =
      std::clamp(std::floor((width - kHeadMapGutter) / static_cast<float>(std::max<std::size_t>(heads, 1))) - kHeadMapGap,
                 kLeastCell, kMostCell);
  return {.layers = layers,
          .heads = heads,
          .cell = {edge, std::min(edge, std::clamp(std::floor(0.45F * edge), kLowCell, kHighCell))}};
}

void draw_cell(Frame& frame, const HeadMap& map, const HeadRef& head, std::optional<double> value, double largest,
               const view::Rect& box, HeadMapClick& click) {
  ImGui::SetCursorScreenPos(box.origin);
  const std::string name = fmt::format("{}.{}.{}", map.name, head.block.layer.value, head.head);
  // Ctrl and a click ask where the number is from.
  if (click_area(name.c_str(), box.size) && !ImGui::GetIO().KeyCtrl) click.head = head;
  const Selection& selection = frame.state.selection;
  const bool is_selected = selection.block == head.block && selection.head == head.head;
  // A key has no double click: pressed again, the selected head is opened.
  if (click.head == head && is_selected && frame.ui.keyboard().is_active()) click.is_double = true;
  const bool is_hovered = ImGui::IsItemHovered();
  if (is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) click = {.head = head, .is_double = true};
  if (is_hovered) click.hovered = head;
  if (map.drag) map.drag(head);
  mark_last_item(frame, name, value ? map.about(head, *value).c_str() : "not computed yet");
  if (is_selected) frame.ui.keyboard().prefer_last();
  draw_map_cell(frame, {.box = box,
                        .value = value,
                        .largest = largest,
                        .is_signed = map.is_signed,
                        .is_selected = is_selected,
                        .is_hovered = is_hovered});
}

/// The heads' numbers above, as many as have room, and the layers' at the left.
void draw_labels(const Frame& frame, const HeadMap& map, const Grid& grid, ImVec2 origin) {
  const shell::Color color = frame.ui.theme().text_dim;
  ImFont* font = frame.ui.fonts().small;
  std::uint32_t step = 1;  // heads whose numbers are written
  while (static_cast<float>(step) * (grid.cell.x + kHeadMapGap) < text_width(font, "000") + 2.0F) ++step;
  for (std::uint32_t head = 0; head < grid.heads; head += step) {
    const std::string number = std::to_string(head);
    const float x = origin.x + kHeadMapGutter + static_cast<float>(head) * (grid.cell.x + kHeadMapGap) +
                    (grid.cell.x - text_width(font, number)) * 0.5F;
    put_text(font, {std::round(x), origin.y}, color, number);
  }
  for (std::size_t row = 0; row < map.layers.size(); ++row) {
    if (grid.cell.y < font_size(font) && row % 2 != 0) continue;
    const float y = origin.y + kHeader + static_cast<float>(row) * (grid.cell.y + kHeadMapGap);
    put_text(font, {origin.x, std::round(y + (grid.cell.y - font_size(font)) * 0.5F)}, color,
             fmt::format("L{}", map.layers[row].block.layer.value));
  }
}

}  // namespace

float head_map_height(std::size_t layers, std::size_t heads, float width) { return grid_of(layers, heads, width).size().y; }

HeadMapClick draw_head_map(Frame& frame, const HeadMap& map) {
  std::size_t heads = 0;
  double largest = map.least_end;
  for (const HeadMapLayer& layer : map.layers) {
    heads = std::max(heads, layer.values.size());
    for (const std::optional<double>& value : layer.values) {
      if (value && std::isfinite(*value)) largest = std::max(largest, std::abs(*value));
    }
  }
  HeadMapClick click;
  if (heads == 0) return click;
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const Grid grid = grid_of(map.layers.size(), heads, ImGui::GetContentRegionAvail().x);
  draw_labels(frame, map, grid, origin);
  const shell::ControlGroup group(frame.ui.keyboard(), "head map");
  for (std::size_t row = 0; row < map.layers.size(); ++row) {
    const HeadMapLayer& layer = map.layers[row];
    const float y = origin.y + kHeader + static_cast<float>(row) * (grid.cell.y + kHeadMapGap);
    for (std::uint32_t head = 0; head < layer.values.size(); ++head) {
      const float x = origin.x + kHeadMapGutter + static_cast<float>(head) * (grid.cell.x + kHeadMapGap);
      draw_cell(frame, map, {.block = layer.block, .head = head}, layer.values[head], largest,
                {.origin = {x, y}, .size = grid.cell}, click);
    }
  }
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy(grid.size());
  return click;
}

std::unique_ptr<exporting::Drawing> make_head_map_figure(const HeadMapFigure& shown) {
  exporting::PanelsFigure figure{.title = shown.title, .subtitle = shown.subtitle, .panels = {}, .style = {}};
  std::vector<model::BlockKind> kinds;
  for (auto begin = shown.layers.begin(); begin != shown.layers.end();) {
    const model::BlockKind kind = begin->block.kind;
    const auto end =
        std::find_if(begin, shown.layers.end(), [&](const HeadMapLayer& layer) { return layer.block.kind != kind; });
    exporting::HeatmapFigure panel = panel_of(shown, std::span(begin, end));
    begin = end;
    if (panel.map.columns == 0) continue;
    figure.panels.push_back(std::move(panel));
    kinds.push_back(kind);
  }
  if (figure.panels.empty()) return nullptr;
  for (std::size_t i = 0; kinds.size() > 1 && i < kinds.size(); ++i) figure.panels[i].title = kind_text(kinds[i]);
  return exporting::make_drawing(std::move(figure));
}

}  // namespace headlight::app
