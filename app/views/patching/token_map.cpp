#include "app/views/patching/token_map.h"

#include "app/shell/click_area.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kRow = 20.0F;
constexpr float kTokenMapGap = 2.0F;
constexpr float kHeader = 18.0F;
constexpr float kLeastCell = 5.0F, kMostCell = 52.0F;
constexpr float kLabelShare = 0.3F, kLeastLabel = 60.0F, kMostLabel = 150.0F;  // of the width; UI units

/// Widths, UI units.
struct Columns {
  float label = 0.0F, cell = 0.0F;

  float x(std::size_t column) const { return label + static_cast<float>(column) * (cell + kTokenMapGap); }
};

Columns columns_of(const TokenMap& map, float width) {
  Columns columns{.label = std::floor(std::clamp(width * kLabelShare, kLeastLabel, kMostLabel))};
  const float room = (width - columns.label) / static_cast<float>(std::max<std::size_t>(map.layers.size(), 1));
  columns.cell = std::clamp(std::floor(room) - kTokenMapGap, kLeastCell, kMostCell);
  return columns;
}

/// As many of the layers' numbers as have room.
void draw_header(const Frame& frame, const TokenMap& map, const Columns& columns) {
  ImFont* font = frame.ui.fonts().small;
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  std::size_t step = 1;
  while (static_cast<float>(step) * (columns.cell + kTokenMapGap) < text_width(font, "L00") + 4.0F) ++step;
  for (std::size_t column = 0; column < map.layers.size(); column += step) {
    const std::string text = fmt::format("L{}", map.layers[column]);
    const float x = origin.x + columns.x(column) + (columns.cell - text_width(font, text)) * 0.5F;
    ImGui::GetWindowDrawList()->AddText(font, font_size(font), {std::round(x), origin.y}, frame.ui.theme().text_dim,
                                        text.c_str());
  }
  ImGui::Dummy({1.0F, kHeader});
}

void draw_label(Frame& frame, const TokenMap& map, std::size_t token, const Columns& columns, ImVec2 origin) {
  ImFont* font = frame.ui.fonts().small;
  const std::string label = map.label(token);
  frame.ui.ensure_glyphs(label);
  const std::string fitted = fit_text(font, label, columns.label - 8.0F);
  const float y = std::round(origin.y + (kRow - kTokenMapGap - font_size(font)) * 0.5F);
  const bool is_selected = map.token == token;
  ImGui::GetWindowDrawList()->AddText(font, font_size(font), {origin.x + columns.label - 8.0F - text_width(font, fitted), y},
                                      is_selected ? frame.ui.theme().accent : frame.ui.theme().text, fitted.c_str());
}

void draw_cell(Frame& frame, const TokenMap& map, std::size_t column, std::size_t token, const view::Rect& box,
               TokenMapClick& click) {
  ImGui::SetCursorScreenPos(to_imgui(box.origin));
  const std::string name = fmt::format("{}.{}.{}", map.name, column, token);
  // Ctrl and a click ask where the number is from.
  if (click_area(name.c_str(), to_imgui(box.size)) && !ImGui::GetIO().KeyCtrl) {
    click.is_any = true;
    click.column = column;
    click.token = token;
  }
  const bool is_hovered = ImGui::IsItemHovered();
  if (is_hovered) click.hovered = {column, token};
  if (is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    click = {.is_any = true, .column = column, .token = token, .is_double = true, .hovered = click.hovered};
  }
  if (map.drag) map.drag(column, token);
  const std::optional<double> value = map.value(column, token);
  const bool is_told = is_hovered || frame.tips != nullptr;
  const std::string words = !is_told ? "" : value ? map.about(column, token) : "not computed yet";
  if (is_hovered) frame.ui.ensure_glyphs(words);
  mark_last_item(frame, name, words.c_str());
  const bool is_selected = map.column == column && map.token == token;
  if (is_selected) frame.ui.keyboard().prefer_last();
  draw_map_cell(frame,
                {.box = box, .value = value, .largest = map.largest, .is_selected = is_selected, .is_hovered = is_hovered});
}

}  // namespace

TokenMapClick draw_token_map(Frame& frame, const TokenMap& map) {
  TokenMapClick click;
  const float scrollbar = ImGui::GetStyle().ScrollbarSize;
  const Columns columns = columns_of(map, ImGui::GetContentRegionAvail().x - scrollbar);
  draw_header(frame, map, columns);
  ImGui::BeginChild("tokens", {0.0F, 0.0F});
  const shell::ControlGroup group(frame.ui.keyboard(), "token map");
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float above = ImGui::GetWindowPos().y - origin.y;
  const auto row_at = [&](float y) {
    return static_cast<std::size_t>(std::clamp(y / kRow, 0.0F, static_cast<float>(map.tokens)));
  };
  const std::size_t end = std::min(row_at(above + ImGui::GetWindowHeight()) + 1, map.tokens);
  for (std::size_t token = row_at(above); token < end; ++token) {
    const ImVec2 row{origin.x, origin.y + static_cast<float>(token) * kRow};
    draw_label(frame, map, token, columns, row);
    for (std::size_t column = 0; column < map.layers.size(); ++column) {
      draw_cell(frame, map, column, token,
                {.origin = {row.x + columns.x(column), row.y}, .size = {columns.cell, kRow - kTokenMapGap}}, click);
    }
  }
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy({columns.x(map.layers.size()), static_cast<float>(map.tokens) * kRow});
  ImGui::EndChild();
  return click;
}

}  // namespace headlight::app
