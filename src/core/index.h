#pragma once

#include <compare>
#include <cstdint>

namespace headlight {

/// An index that can't be mistaken for another axis' index: LayerIndex{2} is no HeadIndex.
template <typename Axis>
struct Index {
  std::uint32_t value = 0;

  constexpr auto operator<=>(const Index&) const = default;
};

using LayerIndex = Index<struct LayerAxis>;
using BatchIndex = Index<struct BatchAxis>;
using HeadIndex = Index<struct HeadAxis>;

}  // namespace headlight
