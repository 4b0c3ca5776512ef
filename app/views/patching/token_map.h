#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Signed numbers of tokens and layers: tokens as rows with their texts, layers as columns.
struct TokenMap {
  std::string name;  ///< cells are marked "<name>.<column>.<token>"
  std::span<const std::uint32_t> layers;
  std::size_t tokens = 0;
  double largest = 0.0;                                                               ///< at the ends of the colours
  std::function<std::optional<double>(std::size_t column, std::size_t token)> value;  ///< none: not known yet
  std::function<std::string(std::size_t token)> label;
  std::function<std::string(std::size_t column, std::size_t token)> about;  ///< a cell's tooltip
  std::optional<std::size_t> column, token;                                 ///< selected
  std::function<void(std::size_t column, std::size_t token)> drag = {};     ///< behind a cell's item, which may be dragged
};

struct TokenMapClick {
  bool is_any = false;
  std::size_t column = 0, token = 0;
  bool is_double = false;
  std::optional<std::pair<std::size_t, std::size_t>> hovered = {};  ///< column and token under the pointer
};

/// Fills the region; the tokens scroll below the layers' numbers.
TokenMapClick draw_token_map(Frame& frame, const TokenMap& map);

}  // namespace headlight::app
