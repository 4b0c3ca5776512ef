#pragma once

#include <filesystem>

#include "attention/mask.h"

namespace headlight::app {

/// Reads a boolean mask from nested JSON lists (true/false or 1/0) or from a .npy file (bool, any integer, float32 or
/// float64; non-zero keeps the cell): [queries, keys], [batch, queries, keys] or [batch, heads, queries, keys]. Throws Error
/// in one line naming the file and what was found instead.
attention::BooleanMask load_mask(const std::filesystem::path& path);

}  // namespace headlight::app
