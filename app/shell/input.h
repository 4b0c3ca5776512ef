#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <glm/vec2.hpp>

namespace headlight::shell {

enum class Key : std::uint8_t {
  Tab,
  Left,
  Right,
  Up,
  Down,
  PageUp,
  PageDown,
  Home,
  End,
  Insert,
  Delete,
  Backspace,
  Space,
  Enter,
  Escape,
  LeftControl,
  LeftShift,
  LeftAlt,
  LeftSuper,
  Minus,
  Equal,
  Comma,
  Period,
  Slash,
  Digit0,
  Digit1,
  Digit2,
  Digit3,
  Digit4,
  Digit5,
  Digit6,
  Digit7,
  Digit8,
  Digit9,
  A,
  B,
  C,
  D,
  E,
  F,
  G,
  H,
  I,
  J,
  K,
  L,
  M,
  N,
  O,
  P,
  Q,
  R,
  S,
  T,
  U,
  V,
  W,
  X,
  Y,
  Z,
  F1,
  F2,
  F3,
  F4,
  F5,
  F6,
  F7,
  F8,
  F9,
  F10,
  F11,
  F12,
};
inline constexpr std::size_t kKeys = static_cast<std::size_t>(Key::F12) + 1;

inline bool is_arrow(Key key) { return key == Key::Left || key == Key::Right || key == Key::Up || key == Key::Down; }
inline bool is_backwards(Key arrow) { return arrow == Key::Left || arrow == Key::Up; }
/// 0: x, 1: y.
inline glm::length_t axis_of(Key arrow) { return arrow == Key::Up || arrow == Key::Down ? 1 : 0; }

/// The modifier keys that are held.
struct Modifiers {
  bool control = false;
  bool shift = false;
  bool alt = false;
  bool super = false;

  bool operator==(const Modifiers&) const = default;
};
inline constexpr Modifiers kControl{.control = true};
inline constexpr Modifiers kShift{.shift = true};
inline constexpr Modifiers kAlt{.alt = true};
inline constexpr Modifiers kControlShift{.control = true, .shift = true};

/// A key that starts something.
struct Shortcut {
  Key key = Key::Escape;
  Modifiers modifiers = {};
  std::string_view text = {};  ///< as menus and lists write it: "Ctrl+Shift+Z"; empty: the key works but isn't listed
};

enum class MouseButton : std::uint8_t { Left, Right, Middle, Back, Forward };

/// Positions are pixels of the image that the interface is drawn into, from its top left corner.
struct MouseMove {
  glm::vec2 position{0.0F};
};
struct MouseLeave {};
struct MouseClick {
  MouseButton button = MouseButton::Left;
  bool down = true;
  Modifiers modifiers = {};
};
struct MouseWheel {
  glm::vec2 steps{0.0F};  ///< x positive to the left, y positive up
  Modifiers modifiers = {};
};
/// A keyboard repeat is another `down` without an `up` between.
struct KeyPress {
  Key key = Key::Escape;
  bool down = true;
  Modifiers modifiers = {};
};
struct TextInput {
  std::string utf8 = {};
};
struct FocusChange {
  bool focused = true;
};

/// The user's input. Windows, tests and screenshot scripts all pass these to Ui::feed().
using InputEvent = std::variant<MouseMove, MouseLeave, MouseClick, MouseWheel, KeyPress, TextInput, FocusChange>;

/// Does the key type a character, whose TextInput follows: a letter, a digit, Space, a sign of those above?
bool types_character(const KeyPress& press);

/// Returns the key of a character that the keyboard's layout has on it, wherever that key is; nullopt: none has a meaning.
std::optional<Key> key_of_character(std::string_view utf8);
/// Returns the events of a typed character. A sign or digit that is typed with another key or with Shift, as "/" is with
/// Shift+7 in Germany, is a press of its own key as well. `before`: the key that was pressed last.
std::vector<InputEvent> typed_character(std::string utf8, const KeyPress& before);

/// Returns the events of moving there, press and release.
std::vector<InputEvent> click_at(glm::vec2 position, MouseButton button = MouseButton::Left, Modifiers modifiers = {});
/// Press at the first point, move to the second, release: three frames. Painting along the way has to interpolate, as for a
/// fast mouse.
std::vector<InputEvent> drag(glm::vec2 from, glm::vec2 to, Modifiers modifiers = {});
/// Press and release a key.
std::vector<InputEvent> tap(Key key, Modifiers modifiers = {});

/// Distributes input over frames so that no event is lost: ImGui reads the state of mouse and keyboard once per frame, so a
/// press and the release of the same button must not be in one frame, nor a move after a press or before a release, nor two
/// states of the modifiers, nor text after a key that edits text. Typed letters share their frame with the keys that typed
/// them.
class InputQueue {
 public:
  void push(InputEvent event);
  bool is_empty() const { return events_.empty(); }
  /// Drops the next event if it is text.
  void drop_text();
  /// Returns the events of the next frame, in order; at least one unless the queue is empty.
  std::vector<InputEvent> take_frame();

 private:
  std::deque<InputEvent> events_;
};

}  // namespace headlight::shell
