#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace headlight::evaluation {

/// Indices of lines in groups that are run together: sorted by length, so that little is padded, the longest group
/// first, so that a group that doesn't fit fails at once. A group holds `most_lines` at most, and as many as keep
/// lines · longest ≤ most_tokens, but one at least.
std::vector<std::vector<std::size_t>> batches_by_length(std::span<const std::size_t> lengths, std::size_t most_lines,
                                                        std::size_t most_tokens);

/// Called after each batch with the number of lines done. May be empty.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

}  // namespace headlight::evaluation
