#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace headlight::test {

/// A file of tests/golden.
nlohmann::json golden(std::string_view file);

/// Nested lists as one row-major list; "-inf" becomes −∞.
std::vector<double> flatten(const nlohmann::json& nested);

/// max |a − b|; ∞ when the sizes differ, a number is NaN or only one of two is infinite.
double max_difference(std::span<const double> a, std::span<const double> b);
double max_difference(std::span<const float> a, std::span<const double> b);

/// Do the floats equal those of the file, which has nine digits, exactly?
bool is_same(std::span<const float> values, const nlohmann::json& nested);

}  // namespace headlight::test
