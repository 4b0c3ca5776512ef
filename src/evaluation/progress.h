#pragma once

#include <cstddef>
#include <functional>

namespace headlight::evaluation {

/// Told after each batch how many of the lines are done. May be empty.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

}  // namespace headlight::evaluation
