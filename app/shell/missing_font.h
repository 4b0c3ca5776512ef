#pragma once

#include <cstdint>
#include <string>

namespace headlight::shell {

/// The message about a character that no installed font has: its script, and a package with a font for it. One line.
std::string missing_font_text(std::uint32_t code_point);

}  // namespace headlight::shell
