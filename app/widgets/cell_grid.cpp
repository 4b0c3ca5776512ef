#include "app/widgets/cell_grid.h"

#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {
namespace {

constexpr float kScaleRoom = 200.0F, kScaleLine = 28.0F, kScaleBar = 120.0F, kScaleGap = 6.0F;

GridLayout grid_layout(const Frame& frame, const Grid& grid, GridKind kind, glm::vec2 room) {
  ImFont* font = frame.ui.fonts().small;
  return {grid,
          {.width = [font](std::string_view name) { return text_width(font, std::string(name)); },
           .room = room,
           .line = font_size(font),
           .kind = kind}};
}

/// Returns the width of a scale without its bar.
float scale_words(const Frame& frame, const ColorScale& scale) {
  ImFont* font = frame.ui.fonts().small;
  return text_width(font, scale.low) + text_width(font, scale.high) + 2.0F * kScaleGap;
}

/// A grid while it is drawn.
class GridPainter {
 public:
  GridPainter(Frame& frame, const GridMap& map)
      : frame_(frame),
        map_(map),
        ends_(map.grid.ends(map.least_end)),
        colors_(map.grid.is_signed ? signed_colors(frame.ui.theme()) : weight_colors(frame.state)) {}

  GridEvents draw() {
    if (map_.kind != GridKind::Texts) draw_ends();
    const bool scrolls = map_.kind != GridKind::Numbers;
    const float bar = scrolls ? ImGui::GetStyle().ScrollbarSize : 0.0F;
    const glm::vec2 start = cursor_position();
    const GridLayout layout = grid_layout(frame_, map_.grid, map_.kind, region_left() - bar);
    const glm::vec2 corner = start + layout.corner(), all = layout.size();
    GridPart& shown = events_.shown = {0, map_.grid.cells.size(), 0, map_.grid.columns.tokens.size()};
    ImGui::SetCursorScreenPos({start.x, corner.y});
    if (scrolls)
      ImGui::BeginChild("rows", {}, false,
                        map_.kind == GridKind::Texts ? ImGuiWindowFlags_HorizontalScrollbar : ImGuiWindowFlags_None);
    const glm::vec2 origin = cursor_position() + glm::vec2(layout.corner().x, 0.0F);
    const glm::vec2 end = to_glm(ImGui::GetWindowPos()) + to_glm(ImGui::GetWindowSize());
    if (scrolls) {
      shown = layout.part(corner - origin, end - origin);
      ImGui::PushClipRect(to_imgui(corner), to_imgui(end), true);
    }
    draw_cells(layout, origin);
    if (scrolls) ImGui::PopClipRect();
    put_names(layout.names(shown, true), {corner.x, origin.y}, true);
    if (scrolls) reveal(layout);
    ImGui::SetCursorScreenPos({origin.x - layout.corner().x, origin.y});
    ImGui::Dummy({layout.corner().x + all.x, all.y});
    if (scrolls) ImGui::EndChild();
    if (scrolls) ImGui::PushClipRect({corner.x, start.y}, {end.x, corner.y}, true);
    put_names(layout.names(shown, false), {origin.x, corner.y}, false);
    if (scrolls) ImGui::PopClipRect();
    return events_;
  }

 private:
  /// The scale, and what the numbers are.
  void draw_ends() const {
    if (width_left() < kScaleRoom) return;
    const ImVec2 start = ImGui::GetCursorScreenPos();
    const auto written = [](double end) { return cell_number(static_cast<float>(end), 2); };
    if (ends_.second > ends_.first) {
      draw_scale(frame_, {.colors = colors_, .low = written(ends_.first), .high = written(ends_.second)});
      ImFont* font = frame_.ui.fonts().small;
      const float x = ImGui::GetItemRectMax().x, room = start.x + width_left() - x;
      if (room > kScaleLine) put_text(font, {x, start.y}, frame_.ui.theme().text_dim, fit_text(font, map_.grid.title, room));
    }
    ImGui::SetCursorScreenPos({start.x, start.y + kScaleLine});
  }

  void put_names(const std::vector<GridName>& names, glm::vec2 corner, bool are_rows) const {
    const shell::Theme& theme = frame_.ui.theme();
    const bool are_texts = map_.kind == (are_rows ? GridKind::TextRows : GridKind::Texts);
    for (const GridName& name : names) {
      const bool is_selected = map_.selected && (are_rows ? map_.selected->row : map_.selected->column) == name.index;
      frame_.ui.ensure_glyphs(name.text);
      put_text(frame_.ui.fonts().small, corner + name.at,
               is_selected ? theme.accent
               : are_texts ? theme.text
                           : theme.text_dim,
               name.text);
    }
  }

  void draw_cells(const GridLayout& layout, glm::vec2 origin) {
    const shell::ControlGroup group(frame_.ui.keyboard(), "map of numbers");
    const GridPart& shown = events_.shown;
    for (std::size_t row = shown.first_row; row < shown.end_row; ++row) {
      const std::size_t end = std::min(shown.end_column, map_.grid.cells[row].size());
      for (std::size_t column = shown.first_column; column < end; ++column) {
        const GridCell at{.row = row, .column = column};
        const chart::Rect box = layout.cell(at);
        if (map_.fill) map_.fill(at, shown);
        draw_cell(at, {.origin = origin + box.origin, .size = box.size});
      }
    }
  }

  void draw_cell(GridCell at, const chart::Rect& box) {
    const Grid& grid = map_.grid;
    const std::optional<double> number = grid.cells[at.row][at.column];
    ImGui::SetCursorScreenPos(box.origin);
    const std::string name = map_.name(at);
    // Ctrl and a click ask where the number is from.
    if (click_area(name.c_str(), box.size) && !ImGui::GetIO().KeyCtrl) events_.cell = at;
    const bool is_selected = map_.selected == at, is_hovered = ImGui::IsItemHovered();
    // A key has no double click: pressed again, the selected cell is opened.
    if (events_.cell == at && is_selected && frame_.ui.keyboard().is_active()) events_.is_double = true;
    if (is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
      events_.cell = at;
      events_.is_double = true;
    }
    if (is_hovered) events_.hovered = at;
    if (map_.drag) map_.drag(at);
    const bool is_told = is_hovered || frame_.tips != nullptr;
    const std::string words = !is_told             ? ""
                              : number             ? map_.about(at)
                              : grid.hides_missing ? "hidden by the mask"
                                                   : map_.missing;
    if (is_hovered) frame_.ui.ensure_glyphs(words);
    mark_last_item(frame_, name, words.c_str());
    if (is_selected) frame_.ui.keyboard().prefer_last();
    const bool has_color = number && std::isfinite(*number);
    const bool is_written = grid.texts.empty() && number && !(std::abs(*number) < map_.least_written);
    draw_map_cell(frame_, {.box = box,
                           .ground = has_color ? std::optional(color_in(colors_, grid.share(*number, ends_))) : std::nullopt,
                           .number = is_written ? number : std::nullopt,
                           .text = grid.texts.empty() ? "" : grid.texts[at.row][at.column],
                           .is_hidden = !number && grid.hides_missing,
                           .is_selected = is_selected,
                           .is_hovered = is_hovered});
    const bool is_blank = number && grid.texts.empty() && !is_written && !is_selected && !is_hovered;
    if (is_blank)
      outline_rect(box, shell::with_alpha(frame_.ui.theme().border, 0x80), 2.0F);  // its colour may be the ground's
  }

  /// Scrolls to a cell that is selected from elsewhere.
  void reveal(const GridLayout& layout) const {
    int* revealed = ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("revealed"), -1);
    const std::optional<GridCell> at = events_.cell ? events_.cell : map_.selected;
    const int now = at ? static_cast<int>(at->row * map_.grid.columns.tokens.size() + at->column) : -1;
    if (std::exchange(*revealed, now) == now || !map_.selected || events_.cell) return;
    const chart::Rect box = layout.cell(*at);
    scroll_into_view(box.origin.y, box.end().y, ImGui::GetStyle().ScrollbarSize);
    const float room = ImGui::GetWindowWidth() - layout.corner().x, left = ImGui::GetScrollX();
    if (box.origin.x < left || box.end().x > left + room) ImGui::SetScrollX(std::max(box.origin.x - 0.5F * room, 0.0F));
  }

  Frame& frame_;
  const GridMap& map_;
  std::pair<double, double> ends_;
  std::span<const std::uint32_t> colors_;
  GridEvents events_;
};

}  // namespace

float grid_height(const Grid& grid, float width, GridKind kind) {
  const GridLayout layout(grid, {.width = {}, .room = {width, 0.0F}, .kind = kind});
  return (width < kScaleRoom ? 0.0F : kScaleLine) + layout.corner().y + layout.size().y;
}

float grid_width(const Frame& frame, const Grid& grid, GridKind kind, glm::vec2 room) {
  const float bar = kind == GridKind::Numbers ? 0.0F : ImGui::GetStyle().ScrollbarSize;
  const GridLayout layout = grid_layout(frame, grid, kind, room - bar);
  return layout.corner().x + layout.size().x + bar;
}

GridEvents draw_grid(Frame& frame, const GridMap& map) { return GridPainter(frame, map).draw(); }

ColorScale scale_of_signs(const Frame& frame) {
  return {.colors = signed_colors(frame.ui.theme()), .low = "\u2212", .high = "+", .middle = "0"};
}

void draw_scale(const Frame& frame, const ColorScale& scale) {
  const glm::vec2 at = cursor_position();
  const float width = scale_words(frame, scale) + kScaleBar;
  put_scale(frame, scale, at, at.x + width);
  ImGui::Dummy({width + 2.0F * kScaleGap, font_size(frame.ui.fonts().small)});
}

void put_scale(const Frame& frame, const ColorScale& scale, glm::vec2 at, float end) {
  constexpr float kLeastBar = 32.0F, kSteps = 32.0F;
  const float room = std::floor(end - at.x - scale_words(frame, scale));
  if (room < kLeastBar) return;
  ImFont* font = frame.ui.fonts().small;
  const shell::Color ink = frame.ui.theme().text_dim;
  const float bar = std::min(room, kScaleBar), step = bar / kSteps;
  put_text(font, at, ink, scale.low);
  const float left = at.x + text_width(font, scale.low) + kScaleGap;
  for (float i = 0.0F; i < kSteps; ++i) {
    fill_rect({left + i * step, at.y + 2.0F}, {left + (i + 1.0F) * step, at.y + font_size(font)},
              color_in(scale.colors, (double{i} + 0.5) / double{kSteps}));
  }
  put_text(font, {left + bar + kScaleGap, at.y}, ink, scale.high);
  if (scale.middle.empty()) return;
  put_text(font, {std::round(left + (bar - text_width(font, scale.middle)) * 0.5F), at.y},
           readable_on(color_in(scale.colors, 0.5)), scale.middle);
}

}  // namespace headlight::app
