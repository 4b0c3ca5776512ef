#include "app/state/map_settings.h"
#include "app/views/head/map_parts.h"

#include <glm/geometric.hpp>

#include "app/shell/click_area.h"
#include "app/widgets/brush.h"
#include "app/widgets/cells/shown_mask.h"
#include "app/widgets/text.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

constexpr float kZoomStep = 1.2F;   // a step of the wheel
constexpr float kDragSlack = 4.0F;  // UI units that the pointer may move during a click

/// The action of a held left button; lives in ImGui's storage of the window, because it is over with the next frame or so.
/// Put: the brush masks cells, or gives them a bias or a weight; Take: it takes that away again.
enum class Stroke : int { None, Put, Take, Pan, Pin, Range, PutRectangle, TakeRectangle };

/// Returns the map's cell under a point.
std::optional<attention::Cell> cell_at(const chart::Viewport& viewport, glm::vec2 point) {
  const std::optional<chart::CellPosition> cell = viewport.cell_at(point);
  if (!cell) return std::nullopt;
  return attention::Cell{.query = cell->row, .key = cell->column};
}

class MapInput {
 public:
  MapInput(Frame& frame, const MapRoom& room, const chart::Rect& covered)
      : frame_(frame),
        room_(room),
        covered_(covered),
        viewport_(room.viewport(frame.transient.zoom, frame.transient.pan)),
        storage_(*ImGui::GetStateStorage()),
        io_(ImGui::GetIO()) {}

  chart::Viewport handle() {
    if (const auto cell = std::exchange(frame_.transient.reveals, std::nullopt)) {
      viewport_ = viewport_.revealing(
          {.row = std::min(cell->query, room_.rows - 1), .column = std::min(cell->key, room_.columns - 1)});
    }
    clamp_range();
    const chart::Rect seen = viewport_.visible();
    ImGui::SetCursorScreenPos(seen.origin);
    click_area("map", glm::max(seen.size, 1.0F));
    const bool is_hovered = ImGui::IsItemHovered() && !covered_.contains(pointer());
    if (is_hovered && io_.MouseWheel != 0.0F) zoom_at(pointer(), std::pow(kZoomStep, io_.MouseWheel));
    const std::optional<attention::Cell> cell = cell_at(viewport_, pointer());
    if (is_hovered && cell) {
      frame_.point_at(*cell, frame_.state.view.heatmap_stage);
      begin_stroke(*cell);
      if (ImGui::IsMouseClicked(ImGuiMouseButton_Right)) offer_menu(*cell);
      if (is_painting(frame_) && !wants_to_pan()) ImGui::SetMouseCursor(ImGuiMouseCursor_None);  // the brush is drawn
    }
    continue_stroke();
    if (frame_.ui.is_pressed(shell::Key::Digit0)) fit();
    frame_.transient.zoom = viewport_.zoom();
    frame_.transient.pan = viewport_.pan();
    return viewport_;
  }

 private:
  glm::vec2 pointer() const { return to_glm(io_.MousePos); }
  int& memory(const char* name) { return *storage_.GetIntRef(ImGui::GetID(name), 0); }
  float& number(const char* name) { return *storage_.GetFloatRef(ImGui::GetID(name), 0.0F); }
  void keep(const char* x, const char* y, glm::vec2 value) { std::tie(number(x), number(y)) = std::tie(value.x, value.y); }

  Stroke stroke() { return static_cast<Stroke>(memory("stroke")); }
  void set_stroke(Stroke stroke) { memory("stroke") = static_cast<int>(stroke); }
  void fit() { viewport_ = room_.viewport(1.0F, {}); }

  /// Zooms so that what is under the point stays there, also while the map's part of the room grows.
  void zoom_at(glm::vec2 point, float factor) {
    // A map that is smaller than its room stays in the middle: what was under the point is there again once it is larger.
    const auto kept = [&](const char* x, const char* y) { return glm::vec2(number(x), number(y)); };
    const bool goes_on = kept("zoom.x", "zoom.y") == point && number("zoom") == viewport_.zoom() &&
                         kept("zoom.pan.x", "zoom.pan.y") == viewport_.pan();
    if (!goes_on) keep("zoom.cell.x", "zoom.cell.y", (point - viewport_.matrix().origin) / viewport_.cell_size());
    const chart::Viewport zoomed = room_.viewport(viewport_.zoom() * factor, viewport_.pan());
    viewport_ = zoomed.moved(point - zoomed.matrix().origin - kept("zoom.cell.x", "zoom.cell.y") * zoomed.cell_size());
    number("zoom") = viewport_.zoom();
    keep("zoom.x", "zoom.y", point);
    keep("zoom.pan.x", "zoom.pan.y", viewport_.pan());
  }

  bool wants_to_pan() const {
#if IMGUI_VERSION_NUM >= 18700
    return io_.KeyShift || ImGui::IsKeyDown(ImGuiKey_Space);
#else
    return io_.KeyShift || ImGui::IsKeyDown(ImGui::GetKeyIndex(ImGuiKey_Space));
#endif
  }

  void begin_stroke(attention::Cell cell) {
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Middle)) memory("middle") = 1;
    if (!ImGui::IsMouseClicked(ImGuiMouseButton_Left)) return;
    if (wants_to_pan()) return set_stroke(Stroke::Pan);
    const bool fits = ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && viewport_.zoom() > 1.0F;
    if (fits && !frame_.transient.paints) {
      if (memory("has_toggled_pin") != 0) toggle_pin(remembered_cell());
      set_stroke(Stroke::None);
      return fit();
    }
    memory("row") = static_cast<int>(cell.query);
    memory("column") = static_cast<int>(cell.key);
    if (!is_painting(frame_)) {
      set_stroke(Stroke::Pin);
      memory("has_toggled_pin") = 0;
    } else {
      const bool puts = !has_ink_now(cell);
      const bool is_box = frame_.state[kBrush.shape] == BrushShape::Rectangle;
      if (is_box) return set_stroke(puts ? Stroke::PutRectangle : Stroke::TakeRectangle);
      paint_one(cell, puts);
      if (!fits) set_stroke(puts ? Stroke::Put : Stroke::Take);
    }
    // The second click of a double click undoes what the first one did.
    if (fits) fit();
  }

  /// Continues a press that pins when it is released, unless the pointer moves on: then it moves the map.
  void continue_pin(bool is_held) {
    if (glm::length(to_glm(ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0.0F))) > kDragSlack) {
      // A map that isn't enlarged has nothing to be moved: a drag chooses a range of it.
      const Stroke dragged = viewport_.zoom() > 1.0F && !io_.KeyCtrl ? Stroke::Pan : Stroke::Range;
      set_stroke(is_held ? dragged : Stroke::None);
    } else if (!is_held) {
      toggle_pin(remembered_cell());
      memory("has_toggled_pin") = 1;
    }
  }

  /// Returns the cell of the last press.
  attention::Cell remembered_cell() {
    return {.query = static_cast<std::uint32_t>(memory("row")), .key = static_cast<std::uint32_t>(memory("column"))};
  }

  static CellRange range_between(attention::Cell a, attention::Cell b) {
    return {.first = {.query = std::min(a.query, b.query), .key = std::min(a.key, b.key)},
            .last = {.query = std::max(a.query, b.query), .key = std::max(a.key, b.key)}};
  }

  /// Clamps the range: one of another map may be larger than this one.
  void clamp_range() {
    std::optional<CellRange>& range = frame_.transient.range;
    if (range && (range->last.query >= room_.rows || range->last.key >= room_.columns)) range.reset();
  }

  void continue_stroke() {
    const bool is_held = ImGui::IsMouseDown(ImGuiMouseButton_Left);
    if (stroke() == Stroke::Pin) continue_pin(is_held);
    if (!is_held) end_rectangle();
    if (!is_held && stroke() == Stroke::Range) frame_.start_command("menu.range");
    if (!is_held) set_stroke(Stroke::None);
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Middle)) memory("middle") = 0;
    const Stroke now = stroke();
    if (memory("middle") != 0 || now == Stroke::Pan) viewport_ = viewport_.moved(to_glm(io_.MouseDelta));
    if (now == Stroke::None || now == Stroke::Pan || now == Stroke::Pin) return;
    const chart::Rect seen = viewport_.visible();
    const glm::vec2 nearest = glm::clamp(pointer(), seen.origin, glm::max(seen.end() - 0.5F, seen.origin));
    const std::optional<attention::Cell> cell = cell_at(viewport_, nearest);
    if (!cell) return;
    if (now != Stroke::Put && now != Stroke::Take) {
      frame_.transient.range = range_between(remembered_cell(), *cell);
    } else {
      paint_line(*cell, now == Stroke::Put);
    }
  }

  /// Is the cell as the brush would make it?
  bool has_ink_now(attention::Cell cell) const {
    if (frame_.state[kBrush.ink] != BrushInk::Mask) return has_ink(frame_.state, cell);
    const Selection& selection = frame_.state.selection;
    const ShownMask mask(frame_);
    return !mask.spec().is_visible(mask.map(), selection.batch, cell, key_range(frame_));
  }

  PaintedMap map() const { return painted_map(frame_.result, frame_.state.selection); }

  void paint_one(attention::Cell cell, bool puts) {
    put_ink(frame_.state, brush_cells(frame_.state[kBrush.shape], cell, cell, map()), puts, map());
  }

  /// Paints the rectangle that was drawn, once its button is released.
  void end_rectangle() {
    const Stroke now = stroke();
    if (now != Stroke::PutRectangle && now != Stroke::TakeRectangle) return;
    const attention::Cell from = remembered_cell();
    const CellRange range = std::exchange(frame_.transient.range, std::nullopt).value_or(CellRange{from, from});
    const std::vector<attention::Cell> cells = brush_cells(BrushShape::Rectangle, range.first, range.last, map());
    put_ink(frame_.state, cells, now == Stroke::PutRectangle, map());
  }

  /// Paints every cell between the last painted one and this one, so that a quick drag leaves no gaps.
  void paint_line(attention::Cell to, bool puts) {
    int& row = memory("row");
    int& column = memory("column");
    const int rows = static_cast<int>(to.query) - row;
    const int columns = static_cast<int>(to.key) - column;
    const int steps = std::max(std::abs(rows), std::abs(columns));
    for (int step = 1; step <= steps; ++step) {
      const auto along = [&](int from, int distance) {
        return static_cast<std::uint32_t>(
            std::lround(static_cast<double>(from) + static_cast<double>(distance) * step / steps));
      };
      const attention::Cell cell{.query = along(row, rows), .key = along(column, columns)};
      if (has_ink_now(cell) != puts) paint_one(cell, puts);
    }
    row = static_cast<int>(to.query);
    column = static_cast<int>(to.key);
  }

  /// Opens, at a right click, the menu of what can be done with the cell, or with the range that it is in.
  void offer_menu(attention::Cell cell) {
    const std::optional<CellRange>& range = frame_.transient.range;
    const bool is_in_range = range && cell.query >= range->first.query && cell.query <= range->last.query &&
                             cell.key >= range->first.key && cell.key <= range->last.key;
    if (!is_in_range) frame_.state.view.pinned = cell;
    frame_.start_command(is_in_range ? "menu.range" : "menu.cell");
  }

  void toggle_pin(attention::Cell cell) {
    std::optional<attention::Cell>& pinned = frame_.state.view.pinned;
    pinned = pinned == cell ? std::nullopt : std::optional(cell);
  }

  Frame& frame_;
  const MapRoom& room_;
  const chart::Rect& covered_;
  chart::Viewport viewport_;
  ImGuiStorage& storage_;
  ImGuiIO& io_;
};

}  // namespace

chart::Viewport MapRoom::viewport(float zoom, glm::vec2 pan) const {
  chart::Rect used = area;
  used.size.y = std::min(area.size.y, std::max(chart::Viewport(area, rows, columns, zoom, {}, first).shown().size.y, 1.0F));
  return {used, rows, columns, zoom, pan, first};
}

chart::Viewport handle_map_input(Frame& frame, const MapRoom& room, const chart::Rect& covered) {
  return MapInput(frame, room, covered).handle();
}

}  // namespace headlight::app
