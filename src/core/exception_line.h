#pragma once

#include <exception>
#include <string>

namespace headlight {

/// Returns the line that a user reads about an exception: an Error's own; where the system refuses memory or threads,
/// what to do.
std::string line_of(const std::exception& exception);

}  // namespace headlight
