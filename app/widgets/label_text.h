#pragma once

#include <string>
#include <vector>

#include <imgui.h>
#include <glm/vec2.hpp>

#include "app/shell/theme.h"

namespace headlight::app {

/// Width of a text in a font, UI units.
float text_width(ImFont* font, const std::string& text);

/// The text, cut with "…" where it is wider than `room`.
std::string fit_text(ImFont* font, const std::string& text, float room);

/// Lines of at most `width`, broken at spaces only, so that no number is broken; a longer word has a line of its own.
std::vector<std::string> break_lines(ImFont* font, const std::string& text, float width);

/// Text that begins at `start` and runs in the direction (cosine, sine), y downwards: (0, −1) reads upwards. Its middle line
/// goes through `start`.
void draw_turned_text(ImDrawList* list, ImFont* font, glm::vec2 start, glm::vec2 direction, shell::Color color,
                      const std::string& text);

}  // namespace headlight::app
