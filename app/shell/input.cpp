#include "app/shell/input.h"

#include <algorithm>
#include <bitset>
#include <optional>

namespace headlight::shell {
namespace {

/// Does a text field ignore the key? It does where the key types a character, whose text is an event of its own, or is a
/// modifier. So the key may share a frame with text: ImGui's text fields read a frame's characters before its keys.
bool is_ignored_by_text_fields(const KeyPress& event) {
  const bool is_modifier = event.key >= Key::LeftControl && event.key <= Key::LeftSuper;
  return is_modifier || types_character(event);
}

/// The events that the current frame already contains.
struct Seen {
  bool move = false;
  bool click = false;
  bool wheel = false;
  bool key = false;
  bool editing_key = false;  ///< one that text fields don't ignore
  bool text = false;
  bool focus = false;
  std::bitset<8> buttons;
  std::bitset<kKeys> keys;
  /// The modifiers of the frame's keys, clicks and turns of the wheel. ImGui knows one state of the modifiers a frame: if
  /// the release of Ctrl came in the frame of A, Ctrl+A would be an A.
  std::optional<Modifiers> modifiers;

  bool fits(const Modifiers& of_event) const { return !modifiers || *modifiers == of_event; }

  bool fits(const MouseMove&) const { return !click && !wheel && !key && !text; }
  bool fits(const MouseLeave&) const { return !move && !click && !wheel; }
  bool fits(const MouseClick& event) const {
    const bool ends_drag = !event.down && move;  // events after a drag must see the button held at the last position
    return !wheel && !ends_drag && !buttons.test(static_cast<std::size_t>(event.button)) && fits(event.modifiers);
  }
  bool fits(const MouseWheel& event) const { return !click && fits(event.modifiers); }
  bool fits(const KeyPress& event) const {
    const bool keeps_order = !text || is_ignored_by_text_fields(event);
    return !click && keeps_order && !keys.test(static_cast<std::size_t>(event.key)) && fits(event.modifiers);
  }
  bool fits(const TextInput&) const { return !click && !editing_key; }
  bool fits(const FocusChange&) const { return !focus; }

  void note(const MouseMove&) { move = true; }
  void note(const MouseLeave&) { move = click = true; }
  void note(const MouseClick& event) {
    click = true;
    modifiers = event.modifiers;
    buttons.set(static_cast<std::size_t>(event.button));
  }
  void note(const MouseWheel& event) {
    wheel = true;
    modifiers = event.modifiers;
  }
  void note(const KeyPress& event) {
    key = true;
    editing_key = editing_key || !is_ignored_by_text_fields(event);
    modifiers = event.modifiers;
    keys.set(static_cast<std::size_t>(event.key));
  }
  void note(const TextInput&) { text = true; }
  void note(const FocusChange&) { focus = true; }
};

// Users don't hold Ctrl from one gesture to the next.
constexpr KeyPress kModifiersReleased{.key = Key::LeftControl, .down = false};

}  // namespace

bool types_character(const KeyPress& press) {
  const bool is_character = press.key == Key::Space || (press.key >= Key::Minus && press.key <= Key::Z);
  return is_character && !press.modifiers.control && !press.modifiers.alt && !press.modifiers.super;
}

std::optional<Key> key_of_character(std::string_view utf8) {
  constexpr std::string_view kInOrderOfKeys = "-=,./0123456789abcdefghijklmnopqrstuvwxyz";
  const std::size_t at = kInOrderOfKeys.find(utf8 == "+" ? "=" : utf8);
  if (utf8.size() != 1 || at == std::string_view::npos) return std::nullopt;
  return static_cast<Key>(static_cast<std::size_t>(Key::Minus) + at);
}

std::vector<InputEvent> typed_character(std::string utf8, const KeyPress& before) {
  const std::optional<Key> key = key_of_character(utf8);
  const bool is_pressed = !key || *key >= Key::A || (before.key == *key && !before.modifiers.shift);
  if (is_pressed) return {TextInput{std::move(utf8)}};
  return {KeyPress{*key}, TextInput{std::move(utf8)}, KeyPress{*key, false}};
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

void InputQueue::push(InputEvent event) {
  // Only the last position is kept of several moves before the frame.
  if (std::holds_alternative<MouseMove>(event) && !events_.empty() && std::holds_alternative<MouseMove>(events_.back())) {
    events_.back() = std::move(event);
    return;
  }
  events_.push_back(std::move(event));
}

void InputQueue::drop_text() {
  if (!events_.empty() && std::holds_alternative<TextInput>(events_.front())) events_.pop_front();
}

std::vector<InputEvent> InputQueue::take_frame() {
  std::vector<InputEvent> frame;
  Seen seen;
  while (!events_.empty()) {
    const bool fits = std::visit([&](const auto& event) { return seen.fits(event); }, events_.front());
    if (!fits) break;
    std::visit([&](const auto& event) { seen.note(event); }, events_.front());
    frame.push_back(std::move(events_.front()));
    events_.pop_front();
  }
  return frame;
}

}  // namespace headlight::shell
