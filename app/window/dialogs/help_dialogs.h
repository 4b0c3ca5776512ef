#pragma once

#include <span>
#include <string_view>

#include "app/frame.h"

namespace headlight::app {

/// The page of the help that is shown.
enum class HelpPage : std::uint8_t { Keys, Words };

/// What the help keeps from frame to frame.
struct HelpMemory {
  HelpPage page = HelpPage::Words;
  std::string search = {};  ///< among the words
};

/// Draws all shortcuts and what the words on screen mean (F1). Clears `is_open` when it is closed.
void draw_help_dialog(Frame& frame, bool& is_open, HelpMemory& memory);

/// Returns all shortcuts as lines of text, to be printed: headings, and below them keys and what they do.
std::string keys_in_words();

/// Draws name, version, and what the program is built on. `renderer`: the device that draws the window.
void draw_about_dialog(Frame& frame, bool& is_open, const std::string& renderer);

/// A word that is on screen and one sentence that says what it means.
struct GlossaryEntry {
  std::string_view word, meaning;
};

/// Returns the words in alphabetical order.
std::span<const GlossaryEntry> glossary();

}  // namespace headlight::app
