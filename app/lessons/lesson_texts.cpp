#include "app/lessons/lesson_texts.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json.h"

namespace headlight::app {
namespace {

using nlohmann::json;

/// Members of lessons, cards and conditions that have no texts of the lesson.
const std::set<std::string> kNoTexts = {"opens", "numbers", "claims", "try",        "second_text",
                                        "image", "control", "matrix", "row_by_hand"};

bool is_text(const json& value) {
  return value.is_string() ||
         (value.is_array() && std::ranges::all_of(value, [](const json& part) { return part.is_string(); }));
}

/// Returns a text with what is shown in the place of its references, and notes the names that they have.
std::string without_references(std::string_view text, const json& claims, const std::string& path,
                               std::set<std::string>& used) {
  std::string shown;
  while (!text.empty()) {
    // Braces of formulas are groups.
    const std::size_t formula = text.front() == '$' ? text.find('$', 1) : std::string_view::npos;
    const std::size_t end = text.front() == '{' ? text.find('}') : std::string_view::npos;
    const std::size_t bar = text.substr(0, end == std::string_view::npos ? 0 : end).find('|');
    std::size_t taken = formula == std::string_view::npos ? 1 : formula + 1;
    if (bar != std::string_view::npos) {
      const std::string name(text.substr(bar + 1, end - bar - 1));
      if (!claims.contains(name)) throw Error("{}: there is no claim '{}'", path, name);
      used.insert(name);
      shown += text.substr(1, bar - 1);
      taken = end + 1;
    } else {
      shown += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return shown;
}

void resolve_part(json& value, const json& claims, const std::string& path, std::set<std::string>& used) {
  if (value.is_string()) value = without_references(value.get<std::string>(), claims, path, used);
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) resolve_part(value[i], claims, fmt::format("{}[{}]", path, i), used);
  }
  if (!value.is_object()) return;
  for (const auto& [key, part] : value.items()) {
    if (!kNoTexts.contains(key)) resolve_part(part, claims, fmt::format("{}.{}", path, key), used);
  }
}

}  // namespace

bool is_language(const std::string& key) {
  return key.size() == 2 && std::ranges::all_of(key, [](char letter) { return letter >= 'a' && letter <= 'z'; });
}

void choose_language(json& value, const std::string& path, const std::string& language, std::set<std::string>& found) {
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      choose_language(value[i], fmt::format("{}[{}]", path, i), language, found);
  }
  if (!value.is_object()) return;
  const auto inside = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  std::vector<std::string> languages;
  for (const auto& [key, texts] : value.items()) {
    if (is_language(key)) languages.push_back(key);
  }
  for (const std::string& key : languages) {
    const json texts = value[key];
    value.erase(key);
    if (!texts.is_object()) throw Error("{}: expected an object with texts, found {}", inside(key), shown(texts));
    for (const auto& [member, text] : texts.items()) {
      const auto beside = value.find(member);
      const bool fits = beside != value.end() && is_text(*beside) && is_text(text) && beside->type() == text.type() &&
                        beside->size() == text.size();
      if (!fits) throw Error("{}.{}: expected as many texts as \"{}\" has beside it", inside(key), member, member);
    }
    found.insert(key);
    if (key == language) value.update(texts);
  }
  for (const auto& [key, part] : value.items()) {
    if (!kNoTexts.contains(key)) choose_language(part, inside(key), language, found);
  }
}

void resolve_claims(json& card, const std::string& path) {
  const json claims = card.is_object() ? card.value("claims", json::object()) : json::object();
  if (!claims.is_object()) throw Error("{}.claims: expected an object, found {}", path, shown(claims));
  std::set<std::string> used;
  resolve_part(card, claims, path, used);
  for (const auto& [name, claim] : claims.items()) {
    if (!used.contains(name)) throw Error("{}.claims.{}: no text of the card refers to it", path, name);
  }
}

}  // namespace headlight::app
