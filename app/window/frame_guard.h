#pragma once

#include <exception>
#include <optional>
#include <string>

namespace headlight::app {

/// The sizes of Dear ImGui's stacks, so that a panel that throws half-way costs its own drawing and nothing else.
class FrameGuard {
 public:
  /// Made inside the window that the panel draws into.
  FrameGuard();
  /// Closes whatever the panel left open.
  void unwind() const;

 private:
  int window_count_ = 0;
  int color_count_ = 0, style_count_ = 0, font_count_ = 0;
};

/// Draws and returns nothing, or what went wrong.
template <typename Draw>
std::optional<std::string> draw_guarded(Draw&& draw) {
  const FrameGuard guard;
  try {
    draw();
    return std::nullopt;
  } catch (const std::exception& error) {
    guard.unwind();
    return error.what();
  }
}

/// Closes every open menu and list (not dialogs, whose owners do that); false when there is none.
bool close_popups();

}  // namespace headlight::app
