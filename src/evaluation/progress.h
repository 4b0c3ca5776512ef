#pragma once

#include <cstddef>
#include <functional>

namespace headlight::evaluation {

/// Called after each batch with the number of lines done. May be empty.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

}  // namespace headlight::evaluation
