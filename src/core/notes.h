#pragma once

#include <string>
#include <vector>

namespace headlight {

/// Keeps a line about a file that was opened: what it doesn't say and was guessed, what was rounded. Commands print each
/// line once, on standard error and among the `notes` of --json. Any thread.
void add_note(const std::string& line);
/// Returns the notes in the order in which they were added first.
std::vector<std::string> added_notes();

}  // namespace headlight
