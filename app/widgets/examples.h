#pragma once

#include "app/frame.h"

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

/// Does this installation have the copy task's training?
bool has_copy_training();
/// Shows the last step of it, on a text that it continues, with the head that does.
void show_copy_training(State& state);

/// Returns the examples for what the state shows: the playground's, a bundled model's, or none.
std::span<const Example> examples_for(const State& state);
/// Two texts that differ in a word, and what a bundled model says next after each.
struct ExamplePair {
  const char *text, *other;
  const char *answer, *wrong;  ///< with their leading spaces
};
/// Returns that of the model that the state shows; null: none is known to work for it.
const ExamplePair* example_pair(const State& state);

/// Returns what the bundled model in a folder of this name was trained on, "captions of photos"; empty for other folders.
std::string_view trained_on(std::string_view folder);

/// Returns "This model has read nothing but captions of photos …" where a bundled decoder is shown a text that isn't an
/// example, or a part of one, and that surprises it by more nats a token than texts of its kind do. Empty otherwise. Asks
/// for the text's losses.
std::string misfit_text(Frame& frame);
/// Puts the text in place of the one that is there, or both texts; a model's target starts anew.
void show_example(State& state, const Example& example);

}  // namespace headlight::app
