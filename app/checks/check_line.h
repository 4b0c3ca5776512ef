#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace headlight::app {

enum class CheckStatus : std::uint8_t { Ok, Warn, Fail };
/// Returns "ok", "warn", "fail".
std::string_view to_string(CheckStatus status);

/// One finding about a device.
struct CheckLine {
  std::string group = {}, name = {};
  CheckStatus status = CheckStatus::Ok;
  std::string what = {};                                     ///< one line, without paths
  std::vector<std::pair<std::string, double>> numbers = {};  ///< measured; the name has the unit
  std::vector<std::string> kernels = {};                     ///< whose numbers are wrong
};

/// Writes the object that the two sides of a check's pipe exchange, one a line.
nlohmann::ordered_json to_json(const CheckLine& line);
/// Reads such an object; nullopt: it isn't one.
std::optional<CheckLine> read_check_line(const nlohmann::json& json);

}  // namespace headlight::app
