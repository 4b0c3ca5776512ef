#pragma once

#include <string>
#include <vector>

#include <cstddef>

#include "app/state/source.h"
#include "inference/prompt.h"

namespace headlight::app {

/// Bytes [begin, end) of a text: one line without its newline.
struct LineRange {
  std::size_t begin = 0, end = 0;
};
std::vector<LineRange> line_ranges(const std::string& text);

/// The lines of a model's text that are batch items, one for each: those with more than white space in them, so that a
/// newline just typed doesn't add an empty item. `joins_lines`: the whole text is one item, if it has more than white space.
std::vector<LineRange> item_lines(const std::string& text, bool joins_lines = false);

/// The line of a second text that belongs to an item of the first: the one of the same number, or the only one; an empty
/// range at the end where there is none. `joins_lines`: the whole of the second text.
LineRange partner_line(const std::string& text, std::size_t item, const std::string& partner, bool joins_lines = false);

/// The input of inference::make_prompt(), without second sentences and targets where the model doesn't use them.
inference::PromptText prompt_text(const Model& model, bool has_pairs, bool has_target);

}  // namespace headlight::app
