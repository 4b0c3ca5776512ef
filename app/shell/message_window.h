#pragma once

#include <functional>
#include <string>

#include "app/shell/theme.h"

namespace headlight::shell {

/// The message of a window without Vulkan.
struct Message {
  std::string title, text;
  ThemeKind theme = ThemeKind::Dark;
};

/// Shows a message in a small window of OpenGL, which most desktops have without a driver for Vulkan, until the user closes
/// it (Escape and Return, too; Ctrl+C copies the text) or `should_end` after Window::wake(). Does nothing where there is no
/// display or no OpenGL.
void show_message(const Message& message, const std::function<bool()>& should_end);

}  // namespace headlight::shell
