#include "model/sinusoid.h"

#include <cmath>

namespace headlight::model {

Tensor sinusoidal_positions(std::uint32_t length, std::uint32_t d_model) {
  Tensor positions(Shape{length, d_model});
  for (std::uint32_t column = 0; column < d_model; column += 2) {
    const double frequency = std::pow(10000.0, -static_cast<double>(column) / static_cast<double>(d_model));
    for (std::uint32_t row = 0; row < length; ++row) {
      float* pair = &positions.values[std::size_t{row} * d_model + column];
      const double angle = static_cast<double>(row) * frequency;
      pair[0] = static_cast<float>(std::sin(angle));
      if (column + 1 < d_model) pair[1] = static_cast<float>(std::cos(angle));
    }
  }
  return positions;
}

}  // namespace headlight::model
