#pragma once

// Widths, places, fonts and colours of drawn text. With app/frame.h this is the first include of every source that draws.

#include <imgui.h>

#include "app/frame.h"
#include "app/shell/imgui_vectors.h"

namespace headlight::app {

/// Return the pointer's place and that of the next item on the screen, and the room that the region has from there on.
inline glm::vec2 pointer_position() { return to_glm(ImGui::GetIO().MousePos); }
inline glm::vec2 cursor_position() { return to_glm(ImGui::GetCursorScreenPos()); }
inline glm::vec2 region_left() { return to_glm(ImGui::GetContentRegionAvail()); }
inline float width_left() { return region_left().x; }
inline float height_left() { return region_left().y; }

/// A font's height in UI units, and the part of it above the baseline. Before Dear ImGui 1.92 fonts are in pixels,
/// rasterised for the display's scale.
#if IMGUI_VERSION_NUM >= 19200
inline float font_size(const ImFont* font) { return font->LegacySize; }
inline float font_ascent(ImFont* font) { return font->GetFontBaked(font->LegacySize)->Ascent; }
#else
inline float font_size(const ImFont* font) { return font->FontSize * font->Scale * ImGui::GetIO().FontGlobalScale; }
inline float font_ascent(const ImFont* font) { return font->Ascent * font_size(font) / font->FontSize; }
#endif

/// Returns how far below the upper edge of such a height a line of text in its middle begins.
inline float text_drop(const ImFont* font, float height) { return std::round((height - font_size(font)) * 0.5F); }

/// Font and colour of the text that follows, until the end of the scope.
class TextStyleScope {
 public:
  TextStyleScope(ImFont* font, shell::Color color) {
    ImGui::PushFont(font);
    ImGui::PushStyleColor(ImGuiCol_Text, color);
  }
  /// Small, and dim without a colour.
  TextStyleScope(const Frame& frame, shell::Color color) : TextStyleScope(frame.ui.fonts().small, color) {}
  explicit TextStyleScope(const Frame& frame) : TextStyleScope(frame, frame.ui.theme().text_dim) {}
  ~TextStyleScope() {
    ImGui::PopStyleColor();
    ImGui::PopFont();
  }
  TextStyleScope(const TextStyleScope&) = delete;
  TextStyleScope& operator=(const TextStyleScope&) = delete;
};

/// Writes a line, or several, from the cursor on.
void write_text(ImFont* font, shell::Color color, std::string_view text);
/// Write so in small dim type, and in strong type.
void write_dim(const Frame& frame, std::string_view text);
void write_strong(const Frame& frame, std::string_view text);
/// Writes text that is broken at the right edge of the region, or at `end` from the window's left edge.
void write_wrapped(ImFont* font, shell::Color color, std::string_view text, float end = 0.0F);
/// Writes in a line of controls, in the middle of their height.
void write_label(ImFont* font, shell::Color color, std::string_view text);
/// Draws text into the current window's draw list, at a place of the screen: no item.
void put_text(ImFont* font, glm::vec2 at, shell::Color color, std::string_view text);

// Shapes in the current window's draw list, at a place of the screen: no items.
void fill_rect(glm::vec2 low, glm::vec2 high, shell::Color color, float rounding = 0.0F);
void fill_rect(const chart::Rect& rect, shell::Color color, float rounding = 0.0F);
void outline_rect(glm::vec2 low, glm::vec2 high, shell::Color color, float rounding = 0.0F, float thickness = 1.0F);
void outline_rect(const chart::Rect& rect, shell::Color color, float rounding = 0.0F, float thickness = 1.0F);
void draw_line(glm::vec2 from, glm::vec2 to, shell::Color color, float thickness = 1.0F);

/// Returns the width of a text in a font, UI units.
float text_width(ImFont* font, const std::string& text);

/// Returns the text, cut with "…" where it is wider than `room`.
std::string fit_text(ImFont* font, const std::string& text, float room);

/// Returns lines of at most `width`, broken at spaces only, so that no number is broken; a longer word has a line of its
/// own.
std::vector<std::string> break_lines(ImFont* font, const std::string& text, float width);

/// Draws text that begins at `start` and runs in the direction (cosine, sine), y downwards: (0, −1) reads upwards. Its
/// middle line goes through `start`.
void draw_turned_text(ImFont* font, glm::vec2 start, glm::vec2 direction, shell::Color color, const std::string& text);

/// Formulas on one line, in a small part of TeX's notation: "_k" lowers and "^T" raises one character, "_{…}" and "^{…}"
/// several; they nest. "Q ∈ ℝ^{n×d_k}" reads as in a paper. Scripts are set in the small
/// font.
/// Width and height, UI units.
glm::vec2 measure_math(const shell::FontSet& fonts, ImFont* base, std::string_view formula);
/// Returns the width.
float draw_math(const shell::FontSet& fonts, ImFont* base, glm::vec2 top_left, shell::Color color, std::string_view formula);

/// Draws the title of a view, in large type at its top: at the same place in every view, and cut where it is wider than
/// `room`, in UI units; 0: as wide as what is left of the line. Marked as "view.title".
void draw_view_title(Frame& frame, const std::string& title, float room = 0.0F);

/// Takes the room of two lines for the view's sentence, at the cursor: what is below it stays where it is, whatever the
/// sentence says. Every view does so once, below its title.
/// `below`: a gap, where controls stand right above. `width`: of its lines; 0: what is left of the region.
void place_sentence(Frame& frame, float below = 0.0F, float width = 0.0F);
inline constexpr float kBelowControls = 6.0F;
/// Paints the sentence there, marked "view.sentence"; what two lines don't hold is in a tooltip.
void draw_sentence(Frame& frame, const Sentence& sentence);

/// Draws a name at the left and its number at the right edge of the region, small; the name is cut where both have no room.
void write_pair(const Frame& frame, const std::string& name, const std::string& number);

/// Draws dim small text after the title, in its line and on its baseline.
void draw_title_note(Frame& frame, const std::string& note);

/// Draws a title, a reason and advice, as draw_rich_text() has them, in the middle of a region that has nothing to draw.
/// `name` marks it for tests.
void draw_empty_note(Frame& frame, const std::string& name, const std::string& title, const std::string& text);

/// Goes below a note's text: the next items, buttons, begin where its text does.
void go_below_note();

/// Draws a paragraph with **bold** words, $formulas$ (math_text.h), `code` and the marked words of a sentence
/// (app/shapes/sentence.h), broken at spaces and between Chinese, Japanese and Korean characters, from the cursor on and as
/// wide as the region, or as `width_of_lines`. A sign without its partner is drawn as it is.
void draw_rich_text(Frame& frame, const std::string& text, ImFont* font, shell::Color color, float width_of_lines = 0.0F);

}  // namespace headlight::app
