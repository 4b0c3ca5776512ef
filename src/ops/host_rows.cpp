#include "ops/host_operations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>

namespace headlight::ops {
namespace {

constexpr std::size_t kVectorLanes = 16;  // sums on their way at once, which the compiler makes vectors of
constexpr std::uint32_t kRowsPerTask = 16;
constexpr double kCost = 2.5;  // of reading, changing and writing a number, in multiply-adds of a linear layer

/// Σ of(i) for i < count, in an order that depends on count alone.
template <typename Of>
float sum_of(std::size_t count, const Of& of) {
  std::array<float, kVectorLanes> sums{};
  std::size_t i = 0;
  for (; i + kVectorLanes <= count; i += kVectorLanes) {
    for (std::size_t lane = 0; lane < kVectorLanes; ++lane) sums[lane] += of(i + lane);
  }
  for (std::size_t lane = 0; i + lane < count; ++lane) sums[lane] += of(i + lane);
  float sum = 0.0f;
  for (const float some : sums) sum += some;
  return sum;
}

/// `place`: where number i of a row is, in a tensor whose heads have so many tokens.
template <typename Place>
void normalise(const NormParameters& p, const float* x, const float* y, const float* affine, float* result,
               const Place& place) {
  const std::size_t width = std::size_t{p.width} * p.pieces, padded = std::size_t{p.width4} * 4;
  const auto number = [&](const float* from, std::size_t i) { return from[place(i, p.capacity)]; };
  const auto input = [&](std::size_t i) { return p.adds == 1 ? number(x, i) + number(y, i) : number(x, i); };
  const auto count = static_cast<float>(width);
  const float mean = p.is_rms != 0 ? 0.0f : sum_of(width, input) / count;
  const float squares = sum_of(width, [&](std::size_t i) { return (input(i) - mean) * (input(i) - mean); });
  const float inverse = 1.0f / std::sqrt(squares / count + p.epsilon);
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t at = place(i, 1);
    float normal = (input(i) - mean) * inverse * affine[at] + affine[padded * p.pieces + at];
    if (p.clip > 0.0f) normal = std::clamp(normal, -p.clip, p.clip);
    result[place(i, p.out_capacity)] = p.adds == 2 ? number(y, i) + normal : normal;
  }
  for (std::size_t piece = 0; piece < p.pieces; ++piece) {
    float* begin = result + piece * p.out_capacity * padded;
    std::fill(begin + p.width, begin + padded, 0.0f);
  }
}

void normalise(const NormParameters& p, const float* x, const float* y, const float* affine, float* result) {
  if (p.pieces == 1) return normalise(p, x, y, affine, result, [](std::size_t i, std::size_t) { return i; });
  normalise(p, x, y, affine, result,
            [&](std::size_t i, std::size_t tokens) { return i / p.width * tokens * p.width4 * 4 + i % p.width; });
}

/// Calls row(number) for each of `rows`.
void for_rows(HostThreads& threads, std::uint32_t rows, double numbers_each, const std::function<void(std::uint32_t)>& row) {
  const auto part = [&](std::uint32_t number) {
    const std::uint32_t end = std::min(rows, (number + 1) * kRowsPerTask);
    for (std::uint32_t i = number * kRowsPerTask; i < end; ++i) row(i);
  };
  const std::uint32_t parts = divide_up(rows, kRowsPerTask);
  threads.run(parts, kCost * numbers_each * rows, part);
}

}  // namespace

bool rows_on_host(const Kernels& kernels) {
  return kernels.context().device().runs_host_steps && is_host(kernels.tuning().many_rows);
}

bool norm_on_host(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const DeviceTensor& y,
                  const gpu::Buffer& affine, const DeviceTensor& result, const NormParameters& parameters) {
  if (!is_mapped(x.buffer()) || !is_mapped(y.buffer()) || !is_mapped(affine) || !is_mapped(result.buffer())) return false;
  stream.run_on_host([p = parameters, from = numbers<const float>(x.buffer()), other = numbers<const float>(y.buffer()),
                      weights = numbers<const float>(affine), to = numbers<float>(result.buffer()),
                      &threads = kernels.host_threads()] {
    for_rows(threads, p.rows, static_cast<double>(p.width) * p.pieces, [&](std::uint32_t row) {
      const std::size_t map = row / p.tokens, token = row % p.tokens, item = map / p.heads, head = map % p.heads;
      const std::size_t in = (item * p.stride4 + (head * p.capacity + p.first + token) * p.width4) * 4;
      const std::size_t out = (item * p.out_stride4 + (head * p.out_capacity + p.out_first + token) * p.width4) * 4;
      normalise(p, from + in, other + in, weights + head * p.affine_stride4 * 4, to + out);
    });
  });
  return true;
}

bool rotate_on_host(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const RotaryAngles& angles,
                    const RotateParameters& parameters) {
  if (!is_mapped(x.buffer()) || !is_mapped(angles.angles) || !is_mapped(angles.positions)) return false;
  stream.run_on_host([p = parameters, items = x.items, to = numbers<float>(x.buffer()),
                      table = numbers<const float>(angles.angles),
                      positions = numbers<const std::uint32_t>(angles.positions), &threads = kernels.host_threads()] {
    for_rows(threads, items * p.heads * p.tokens, 2.0 * p.pairs, [&](std::uint32_t number) {
      const std::size_t map = number / p.tokens, item = map / p.heads, head = map % p.heads;
      const std::size_t token = p.first + number % p.tokens;
      float* row = to + item * p.stride + (head * p.capacity + token) * p.width;
      const float* angle = table + std::size_t{positions[item * p.all_tokens + token]} * p.pairs * 2;
      const std::size_t apart = p.is_interleaved != 0 ? 1 : p.pairs, step = p.is_interleaved != 0 ? 2 : 1;
      for (std::size_t pair = 0; pair < p.pairs; ++pair, angle += 2) {
        float& a = row[pair * step];
        float& b = row[pair * step + apart];
        const float turned = a * angle[0] - b * angle[1];
        b = b * angle[0] + a * angle[1];
        a = turned;
      }
    });
  });
  return true;
}

}  // namespace headlight::ops
