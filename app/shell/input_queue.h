#pragma once

#include <deque>
#include <vector>

#include "app/shell/input.h"

namespace headlight::shell {

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
  /// The events of the next frame, in order; at least one unless the queue is empty.
  std::vector<InputEvent> take_frame();

 private:
  std::deque<InputEvent> events_;
};

}  // namespace headlight::shell
