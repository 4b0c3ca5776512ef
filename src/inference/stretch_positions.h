#pragma once

#include <cstdint>

#include "model/network.h"

namespace headlight::inference {

/// The factors by which the learned tables of positions are made longer than trained; 1: as trained.
struct PositionStretch {
  std::uint32_t source = 1, target = 1;

  bool is_any() const { return source > 1 || target > 1; }
  bool operator==(const PositionStretch&) const = default;
};

/// The least whole factors with which the tables of positions have a row for every token of the input. Networks without
/// such tables (rotary positions, distances) need none.
PositionStretch needed_stretch(const model::Network& network, const model::ModelInput& input);

/// The network with longer tables of positions: position p of a table stretched by f is the position p / f of the trained
/// one, between two of its rows linearly interpolated ("Extending context window of large language models via positional
/// interpolation", Chen et al. 2023); beyond the last row it is the last row. A whole factor keeps the positions of a text
/// while tokens are added, as long as the factor stays. Layers are shared with the original.
std::shared_ptr<const model::Network> stretch_positions(const model::Network& network, const PositionStretch& stretch);

/// A stretched network and what it was made of.
struct StretchedNetwork {
  std::shared_ptr<const model::Network> original;
  PositionStretch stretch;
  std::shared_ptr<const model::Network> network;
};

/// Returns the factors by which `used` was stretched, if it was made from `trained`.
PositionStretch stretch_between(const model::Network& trained, const model::Network& used);

}  // namespace headlight::inference
