#pragma once

#include <string_view>

// Controls: buttons, segments, lists that open, their tooltips, and where they stand in a line.

#include "app/shell/click_area.h"
#include "app/widgets/text.h"

namespace headlight::app {

/// Returns the last ImGui item as a rectangle.
inline chart::Rect last_item_rect() {
  return {.origin = to_glm(ImGui::GetItemRectMin()), .size = to_glm(ImGui::GetItemRectSize())};
}
/// Returns the current window of ImGui as a rectangle.
inline chart::Rect window_rect() {
  return {.origin = to_glm(ImGui::GetWindowPos()), .size = to_glm(ImGui::GetWindowSize())};
}
/// Is a dialog, menu or list open?
inline bool has_popup() { return ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel); }

/// Notes the last ImGui item under a name, as a control that Tab reaches, and gives it a tooltip: `explanation`, else
/// tooltip_of(name). Every control has one; items that aren't controls are noted with Frame::mark() instead.
void mark_last_item(Frame& frame, std::string name, const char* explanation = nullptr);
/// Notes the last item like mark_last_item(), but Tab passes it by: only the pointer uses it, since its effect depends on
/// where on it the pointer is.
void mark_pointer_item(Frame& frame, std::string name, const char* explanation = nullptr);
/// Draws a tooltip of some 40 characters' width for the item before, once the pointer rests on it.
void explain_last_item(Frame& frame, const char* text);

/// The only way to a tooltip: it stands beside `explained`, or below or above it where it is wide, and covers nothing of it.
/// It stands beside `around` instead, a map or the dialog that is drawn, if the window has the room. It is marked as
/// "tooltip" when the scope ends.
class Tooltip {
 public:
  Tooltip(Frame& frame, const chart::Rect& explained, const chart::Rect& around = {});
  ~Tooltip();
  Tooltip(const Tooltip&) = delete;
  Tooltip& operator=(const Tooltip&) = delete;

 private:
  Frame& frame_;
};
/// Draws a tooltip with a text, broken where it is wider than some 40 characters.
void draw_tooltip(Frame& frame, const chart::Rect& explained, std::string_view text);
/// Returns a small square around the pointer: what a tooltip of a line or a point explains.
chart::Rect around_pointer();

/// Called before ImGui::BeginPopup(): where a key opens the popup, it appears below the last item and not at the pointer.
void open_below_last_item(const Frame& frame);

/// Buttons with their marks (mark_last_item()). Width 0: as the label needs. Return whether they were clicked.
bool draw_button(Frame& frame, std::string name, const char* label, const char* explanation = nullptr, float width = 0.0F);
bool draw_small_button(Frame& frame, std::string name, const char* label, const char* explanation = nullptr);
bool draw_arrow_button(Frame& frame, std::string name, ImGuiDir direction, const char* explanation = nullptr,
                       bool is_enabled = true);
/// Moves the mark of a list of so many rows by the keys that the text field above it passes on: round about by one, to the
/// ends by a page. Returns whether it moved.
bool move_mark(const Frame& frame, std::size_t& marked, std::size_t rows, std::size_t page = 10);
/// Draws an entry of a popup with its mark; its first letters find it.
bool draw_entry(Frame& frame, std::string name, const char* label, bool is_chosen = false);
/// Draws a check box with a border that is seen on any ground: nothing else shows an empty one.
bool check_box(Frame& frame, std::string name, const char* label, bool& value, const char* explanation);

/// The one label of buttons that put a view's numbers on the clipboard.
inline constexpr const char* kCopyCsv = "Copy CSV";
inline constexpr float kCopyGap = 12.0F;  ///< to what is left of it
/// Draws "Copy CSV" at the right end of the last item's line, or on the next line where that one is full. A click asks for
/// what copy_when_asked() copies.
void draw_copy_button(Frame& frame, std::string name, const char* explanation, bool is_enabled = true);
/// Puts what `write` returns on the clipboard where the button was clicked, or the command line writes the numbers of this
/// view. Views call it as soon as they know all of them.
template <typename Write>
void copy_when_asked(Frame& frame, const Write& write) {
  if (frame.transient.copies != frame.state.view.tab) return;
  frame.transient.copies.clear();
  ImGui::SetClipboardText(frame.ui.unshaped(write()).c_str());
}

/// The padding at the left and the right of a label.
inline constexpr float kSegmentPadding = 10.0F;
/// Draws a row of joined buttons as wide as their labels, one of which is chosen: "scores | scaled | masked | weights".
/// Returns true when the user chose another one. Each button is marked for tests: "name.0", "name.1", ….
bool draw_segmented(Frame& frame, const char* name, std::span<const std::string> labels, std::size_t& chosen,
                    float padding = kSegmentPadding);
/// Draws the row for a setting whose values have the labels' order.
template <typename Choice>
bool choose_segment(Frame& frame, const char* name, std::span<const std::string> labels, Choice& chosen,
                    float padding = kSegmentPadding) {
  auto place = static_cast<std::size_t>(chosen);
  const bool is_changed = draw_segmented(frame, name, labels, place, padding);
  if (is_changed) chosen = static_cast<Choice>(place);
  return is_changed;
}
/// Draws the options of a setting, marked "what_if.measure.0", …, with the tooltips that they are declared with. `labels`:
/// in place of the options' own ones, and only so many. Returns whether one was clicked, which may be the chosen one.
bool choose(Frame& frame, const AnySetting& setting, std::vector<std::string> labels = {}, float padding = kSegmentPadding);
std::vector<std::string> option_labels(const AnySetting& setting);
/// Returns the width of such a row in UI units, to place it before drawing.
float segmented_width(const Frame& frame, std::span<const std::string> labels, float padding = kSegmentPadding);
/// A list that opens: `if (OpenList list(frame, "head.mean", "Layer"); list) list.entry(…)`.
class OpenList {
 public:
  OpenList(Frame& frame, std::string name, const char* shown, const char* explanation = nullptr, ImGuiComboFlags flags = 0);
  ~OpenList();
  OpenList(const OpenList&) = delete;
  OpenList& operator=(const OpenList&) = delete;
  explicit operator bool() const { return is_open_; }
  /// Draws an entry, marked "<name>.<mark>". Returns whether it was clicked.
  bool entry(const char* label, const std::string& mark, bool is_chosen, const char* explanation = nullptr);
  /// Draws the options of a setting, marked "<name>.<key>.<option>", or the one entry of a switch without options.
  void entries(const AnySetting& setting, std::string_view before_labels = {});

 private:
  Frame& frame_;
  std::string name_;
  bool is_open_;
};

inline constexpr float kMotionSpeedWidth = 72.0F;
inline constexpr const char* kNewRowSpeed = "How fast the row of a generated token comes into the map of the view Head.";
/// Draws a list of speeds of what is shown step by step: Block's walk, and the row of a generated token. `has_still`: it can
/// be switched off here as well.
void choose_motion_speed(Frame& frame, const std::string& name, const char* explanation, bool has_still);

/// Lets Left and Right change a slider's or a drag field's value, when it was marked as the last item and has the keyboard.
/// Enter opens its field where it `is_typed`. Returns whether the value changed.
template <typename Number>
bool step_by_keys(Frame& frame, Number& value, Number low, Number high, Number step, bool is_typed = true) {
  const int steps = frame.ui.keyboard().steps_of_last(is_typed);
  if (steps == 0) return false;
  const double wanted = static_cast<double>(value) + steps * static_cast<double>(step);
  const Number before = value;
  value = static_cast<Number>(std::clamp(wanted, static_cast<double>(low), static_cast<double>(high)));
  return value != before;
}

/// Returns the width of ImGui::Button(label) in the current font, without what follows "##".
float button_width(const char* label);
/// Begins the next item, of so much width, in the line of the last one, `gap` after it; in a line of its own where it
/// wouldn't fit into the window.
void continue_line(float width, float gap);
/// Continues the line at its right end, at least `gap` after the last item.
void continue_line_at_right(float width, float gap);
/// The gap between controls of a line.
inline constexpr float kControlGap = 12.0F;
/// Draws like choose(), beside the last control, or below it where that line is full.
bool choose_next(Frame& frame, const AnySetting& setting, std::vector<std::string> labels = {}, float gap = kControlGap);
/// Draws a switch's check box, marked "heads.draws_arcs", by its own label and tooltip, likewise.
bool check_next(Frame& frame, const Setting<bool>& setting, float gap = kControlGap);
/// Draws like choose_segment(), beside the last control, or below it where that line is full.
template <typename Choice>
bool choose_next_segment(Frame& frame, const char* name, const std::vector<std::string>& labels, Choice& chosen) {
  continue_line(segmented_width(frame, labels), kControlGap);
  return choose_segment(frame, name, labels, chosen);
}
/// Scrolls the window as little as shows what is between two y of its content, with `air` above and below.
void scroll_into_view(float top, float bottom, float air = 0.0F);
/// Begins a child region without padding, background and navigation: text, lines and maps that scroll. ImGui::EndChild()
/// ends it.
void begin_bare_region(const char* name, glm::vec2 size = {},
                       ImGuiWindowFlags flags = ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav);

/// A dialog in the middle of the window that dims the content behind it; content is drawn while is_visible().
///   if (Dialog dialog(frame, "Export", is_open, 560.0F); dialog.is_visible()) { … }
class Dialog {
 public:
  /// Opens when `is_open` is set, and clears it when the user closes it. `width` in UI units, less in a small window.
  Dialog(Frame& frame, const char* title, bool& is_open, float width);
  ~Dialog();
  Dialog(const Dialog&) = delete;
  Dialog& operator=(const Dialog&) = delete;

  bool is_visible() const { return is_visible_; }

 private:
  bool is_visible_ = false;
};

/// The side panel that a button folds or opens.
enum class FoldSide : std::uint8_t { Left, Right };

inline constexpr float kFoldButtonEdge = 26.0F;

/// Draws an icon of the window with that side panel in it, `kFoldButtonEdge` wide and high. True when it was clicked.
bool draw_fold_button(Frame& frame, const char* name, FoldSide side, glm::vec2 origin);

/// Draws the rail of a folded panel at the window's edge, in the whole current pane: the button and the panel's title,
/// vertical. The whole rail can be clicked.
bool draw_rail(Frame& frame, const char* name, FoldSide side, const char* title);

}  // namespace headlight::app

namespace headlight::app {

/// Returns the effect of the control of this name, in one plain sentence; empty for names that aren't in the table.
std::string_view tooltip_of(std::string_view name);

}  // namespace headlight::app
