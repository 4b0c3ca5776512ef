#include "chart/number_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace headlight::chart {
namespace {

constexpr float kScientificFrom = 1e5F;
constexpr std::string_view kMinus = "−";

std::size_t character_count(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// "1.5e-07" → "1.5e-7", "1e+09" → "1e9".
std::string scientific(float magnitude, std::uint32_t decimals) {
  std::string text = fmt::format("{:.{}e}", magnitude, decimals);
  const std::size_t exponent = text.find('e') + 1;
  if (text[exponent] == '+') text.erase(exponent, 1);
  const std::size_t digit = text[exponent] == '-' ? exponent + 1 : exponent;
  if (text[digit] == '0') text.erase(digit, 1);
  return text;
}

std::string with_sign(float value, const std::string& magnitude) {
  const bool is_zero = magnitude.find_first_of("123456789") == std::string::npos;
  return std::signbit(value) && !is_zero ? std::string(kMinus) + magnitude : magnitude;
}

}  // namespace

std::string format_fixed(float value, std::uint32_t decimals) {
  if (std::isnan(value)) return "–";
  if (std::isinf(value)) return value < 0 ? "−∞" : "∞";
  const float magnitude = std::abs(value);
  if (magnitude >= kScientificFrom) return with_sign(value, scientific(magnitude, 0));
  return with_sign(value, fmt::format("{:.{}f}", magnitude, decimals));
}

std::string format_scientific(float value, std::uint32_t decimals) {
  if (!std::isfinite(value)) return format_fixed(value, decimals);
  return value == 0.0F ? "0" : with_sign(value, scientific(std::abs(value), decimals));
}

std::string format_number(float value, std::uint32_t max_characters) {
  const auto fits = [&](const std::string& text) { return character_count(text) <= max_characters; };
  const float magnitude = std::abs(value);
  if (value == 0.0F) return max_characters >= 1 ? "0" : "";
  if (std::isfinite(value) && magnitude < 0.0005F) {
    for (const std::uint32_t decimals : {1U, 0U}) {
      if (std::string text = with_sign(value, scientific(magnitude, decimals)); fits(text)) return text;
    }
  }
  for (const std::uint32_t decimals : {3U, 2U, 1U, 0U}) {
    if (std::string text = format_fixed(value, decimals); fits(text)) return text;
  }
  return "";
}

std::string format_exact(float value) {
  if (!std::isfinite(value)) return format_fixed(value, 0);
  if (value == 0.0F) return "0";
  const float magnitude = std::abs(value);
  if (magnitude < 1e-4F || magnitude >= 1e7F) return format_scientific(value, magnitude < 1.0F ? 6 : 3);
  return with_sign(value, fmt::format("{:.7g}", magnitude));
}

}  // namespace headlight::chart
