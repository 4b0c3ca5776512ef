#include "app/checks/check_line.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace headlight::app {
namespace {

constexpr std::array<std::string_view, 3> kStatusNames{"ok", "warn", "fail"};

}  // namespace

std::string_view to_string(CheckStatus status) { return kStatusNames.at(static_cast<std::size_t>(status)); }

nlohmann::ordered_json to_json(const CheckLine& line) {
  nlohmann::ordered_json json{
      {"group", line.group}, {"name", line.name}, {"status", to_string(line.status)}, {"what", line.what}};
  for (const auto& [name, number] : line.numbers) json["numbers"][name] = number;
  if (!line.kernels.empty()) json["kernels"] = line.kernels;
  return json;
}

std::optional<CheckLine> read_check_line(const nlohmann::json& json) {
  try {
    CheckLine line{.group = json.at("group"), .name = json.at("name"), .what = json.at("what")};
    const auto status = std::ranges::find(kStatusNames, json.at("status").get<std::string>());
    if (status == kStatusNames.end()) return std::nullopt;
    line.status = static_cast<CheckStatus>(status - kStatusNames.begin());
    if (const auto numbers = json.find("numbers"); numbers != json.end()) {
      for (const auto& [name, number] : numbers->items()) {
        if (number.is_number()) line.numbers.emplace_back(name, number.get<double>());
      }
    }
    line.kernels = json.value("kernels", std::vector<std::string>());
    return line;
  } catch (const nlohmann::json::exception&) {  // a driver that writes to standard output
    return std::nullopt;
  }
}

}  // namespace headlight::app
