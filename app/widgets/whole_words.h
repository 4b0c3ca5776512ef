#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Draws the selected line of a translator's text as whole words, wrapped at the panel's width: those that its vocabulary of
/// whole words doesn't have are <unk>, with the word after them. Nothing while they are switched off, or where the model has
/// no such vocabulary. `name`: of the whole.
void draw_whole_words(Frame& frame, const char* name, const std::string& text, bool is_target);

}  // namespace headlight::app
