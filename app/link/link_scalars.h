#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight::app {

/// Numbers of a training by name ("loss", "lr"): a value for each step that has one, in ascending order of steps.
using ScalarCurves = std::map<std::string, std::vector<std::pair<std::int64_t, double>>>;

inline constexpr std::size_t kMaxScalars = 64;             ///< names
inline constexpr std::size_t kMaxScalarName = 100;         ///< bytes
inline constexpr std::size_t kMaxScalarSteps = 10'000;     ///< of one name; of more every second one is forgotten
inline constexpr std::size_t kMaxScalarBytes = 16 * 1024;  ///< of a message

/// Returns the numbers of one step, a JSON object {"loss": 0.3}. Throws Error in one line: no such object, more than
/// kMaxScalars members, a name that is empty, too long or not printable UTF-8, a value that is no finite number.
std::map<std::string, double> read_scalars(std::string_view json);

/// Puts the numbers of a step into the curves, in place of earlier numbers of that step. Throws Error, and changes nothing,
/// where there would be more than kMaxScalars names.
void add_scalars(ScalarCurves& curves, std::int64_t step, const std::map<std::string, double>& numbers);

}  // namespace headlight::app
