#include "app/shell/input.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace headlight::shell {
namespace {

constexpr std::array<std::string_view, kKeys> kNames{
    "tab",   "left",  "right",  "up",   "down",  "pageup", "pagedown", "home", "end", "insert", "delete", "backspace",
    "space", "enter", "escape", "ctrl", "shift", "alt",    "super",    "-",    "=",   ",",      ".",      "/",
    "0",     "1",     "2",      "3",    "4",     "5",      "6",        "7",    "8",   "9",      "a",      "b",
    "c",     "d",     "e",      "f",    "g",     "h",      "i",        "j",    "k",   "l",      "m",      "n",
    "o",     "p",     "q",      "r",    "s",     "t",      "u",        "v",    "w",   "x",      "y",      "z",
    "f1",    "f2",    "f3",     "f4",   "f5",    "f6",     "f7",       "f8",   "f9",  "f10",    "f11",    "f12"};

// Users don't hold Ctrl from one gesture to the next.
constexpr KeyPress kModifiersReleased{.key = Key::LeftControl, .down = false};

}  // namespace

bool types_character(const KeyPress& press) {
  const bool is_character = press.key == Key::Space || (press.key >= Key::Minus && press.key <= Key::Z);
  return is_character && !press.modifiers.control && !press.modifiers.alt && !press.modifiers.super;
}

std::vector<InputEvent> click_at(glm::vec2 position, MouseButton button, Modifiers modifiers) {
  return {MouseMove{position}, MouseClick{button, true, modifiers}, MouseClick{button, false, modifiers},
          kModifiersReleased};
}

std::vector<InputEvent> drag(glm::vec2 from, glm::vec2 to, Modifiers modifiers) {
  return {MouseMove{from}, MouseClick{MouseButton::Left, true, modifiers}, MouseMove{to},
          MouseClick{MouseButton::Left, false, modifiers}, kModifiersReleased};
}

std::vector<InputEvent> tap(Key key, Modifiers modifiers) { return {KeyPress{key, true, modifiers}, KeyPress{key, false}}; }

bool parse_key(std::string_view name, Key& key) {
  std::string wanted(name);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = std::find(kNames.begin(), kNames.end(), wanted);
  if (found == kNames.end()) return false;
  key = static_cast<Key>(found - kNames.begin());
  return true;
}

}  // namespace headlight::shell
