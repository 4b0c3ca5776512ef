#pragma once

#include <imgui.h>

#include <string>
#include <string_view>

#include "app/frame.h"
#include "app/shell/imgui_vectors.h"
#include "app/shell/theme.h"

namespace headlight::app {

/// A font's height in UI units. ImFont::FontSize is in pixels: fonts are rasterised for the display's scale.
inline float font_size(const ImFont* font) { return font->FontSize * font->Scale * ImGui::GetIO().FontGlobalScale; }

/// Font and colour of the text that follows, until the end of the scope.
class Ink {
 public:
  Ink(ImFont* font, shell::Color color) {
    ImGui::PushFont(font);
    ImGui::PushStyleColor(ImGuiCol_Text, color);
  }
  ~Ink() {
    ImGui::PopStyleColor();
    ImGui::PopFont();
  }
  Ink(const Ink&) = delete;
  Ink& operator=(const Ink&) = delete;
};

/// A line of text as an item.
void write(ImFont* font, shell::Color color, std::string_view text);
/// Likewise in the middle of a line of controls.
void write_label(ImFont* font, shell::Color color, std::string_view text);
/// Likewise in as many lines as it needs up to `end`, from the window's left edge; 0: the region's end.
void write_wrapped(ImFont* font, shell::Color color, std::string_view text, float end = 0.0F);

// What is drawn into the current window without being an item.
void put_text(ImFont* font, glm::vec2 top_left, shell::Color color, std::string_view text);
void fill_rect(glm::vec2 low, glm::vec2 high, shell::Color color, float rounding = 0.0F);
void fill_rect(const view::Rect& rect, shell::Color color, float rounding = 0.0F);
void outline_rect(glm::vec2 low, glm::vec2 high, shell::Color color, float rounding = 0.0F, float thickness = 1.0F);
void outline_rect(const view::Rect& rect, shell::Color color, float rounding = 0.0F, float thickness = 1.0F);
void draw_line(glm::vec2 from, glm::vec2 to, shell::Color color, float thickness = 1.0F);

/// A check box with a border that is seen on any ground: nothing else shows an empty one.
inline void check_box(const Frame& frame, const char* label, bool& value) {
  ImGui::PushStyleColor(ImGuiCol_Border, frame.ui.theme().text_dim);
  ImGui::Checkbox(label, &value);
  ImGui::PopStyleColor();
}

/// The last ImGui item as a rectangle.
inline view::Rect last_item_rect() {
  return {.origin = to_glm(ImGui::GetItemRectMin()), .size = to_glm(ImGui::GetItemRectSize())};
}

/// Notes the last ImGui item under a name, as a control that Tab reaches, and gives it a tooltip: `explanation`, else
/// tooltip_of(name). Every control has one; items that aren't controls are noted with Frame::mark() instead.
void mark_last_item(Frame& frame, std::string name, const char* explanation = nullptr);

/// The same for what only the pointer uses, because it asks where on it the pointer is: Tab passes by.
void mark_pointer_item(Frame& frame, std::string name, const char* explanation = nullptr);

/// ImGui::Button as a control of that name, `width` wide or as wide as its label. Returns whether it was clicked.
bool draw_button(Frame& frame, const char* label, std::string name, const char* explanation = nullptr, float width = 0.0F);
bool draw_arrow_button(Frame& frame, const char* id, ImGuiDir direction, std::string name, const char* explanation = nullptr,
                       bool is_enabled = true);
/// Before ImGui::BeginPopup(): where a key opens the popup, it appears below the last item and not at the pointer.
void open_below_last_item(const Frame& frame);

/// A small square around the pointer: what a tooltip of a line or a point explains.
view::Rect around_pointer();

/// The only way to a tooltip: the one that begins stands beside `explained`, or below or above it where it is
/// wide, and covers nothing of it.
void begin_tooltip(Frame& frame, const view::Rect& explained);
/// Ends it, and marks it as "tooltip".
void end_tooltip(Frame& frame);
/// One of words alone: small, wrapped at some 40 characters.
void explain_rect(Frame& frame, const view::Rect& explained, std::string_view text);

/// A tooltip of some 40 characters' width for the item before, once the pointer rests on it.
void explain_last_item(Frame& frame, const char* text);

}  // namespace headlight::app
