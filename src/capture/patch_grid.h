#pragma once

#include <cstdint>
#include <optional>

namespace headlight::capture {

/// Which tokens are the patches of an image, row by row. Tokens before and after them (a class token, registers, words) are
/// no part of it.
struct PatchGrid {
  std::uint32_t rows = 0, columns = 0;
  std::uint32_t first = 0;  ///< the token of the upper left patch

  struct Place {
    std::uint32_t row = 0, column = 0;
    bool operator==(const Place&) const = default;
  };
  std::uint32_t count() const { return rows * columns; }
  /// Nullopt: the token is no patch.
  std::optional<Place> place(std::uint32_t token) const {
    if (token < first || token - first >= count()) return std::nullopt;
    return Place{.row = (token - first) / columns, .column = (token - first) % columns};
  }
  bool operator==(const PatchGrid&) const = default;
};

}  // namespace headlight::capture
