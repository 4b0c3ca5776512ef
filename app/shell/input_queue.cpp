#include "app/shell/input_queue.h"

#include <bitset>

namespace headlight::shell {
namespace {

/// The events that the current frame already contains.
struct Seen {
  bool move = false;
  bool click = false;
  bool wheel = false;
  bool key = false;
  bool text = false;
  bool focus = false;
  std::bitset<8> buttons;
  std::bitset<kKeys> keys;

  bool fits(const MouseMove&) const { return !click && !wheel && !key && !text; }
  bool fits(const MouseLeave&) const { return !move && !click && !wheel; }
  bool fits(const MouseClick& event) const {
    const bool ends_drag = !event.down && move;  // events after a drag must see the button held at the last position
    return !wheel && !ends_drag && !buttons.test(static_cast<std::size_t>(event.button));
  }
  bool fits(const MouseWheel&) const { return !click; }
  bool fits(const KeyPress& event) const { return !click && !text && !keys.test(static_cast<std::size_t>(event.key)); }
  bool fits(const TextInput&) const { return !click && !key; }
  bool fits(const FocusChange&) const { return !focus; }

  void note(const MouseMove&) { move = true; }
  void note(const MouseLeave&) { move = click = true; }
  void note(const MouseClick& event) {
    click = true;
    buttons.set(static_cast<std::size_t>(event.button));
  }
  void note(const MouseWheel&) { wheel = true; }
  void note(const KeyPress& event) {
    key = true;
    keys.set(static_cast<std::size_t>(event.key));
  }
  void note(const TextInput&) { text = true; }
  void note(const FocusChange&) { focus = true; }
};

}  // namespace

void InputQueue::push(InputEvent event) {
  // Of several moves before the frame only the last position is kept.
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
