#pragma once

#include <deque>
#include <vector>

#include "app/shell/input.h"

namespace headlight::shell {

/// Hands input to frames so that nothing is lost in between: ImGui looks at the state of the mouse and keyboard once a
/// frame, so a press and the release of the same button must not meet in one, nor a move after a press or before a release,
/// nor text after a key.
class InputQueue {
 public:
  void push(InputEvent event);
  bool is_empty() const { return events_.empty(); }
  /// Forgets the text that comes next, if text comes next.
  void drop_text();
  /// The events of the next frame, in order; at least one unless the queue is empty.
  std::vector<InputEvent> take_frame();

 private:
  std::deque<InputEvent> events_;
};

}  // namespace headlight::shell
