#pragma once

#include <span>
#include <string_view>

namespace headlight::app {

/// A word that is on screen and one sentence that says what it means.
struct GlossaryEntry {
  std::string_view word, meaning;
};

/// From the text to the prediction, in the order of the calculation.
std::span<const GlossaryEntry> glossary();

}  // namespace headlight::app
