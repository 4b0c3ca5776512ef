#pragma once

#include <set>
#include <string>

#include <nlohmann/json.hpp>

namespace headlight::app {

/// Is it a key for texts in a language, two small letters ("de")?
bool is_language(const std::string& key);

/// Puts the texts of `language` in the place of those beside them, and takes all translations out of `value`, the member
/// `path` of a lesson's file. `found`: their languages. Throws Error.
void choose_language(nlohmann::json& value, const std::string& path, const std::string& language,
                     std::set<std::string>& found);

/// Puts what is shown, "0.83", in the place of each reference, "{0.83|w}", in the texts of a card in all languages. Throws
/// Error where a text refers to something that isn't among the card's claims, or where none refers to one of them.
void resolve_claims(nlohmann::json& card, const std::string& path);

}  // namespace headlight::app
