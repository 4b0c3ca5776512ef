#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/json.h"

namespace headlight::app {

/// Why a file's content isn't the JSON that was expected: "it is empty; expected a session, …". `problem`: of parse_json().
/// Tells content of another kind, and what opens it. `expected`: what file it should be, and what writes one.
std::string refusal_of_json(std::string_view content, const std::string& problem, std::string_view expected);

/// A JSON file that the user chose. Throws Error naming the file, as read_json(), with refusal_of_json().
nlohmann::json read_chosen_json(const std::filesystem::path& path, std::string_view expected, const JsonLimits& limits = {});

}  // namespace headlight::app
