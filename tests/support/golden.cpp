#include "support/golden.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/file.h"
#include "support/deviation.h"

namespace headlight::test {
namespace {

void append(const nlohmann::json& nested, std::vector<double>& flat) {
  if (nested.is_array()) {
    for (const nlohmann::json& element : nested) append(element, flat);
  } else if (nested.is_string()) {
    flat.push_back(nested == "-inf" ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN());
  } else {
    flat.push_back(nested.is_boolean() ? (nested.get<bool>() ? 1.0 : 0.0) : nested.get<double>());
  }
}

}  // namespace

nlohmann::json golden(std::string_view file) {
  return nlohmann::json::parse(read_file(std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / file));
}

std::vector<double> flatten(const nlohmann::json& nested) {
  std::vector<double> flat;
  append(nested, flat);
  return flat;
}

double max_difference(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || a.empty()) return std::numeric_limits<double>::infinity();
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) widen(largest, a[i], b[i]);
  return largest;
}

double max_difference(std::span<const float> a, std::span<const double> b) {
  return max_difference(std::span<const double>(std::vector<double>(a.begin(), a.end())), b);
}

bool is_same(std::span<const float> values, const nlohmann::json& nested) {
  const std::vector<double> flat = flatten(nested);
  return std::equal(values.begin(), values.end(), flat.begin(), flat.end(),
                    [](float value, double expected) { return value == static_cast<float>(expected); });
}

}  // namespace headlight::test
