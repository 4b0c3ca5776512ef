#include "model/architectures/settings.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/json.h"
#include "model/architectures/families.h"

namespace headlight::model {

Settings::Settings(std::string_view json, std::string where) : where_(std::move(where)) {
  constexpr JsonLimits kLimits{.bytes = std::size_t{16} << 20, .values = std::size_t{1} << 20};
  Result<nlohmann::json> parsed = parse_json(json, kLimits);
  if (!parsed) throw Error("{}: {}: correct it or download it again", where_, parsed.error());
  json_ = std::move(parsed).value();
  if (!json_.is_object()) throw Error("{} isn't a JSON object: download it again", where_);
}

Settings::Found Settings::find(Names keys) const {
  Found found{keys.substr(0, keys.find('|')), nullptr};
  bool is_named = known_.empty();
  for_each_name(keys, [&](std::string_view key) {
    if (!is_named && std::ranges::count(known_, key) > 0) {
      found.key = key;
      is_named = true;
    }
    if (found.value != nullptr || key.empty()) return;
    const auto it = json_.find(std::string(key));
    if (it != json_.end() && !it->is_null()) found = {key, &*it};
  });
  return found;
}

Settings Settings::only(std::span<const std::string_view> keys) const {
  nlohmann::json kept = nlohmann::json::object();
  for (const std::string_view key : keys) {
    if (const auto it = json_.find(std::string(key)); it != json_.end()) kept[std::string(key)] = *it;
  }
  Settings settings(std::move(kept), where_);
  settings.known_.assign(keys.begin(), keys.end());
  return settings;
}

Settings Settings::over(nlohmann::json defaults) const {
  nlohmann::json all = std::move(defaults);
  all.update(json_);
  Settings settings(std::move(all), where_);
  settings.known_ = known_;
  return settings;
}

Settings Settings::with(std::string_view key, nlohmann::json value) const {
  Settings settings = *this;
  settings.json_[std::string(key)] = std::move(value);
  return settings;
}

bool Settings::is_null(Names keys) const {
  bool is_null = false;
  for_each_name(keys, [&](std::string_view key) {
    const auto it = json_.find(std::string(key));
    is_null = is_null || (it != json_.end() && it->is_null());
  });
  return is_null && !has(keys);
}

bool Settings::is_list(Names keys) const { return has(keys) && find(keys).value->is_array(); }

void Settings::refuse(Names keys, std::string_view expected) const {
  const Found found = find(keys);
  if (found.value == nullptr)
    throw Error("{}: {} is {}, but must be {}", where_, found.key, is_null(keys) ? "null" : "missing", expected);
  throw Error("{}: {} is {}, but must be {}", where_, found.key, shown(*found.value), expected);
}

void Settings::refuse_network(Names keys, std::string_view expected) const {
  refuse(keys, fmt::format("{}: Headlight computes nothing else", expected));
}

double Settings::checked(const nlohmann::json& value, Names keys, double smallest, double largest) const {
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  if (!(number >= smallest && number <= largest)) refuse(keys, fmt::format("a number from {} to {}", smallest, largest));
  return number;
}

std::uint32_t Settings::count(Names keys, std::uint32_t largest) const {
  if (!has(keys)) refuse(keys, fmt::format("a whole number from 1 to {}", largest));
  return count(keys, 0, largest);
}

std::uint32_t Settings::count(Names keys, std::uint32_t fallback, std::uint32_t largest, std::uint32_t smallest) const {
  const nlohmann::json* value = find(keys).value;
  if (value == nullptr) return fallback;
  const double number = value->is_number() ? value->get<double>() : -1.0;
  if (!(number >= smallest && number <= largest) || number != std::floor(number)) {
    refuse(keys, fmt::format("a whole number from {} to {}", smallest, largest));
  }
  return static_cast<std::uint32_t>(number);
}

double Settings::number(Names keys, double fallback, double smallest, double largest) const {
  const nlohmann::json* value = find(keys).value;
  return value == nullptr ? fallback : checked(*value, keys, smallest, largest);
}

bool Settings::flag(Names keys, bool fallback) const {
  const nlohmann::json* value = find(keys).value;
  if (value == nullptr) return fallback && !is_null(keys);
  if (!value->is_boolean()) refuse(keys, "true or false");
  return value->get<bool>();
}

std::string Settings::text(Names keys, std::string_view fallback) const {
  const nlohmann::json* value = find(keys).value;
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) refuse(keys, "a text");
  return value->get<std::string>();
}

std::vector<std::uint64_t> Settings::ids(Names keys) const {
  const nlohmann::json* found = find(keys).value;
  std::vector<std::uint64_t> ids;
  if (found == nullptr) return ids;
  for (const nlohmann::json& value : found->is_array() ? *found : nlohmann::json::array({*found})) {
    if (!value.is_number_integer()) refuse(keys, "an id of the vocabulary");
    if (value.is_number_unsigned() || value.get<std::int64_t>() >= 0) ids.push_back(value.get<std::uint64_t>());
  }
  return ids;
}

std::vector<double> Settings::numbers(Names keys, double smallest, double largest) const {
  const nlohmann::json* found = find(keys).value;
  std::vector<double> numbers;
  if (found == nullptr) return numbers;
  if (!found->is_array()) refuse(keys, "a list of numbers");
  for (const nlohmann::json& value : *found) numbers.push_back(checked(value, keys, smallest, largest));
  return numbers;
}

std::vector<std::string> Settings::texts(Names keys) const {
  const nlohmann::json* found = find(keys).value;
  std::vector<std::string> texts;
  if (found == nullptr) return texts;
  if (found->is_string()) {
    for_each_name(found->get_ref<const std::string&>(), [&](std::string_view part) { texts.emplace_back(part); });
    return texts;
  }
  if (!found->is_array()) refuse(keys, "a list of texts");
  for (const nlohmann::json& value : *found) {
    if (!value.is_string()) refuse(keys, "a list of texts");
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

std::vector<std::pair<std::vector<std::string>, std::uint32_t>> Settings::runs(Names keys, std::uint32_t largest) const {
  const nlohmann::json* found = find(keys).value;
  std::vector<std::pair<std::vector<std::string>, std::uint32_t>> runs;
  if (found == nullptr) return runs;
  const auto expect = [&](bool is_right) {
    if (!is_right) refuse(keys, "a list of [texts, number of times]");
  };
  expect(found->is_array());
  for (const nlohmann::json& run : *found) {
    expect(run.is_array() && run.size() == 2 && run[0].is_array() && run[1].is_number_unsigned() && run[1] <= largest);
    auto& [names, times] = runs.emplace_back();
    times = run[1].get<std::uint32_t>();
    for (const nlohmann::json& name : run[0]) {
      expect(name.is_string());
      names.push_back(name.get<std::string>());
    }
    expect(names.size() <= largest && runs.size() <= largest);
  }
  return runs;
}

Settings Settings::with_nested(std::string_view key) const {
  nlohmann::json all = json_;
  if (const std::optional<Settings> nested = child(key)) {
    for (const auto& [name, value] : nested->json_.items()) all[fmt::format("{}.{}", key, name)] = value;
  }
  return Settings(std::move(all), where_);
}

std::optional<Settings> Settings::child(Names keys) const {
  const Found found = find(keys);
  if (found.value == nullptr) return std::nullopt;
  if (!found.value->is_object()) refuse(keys, "an object");
  return Settings(*found.value, fmt::format("{}: {}", where_, found.key));
}

}  // namespace headlight::model
