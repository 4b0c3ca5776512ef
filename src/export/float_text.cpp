#include "export/float_text.h"

#include <array>
#include <charconv>

namespace headlight::exporting {

void append_float(std::string& text, float value) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text.append(digits.data(), end);
}

}  // namespace headlight::exporting
