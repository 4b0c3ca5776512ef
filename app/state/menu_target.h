#pragma once

#include <cstdint>

namespace headlight::app {

/// The target of a context menu: the pinned cell, the dragged range of cells, or the selected head.
enum class MenuTarget : std::uint8_t { Cell = 1, Range = 2, Head = 4 };
/// The targets as bits of a command's or a view's `menus_of`.
inline constexpr std::uint8_t kOfCell = 1, kOfRange = 2, kOfHead = 4;

}  // namespace headlight::app
