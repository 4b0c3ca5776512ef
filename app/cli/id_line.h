#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::app {

/// The ids that a line of text lists: a JSON array, a JSON object whose "ids" is one, or numbers with white space or commas
/// between them. An empty line lists none. Throws Error with the reason for an invalid line.
std::vector<std::uint32_t> parse_ids(const std::string& line);

}  // namespace headlight::app
