#pragma once

#include "app/state/state.h"
#include "core/error.h"
#include "core/json.h"

namespace headlight::app {

/// Returns a state as JSON. Keys are the members' names; defaults are written too, so that a file is complete.
nlohmann::json to_json(const State& state);

/// Reads to_json's output. A missing key keeps its default, an unknown key is ignored (files of a newer version), a value
/// of the wrong type or out of range is a Failure that names the key: "view.theme: expected one of dark, light, found 3".
Result<State> state_from_json(const nlohmann::json& json);

/// Replaces the colour range "absolute", which every file had before colours went to the largest weight: they ended at 98 %
/// of the weights where few of these were large. state_from_json() reads the quantile in its place.
nlohmann::json with_color_range(nlohmann::json state, const char* range);

nlohmann::json to_json(const inference::PlaygroundSettings& settings);

/// Returns why a file's content isn't the JSON that was expected: "it is empty; expected a session, …". `problem`: of
/// parse_json(). Names content of another kind, and what opens it. `expected`: what file it should be, and what writes one.
std::string refusal_of_json(std::string_view content, const std::string& problem, std::string_view expected);

/// Reads a JSON file that the user chose. Throws Error naming the file, as read_json(), with refusal_of_json().
nlohmann::json read_chosen_json(const std::filesystem::path& path, std::string_view expected, const JsonLimits& limits = {});

}  // namespace headlight::app
