#include "model/positions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>

namespace headlight::model {
namespace {

/// T5's bucket of a distance: exact up to half of the buckets, then logarithmic up to max_distance.
std::uint32_t bucket(std::int64_t distance, std::uint32_t buckets, const PositionBias& bias) {
  std::uint32_t first = 0;
  if (bias.is_bidirectional) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = -std::min<std::int64_t>(distance, 0);
  }
  const std::uint32_t exact = buckets / 2;
  if (distance < exact) return first + static_cast<std::uint32_t>(distance);
  // In float32, as PyTorch computes it: at the edges of buckets rounding decides.
  const float ratio = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(bias.max_distance) / exact));
  const auto beyond = static_cast<std::uint32_t>(ratio * static_cast<float>(buckets - exact));
  return first + std::min(exact + beyond, buckets - 1);
}

/// The nearest bfloat16, ties to even, of a finite number.
float to_bf16(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  return std::bit_cast<float>((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
}

}  // namespace

std::uint32_t Rotary::regime(std::uint32_t length) const {
  if (dynamic_factor > 0.0 && length > original_length) return length;
  return is_long(length) ? 1 : 0;
}

std::vector<double> Rotary::frequencies(std::uint32_t length) const {
  if (dynamic_factor == 0.0 || length <= original_length) {
    return is_long(length) ? long_inverse_frequencies : inverse_frequencies;
  }
  const double stretch = dynamic_factor * length / original_length - (dynamic_factor - 1.0);
  const double grown = base * std::pow(stretch, dimensions / (dimensions - 2.0));
  std::vector<double> frequencies;
  for (std::uint32_t i = 0; i < dimensions; i += 2)
    frequencies.push_back(std::pow(grown, -static_cast<double>(i) / dimensions));
  return frequencies;
}

Tensor Rotary::angles(std::uint32_t count, std::uint32_t length) const {
  // A keystroke asks for all positions: those of a block are turned on from its first, in double, by the angles of the first
  // block, which are computed once.
  constexpr std::uint32_t kBlock = 64;
  Tensor angles({count, dimensions / 2, 2});
  auto to = angles.values.begin();
  const std::vector<double> frequencies = this->frequencies(length);
  std::vector<std::complex<double>> within;  // the block
  for (std::uint32_t position = 0; position < std::min(count, kBlock); ++position) {
    for (const double frequency : frequencies) within.push_back(std::polar(1.0, position * frequency));
  }
  for (std::uint32_t first = 0; first < count; first += kBlock) {
    std::vector<std::complex<double>> begin;
    for (const double frequency : frequencies) begin.push_back(std::polar(factor(length), first * frequency));
    const std::size_t pairs = std::min(kBlock, count - first) * frequencies.size();
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::complex<double> one = begin[i % frequencies.size()], more = within[i];
      *to++ = static_cast<float>(one.real() * more.real() - one.imag() * more.imag());
      *to++ = static_cast<float>(one.real() * more.imag() + one.imag() * more.real());
    }
  }
  return angles;
}

double PositionBias::value(std::uint32_t head, std::int64_t distance) const {
  if (kind == Kind::Slopes) return static_cast<double>(table.values[head]) * static_cast<double>(distance);
  return static_cast<double>(table.at({bucket(distance, table.axis(0), *this), head}));
}

double PositionBias::of_cell(std::uint32_t head, std::uint32_t i, std::uint32_t j, std::uint32_t start) const {
  if (kind != Kind::KeySlopes) return value(head, std::int64_t{j} - std::int64_t{i});
  const float position = to_bf16(static_cast<float>(j - std::min(j, start)));
  return static_cast<double>(factor) * static_cast<double>(to_bf16(to_bf16(table.values[head]) * position));
}

std::uint32_t PositionBias::reach() const {
  return kind == Kind::Slopes ? std::numeric_limits<std::uint32_t>::max() : max_distance;
}

std::uint32_t DistanceVectors::row(std::int64_t distance) const {
  const std::int64_t middle = buckets / 2, far = std::abs(distance);
  if (buckets > 0 && far > middle) {
    // In float32, as PyTorch computes it: at the edges of buckets rounding decides.
    const auto ratio = [&](double number) { return std::log(static_cast<float>(number / static_cast<double>(middle))); };
    const float share = ratio(static_cast<double>(far)) / ratio(max_distance - 1.0);
    const auto beyond = static_cast<std::int64_t>(std::ceil(share * static_cast<float>(middle - 1)));
    distance = distance < 0 ? -middle - beyond : middle + beyond;
  }
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(distance + origin, 0, table.axis(0) - 1));
}

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
