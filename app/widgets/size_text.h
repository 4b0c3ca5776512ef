#pragma once

#include <cstddef>
#include <string>

namespace headlight::app {

/// Returns "7", "33.4 k", "124 M", "8.03 B": three significant digits.
std::string short_count(std::size_t count);
/// Returns "12 KiB", "4.5 MiB", "1.25 GiB".
std::string short_bytes(std::size_t bytes);
/// Returns "99.9 %", "3.2 %", "0.004 %": a probability, short enough for a column.
std::string percent_text(double probability);
/// The same as a number of a sentence.
std::string percent_word(double probability);

}  // namespace headlight::app
