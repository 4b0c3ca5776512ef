#pragma once

#include <span>

namespace headlight::app {

/// A text worth looking at. Lines are batch items.
struct Example {
  const char* title;
  const char* text;
  const char* key_text;  ///< the second text of cross-attention, or nullptr
};

std::span<const Example> examples();

}  // namespace headlight::app
