#include "export/float_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace headlight::exporting {

void append_float(std::string& text, float value) {
  if (std::isnan(value)) {  // without its sign, which says nothing
    text += "nan";
    return;
  }
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text.append(digits.data(), end);
}

std::string table_number(double value) { return std::isnan(value) ? "nan" : fmt::format("{:.9g}", value); }

}  // namespace headlight::exporting
