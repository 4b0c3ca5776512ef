#pragma once

#include <exception>
#include <string>

namespace headlight {

/// What any exception says to the user, in one line: of an Error its own, of memory or threads that the system refuses what
/// to do.
std::string line_of(const std::exception& exception);

}  // namespace headlight
