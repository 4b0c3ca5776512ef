#include "app/widgets/size_text.h"

#include "app/shapes/sentence.h"

#include <cmath>

#include <fmt/format.h>

namespace headlight::app {

std::string short_count(std::size_t count) {
  const double value = static_cast<double>(count);
  if (count < 1'000) return std::to_string(count);
  if (count < 999'500) return fmt::format("{:.3g} k", value / 1e3);
  if (count < 999'500'000) return fmt::format("{:.3g} M", value / 1e6);
  return fmt::format("{:.3g} B", value / 1e9);
}

std::string short_bytes(std::size_t bytes) {
  constexpr double kKibibyte = 1024.0;
  const double value = static_cast<double>(bytes);
  if (value < kKibibyte * kKibibyte) return fmt::format("{:.0f} KiB", std::ceil(value / kKibibyte));
  if (value < kKibibyte * kKibibyte * kKibibyte) return fmt::format("{:.1f} MiB", value / (kKibibyte * kKibibyte));
  return fmt::format("{:.2f} GiB", value / (kKibibyte * kKibibyte * kKibibyte));
}

std::string percent_text(double probability) {
  const double percent = probability * 100.0;
  if (percent >= 9.95) return fmt::format("{:.1f} %", percent);
  if (percent >= 0.0995) return fmt::format("{:.2f} %", percent);
  if (percent >= 0.00095) return fmt::format("{:.3f} %", percent);
  return "< 0.001 %";
}

std::string percent_word(double probability) { return number_word(percent_text(probability)); }

}  // namespace headlight::app
