#pragma once

#include <limits>
#include <optional>

#include "app/shell/input.h"
#include "app/shell/theme.h"
#include "chart/viewport.h"

struct ImGuiPopupData;
struct ImGuiWindow;

namespace headlight::shell {

/// Knows which control has the keyboard. Tab and Shift+Tab walk through the controls that the last frame has drawn, in the
/// order of areas and in each as they were drawn; Space and Enter press the control, arrows move to the one beside it or
/// change a slider, Esc ends the walk, and so does a click. In a list or menu that is open, however that came about, arrows
/// and the first letters of an entry choose it. Keys that this uses reach nothing else; all others do.
///
/// Dear ImGui's own navigation stays off: it never leaves a window, differs between versions in what Tab reaches, and knows
/// no controls that aren't its items.
class KeyboardFocus {
 public:
  /// Called by panels, while they draw. The last ImGui item is a control, unless it is text or disabled.
  void offer_last_item();
  /// Offers a control that isn't an ImGui item. Returns whether it is pressed in this frame.
  bool offer(std::uint32_t id, const chart::Rect& rect);
  /// Offers a text field, which is edited while it has the keyboard.
  void offer_field(std::uint32_t id, const chart::Rect& rect);
  /// Notes that the control offered last has a value: returns by how many steps Left and Right change it in this frame.
  /// `is_typed`: Enter opens ImGui's field in it.
  int steps_of_last(bool is_typed);
  /// Notes that the control offered last can be moved: returns to where arrows move it in this frame, x to the right, y
  /// down.
  glm::ivec2 moves_of_last();
  /// Has the control offered last the keyboard?
  bool is_at_last() const { return is_active_ && !offered_.empty() && offered_.back().id == scope_.focused; }
  /// Makes the last control the chosen one: its group, or the list that it is in, is entered here.
  void prefer_last();
  /// Names the last control, an entry of a list: its first letters find it.
  void name_last(std::string_view label);
  /// Notes that the last control opens a menu beside it: Right presses it.
  void note_submenu();

  bool is_active() const { return is_active_; }
  /// Returns the focused control in the last frame; none where it isn't on screen.
  std::optional<chart::Rect> rect() const;
  /// Lets Tab go on from this control of the last frame, as after a click on it.
  void start_at(glm::vec2 point);
  void end();
  /// Esc ends the walk in the next frame and is the program's key too, which closes what is open.
  void pass_escape() { passes_escape_ = true; }
  /// Gives the keyboard to what is opened in this frame.
  void begin();

  /// Called by Ui. Takes a key away from the program: true where the walk or the focused control uses it.
  bool take(const KeyPress& press, bool is_typing);
  /// Takes typed characters away where a list is open: true where they chose an entry.
  bool take_text(std::string_view utf8);
  /// Called after ImGui's frame has begun.
  void begin_frame();
  /// Called before ImGui renders: draws the outline. Returns whether a frame must follow.
  bool end_frame(const Theme& theme);
  /// Returns the text field that begins to be edited; nullopt: none.
  std::optional<std::uint32_t> take_field();

 private:
  friend class ControlArea;
  friend class ControlGroup;
  static constexpr int kNoArea = std::numeric_limits<int>::min();

  enum class Kind : std::uint8_t { Button, RepeatingButton, Field, Slider, TypedSlider, Drawn, Movable };
  struct Stop {
    std::uint32_t id = 0;
    std::uint32_t group = 0;  ///< 0: none
    int area = 0;
    Kind kind = Kind::Button;
    bool is_preferred = false, opens_menu = false;
    std::string label;        ///< empty: it isn't found by letters
    std::uint32_t popup = 0;  ///< ImGui's window of the popup that it is in; 0: none
    ImGuiWindow* window = nullptr;
    chart::Rect rect, clip;
  };
  /// The window, or the popup above it that has all keys.
  struct Scope {
    std::uint32_t popup = 0;         ///< its ImGui identifier; 0: the whole window
    std::uint32_t window = 0;        ///< its ImGui window: menus beside each other have the same one
    std::uint32_t focused = 0;       ///< 0: none
    std::optional<Stop> place = {};  ///< where the next Tab goes on from
  };

  /// Returns the popup that has the keys; null: none. The second function: where it is a list or a menu, no dialog.
  static const ImGuiPopupData* top_popup();
  static const ImGuiPopupData* top_list();
  void add(std::uint32_t id, const chart::Rect& rect, Kind kind);
  const Stop* find(std::uint32_t id) const;
  bool is_in_scope(const Stop& stop) const;
  const Stop* current() const;
  const Stop* next(int direction) const;
  const Stop* entry_of(const Stop& stop) const;
  const Stop* beside(const Stop& from, Key arrow) const;
  void focus(const Stop& stop);
  void edit(const Stop& stop);
  void press(const Stop& stop, Key key);
  void move(Key arrow, bool may_scroll);
  bool enter_list(Key arrow);
  std::optional<bool> take_in_menu(Key arrow, const Stop* focused);
  bool leave();
  bool follow_scope();
  void draw_outline(const Theme& theme) const;

  std::vector<Stop> stops_, offered_;  ///< of the last frame, of this one
  int area_ = kNoArea;
  std::uint32_t group_ = 0;
  bool is_active_ = false;
  Scope scope_;
  std::vector<Scope> below_;     ///< what the popup on top was opened from
  std::uint32_t pressed_ = 0;    ///< in this frame
  int steps_ = 0;                ///< of the focused slider in this frame
  glm::ivec2 moves_{0};          ///< of the focused control, likewise
  std::optional<Key> held_;      ///< the key that pressed a control
  std::optional<Key> moves_on_;  ///< an arrow at the end of what a list shows, once it is scrolled
  std::optional<std::uint32_t> field_;
  std::string letters_;                               ///< that found an entry
  bool closes_popup_ = false, leaves_field_ = false;  ///< with the next frame
  bool passes_escape_ = false;
};

/// Keeps ImGui's current window above those that come later, unless a list or a dialog is open.
void raise_window();

/// The controls drawn in this scope come in the walk after those of smaller areas. Outside of all areas, as in menus,
/// nothing is offered.
class ControlArea {
 public:
  ControlArea(KeyboardFocus& focus, int order);
  ~ControlArea() { focus_.area_ = before_; }
  ControlArea(const ControlArea&) = delete;
  ControlArea& operator=(const ControlArea&) = delete;

 private:
  KeyboardFocus& focus_;
  int before_;
};

/// The controls drawn in this scope are one stop of the walk: a list, or a few choices. Arrows move inside, and scroll.
class ControlGroup {
 public:
  ControlGroup(KeyboardFocus& focus, const char* name);
  ~ControlGroup() { focus_.group_ = before_; }
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

 private:
  KeyboardFocus& focus_;
  std::uint32_t before_;
};

}  // namespace headlight::shell
