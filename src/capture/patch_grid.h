#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "files/image.h"

namespace headlight::capture {

/// The tokens that are the patches of an image, row by row. Tokens before, after and between the rows (a class token,
/// words, the line breaks of Pixtral) are no part of the grid.
struct PatchGrid {
  std::uint32_t rows = 0, columns = 0;
  std::uint32_t first = 0;  ///< the token of the upper left patch
  std::uint32_t step = 0;   ///< tokens from a row's first patch to the next row's; 0: `columns`

  struct Place {
    std::uint32_t row = 0, column = 0;
    bool operator==(const Place&) const = default;
  };
  /// The token after the last patch.
  std::uint64_t end() const { return rows == 0 ? first : first + (rows - std::uint64_t{1}) * row_step() + columns; }
  /// Nullopt: the token is no patch.
  std::optional<Place> place(std::uint32_t token) const {
    if (token < first || token >= end()) return std::nullopt;
    const Place found{.row = (token - first) / row_step(), .column = (token - first) % row_step()};
    return found.column < columns ? std::optional(found) : std::nullopt;
  }
  std::uint32_t row_step() const { return step == 0 ? columns : step; }
  bool operator==(const PatchGrid&) const = default;
};

/// An image whose patches are tokens.
struct PatchImage {
  PatchGrid grid;
  std::shared_ptr<const files::Pixels> pixels = {};  ///< null: the capture has none

  bool operator==(const PatchImage&) const = default;
};

/// The images among the tokens of a line, in the order of their tokens; none: all tokens are words.
struct PatchImages {
  std::vector<PatchImage> images = {};

  struct Found {
    std::size_t image = 0;
    PatchGrid::Place place = {};
  };
  /// Nullopt: the token is a word.
  std::optional<Found> find(std::uint32_t token) const;
  /// Returns "patch row 3, column 7", with several images "image 1, patch row 3, column 7"; empty where the token is a
  /// word.
  std::string name(std::uint32_t token) const;
  /// Returns the short name of a patch without a text: "3,7", in the second image "1:3,7".
  std::string short_name(const Found& found) const;

  bool is_empty() const { return images.empty(); }
  bool operator==(const PatchImages&) const = default;
};

}  // namespace headlight::capture
