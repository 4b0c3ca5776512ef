#pragma once

#include <cstdint>
#include <string>

namespace headlight::shell {

/// What to tell the user about a character that no installed font has: which script it is of, and a package that has a font
/// for it. One line.
std::string missing_font_text(std::uint32_t code_point);

}  // namespace headlight::shell
