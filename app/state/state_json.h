#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/state/state.h"
#include "core/result.h"

namespace headlight::app {

/// A state as JSON. Keys are the members' names; defaults are written too, so that a file is complete.
nlohmann::json to_json(const State& state);

/// Reads to_json's output. A missing key keeps its default, an unknown key is ignored (files of a newer version), a value
/// of the wrong type or out of range is a Failure that names the key: "view.theme: expected one of dark, light, found 3".
Result<State> state_from_json(const nlohmann::json& json);

nlohmann::json to_json(const inference::PlaygroundSettings& settings);

}  // namespace headlight::app
