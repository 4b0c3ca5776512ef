#pragma once

#include <span>
#include <string_view>

namespace headlight::app {

/// An example text. Lines are batch items.
struct Example {
  const char* title;
  const char* text;
  const char* key_text;  ///< the second text of cross-attention, or nullptr
};

/// For the playground.
std::span<const Example> examples();

/// For the bundled model in a folder of this name; none for others.
std::span<const Example> examples_of(std::string_view folder);

}  // namespace headlight::app
