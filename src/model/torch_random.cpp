#include "model/torch_random.h"

#include <cmath>
#include <numbers>

#include "core/error.h"
#include "model/torch_normal_fill.h"

namespace headlight::model {
namespace {

/// 53 bits of two draws, the first one on top: torch's random64 behind a uniform double.
double uniform_double(std::mt19937& engine) {
  const std::uint64_t high = engine();
  const std::uint64_t bits = high << 32 | engine();
  return static_cast<double>(bits & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
}

/// Tensor.uniform_(−bound, bound): rounded once, the multiply-add is fused.
template <typename Uniform>
void fill_uniform(std::vector<float>& values, double bound, Uniform uniform) {
  const float low = static_cast<float>(-bound);
  const float range = static_cast<float>(bound) - low;
  for (float& value : values) value = std::fma(uniform(), range, low);
}

}  // namespace

TorchRandom::TorchRandom(std::uint64_t seed) : engine_(static_cast<std::uint32_t>(seed)) {}

float TorchRandom::uniform() { return static_cast<float>(engine_() & ((1u << 24) - 1)) * 0x1p-24f; }

double TorchRandom::normal() {
  if (has_next_normal_) {
    has_next_normal_ = false;
    return next_normal_;
  }
  const double angle = 2.0 * std::numbers::pi * uniform_double(engine_);
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform_double(engine_)));
  next_normal_ = radius * std::sin(angle);
  has_next_normal_ = true;
  return radius * std::cos(angle);
}

Tensor TorchRandom::rand(Shape shape) {
  Tensor tensor(std::move(shape));
  for (float& value : tensor.values) value = uniform();
  return tensor;
}

std::int64_t TorchRandom::randint(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(engine_()) % (high - low);
}

Tensor TorchRandom::randn(Shape shape) {
  Tensor tensor(std::move(shape));
  std::vector<float>& values = tensor.values;
  if (values.size() < kNormalBlock) {
    for (float& value : values) value = static_cast<float>(normal());
    return tensor;
  }
  for (float& value : values) value = uniform();
  for (std::size_t start = 0; start + kNormalBlock <= values.size(); start += kNormalBlock) {
    normal_fill_block(std::span<float, kNormalBlock>(values.data() + start, kNormalBlock));
  }
  if (values.size() % kNormalBlock != 0) {
    // The last 16 are drawn again, overwriting finished numbers.
    const std::span<float, kNormalBlock> tail(values.data() + values.size() - kNormalBlock, kNormalBlock);
    for (float& value : tail) value = uniform();
    normal_fill_block(tail);
  }
  return tensor;
}

Linear TorchRandom::linear(std::uint32_t in, std::uint32_t out, bool bias) {
  if (in == 0 || out == 0)
    throw Error("a Linear of {} inputs and {} outputs has no weights: give it at least one of each", in, out);
  const auto draw = [this] { return uniform(); };
  Tensor weight(Shape{out, in}), offsets;
  // kaiming_uniform_ with a = √5: gain √(2/(1 + a²)), standard deviation gain/√in, bound √3 times that, in this order.
  const double root = std::sqrt(static_cast<double>(in));
  const double deviation = std::sqrt(2.0 / (1.0 + std::sqrt(5.0) * std::sqrt(5.0))) / root;
  fill_uniform(weight.values, std::sqrt(3.0) * deviation, draw);
  if (bias) {
    offsets = Tensor(Shape{out});
    fill_uniform(offsets.values, 1.0 / root, draw);
  }
  return {.weight = std::move(weight), .bias = std::move(offsets)};
}

Tensor TorchRandom::embedding(std::uint32_t count, std::uint32_t width) { return randn({count, width}); }

}  // namespace headlight::model
