#pragma once

#include "app/state/state.h"

namespace headlight::app {

/// An example text. Lines are batch items.
struct Example {
  const char* title;
  const char* text;
  const char* key_text;  ///< the second text of cross-attention, or nullptr
};

/// Returns the examples for the playground.
std::span<const Example> examples();

/// Returns the examples for the bundled model in a folder of this name; none for other folders.
std::span<const Example> examples_of(std::string_view folder);

/// Returns the examples for what the state shows: the playground's, a bundled model's, or none.
std::span<const Example> examples_for(const State& state);
/// Returns what the bundled model in a folder of this name was trained on, "captions of photos"; empty for other folders.
std::string_view trained_on(std::string_view folder);

/// Returns "This model has read nothing but captions of photos …" where a bundled model is shown a text that isn't of its
/// kind as far as is known: none of its examples, nor a part of one. Empty otherwise.
std::string misfit_text(const State& state);
/// Puts the text in place of the one that is there, or both texts; a model's target starts anew.
void show_example(State& state, const Example& example);

}  // namespace headlight::app
