#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace headlight::chart {

/// The message about characters that no installed font has: their scripts, each once, and Debian's packages with fonts for
/// them. One line.
std::string missing_font_text(std::span<const std::uint32_t> code_points);

}  // namespace headlight::chart
