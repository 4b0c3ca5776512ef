#pragma once

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "app/state/json_reader.h"
#include "app/state/state.h"

namespace headlight::app {

/// Returns the run that these choices give, named after what was changed about the model: "as trained", "1 head knocked
/// out".
BaselineRun make_baseline(const State& state);

/// Returns the words of `text` that `other` hasn't in their places, between one equal word before and one after; what is
/// equal beyond them, and what is longer than `most` bytes, is "…". The whole text where nothing is equal.
std::string differing_words(const std::string& text, const std::string& other, std::size_t most);

/// Returns what the present run is compared with, in a few words: the baseline's name, its model where it is another one,
/// and the words of its text that differ. There must be a baseline.
std::string compared_with(const State& state);

/// Returns the baseline's name for captions: "the baseline", or "the second text" where the baseline is that text's run.
const char* baseline_name(const State& state);
/// Returns the formula of a difference for captions: "now − baseline", or "first − second text".
const char* difference_caption(const State& state);

/// Is one of the two runs a capture and the other a network's? Then weights alone are compared: a capture may have nothing
/// else. There must be a baseline.
bool compares_capture_with_network(const State& state);

/// Compares the run with that of another text, of any length, under the same choices.
void compare_with_text(State& state, std::string text);
bool has_second_text(const State& state);
/// Returns the second text; there must be one.
std::string second_text(const State& state);
/// Gives the second text's run the present choices. Ends the comparison where the source has no text of its own. Called
/// after every change of the state.
void follow_second_text(State& state);
/// Makes the second text the first, and the first the second. There must be one.
void exchange_texts(State& state);
/// Forgets the baseline or the second text.
void stop_comparing(State& state);

/// Can the baseline's choices become the present ones? Not where another model or notebook is shown.
bool can_return_to_baseline(const State& state);
/// Puts text, settings, masks and heads back to what they were when the baseline was kept. It stays the baseline.
void return_to_baseline(State& state);

/// Returns {"name", "preset", "text", "model", "playground", "masks", "gains", …}, the members as a session has them; null:
/// nothing is the baseline.
nlohmann::json write_baseline(const SharedValue<BaselineRun>& baseline);
/// Throws Error naming the member that is invalid.
void read_baseline(const JsonReader& object, const char* key, SharedValue<BaselineRun>& value);

}  // namespace headlight::app
