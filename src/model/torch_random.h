#pragma once

#include <cstdint>
#include <random>

#include "core/tensor.h"
#include "model/network.h"
#include "model/weights.h"

namespace headlight::model {

/// PyTorch's CPU generator (at::CPUGeneratorImpl, a 32-bit Mersenne Twister) and PyTorch's draws from it, number for
/// number: torch.manual_seed, torch.rand, torch.randn and the default initialisation of nn.Linear and nn.Embedding.
/// Every bit agrees with PyTorch on a CPU with AVX2 (checked against 1.13). PyTorch itself rounds a randn of 16 and more
/// numbers differently on other CPUs, by up to 4.8e-7. Only the seed's lower 32 bits count, as in PyTorch.
class TorchRandom {
 public:
  explicit TorchRandom(std::uint64_t seed);

  /// torch.rand(shape): uniform on [0, 1), 24 bits of one draw each.
  Tensor rand(Shape shape);
  /// One number of torch.randint(low, high, …), low … high − 1; at most 2^32 − 1 numbers apart.
  std::int64_t randint(std::int64_t low, std::int64_t high);
  /// torch.randn(shape): Box–Muller, one value at a time below 16 elements, in blocks of 16 from there on
  /// (normal_fill in ATen/native/cpu/DistributionTemplates.h).
  Tensor randn(Shape shape);
  /// nn.Linear(in, out, bias): kaiming_uniform_(a=√5) for the weight and U(−1/√in, 1/√in) for the bias.
  Linear linear(std::uint32_t in, std::uint32_t out, bool bias = true);
  /// nn.Embedding(count, width).weight: N(0, 1).
  Tensor embedding(std::uint32_t count, std::uint32_t width);

 private:
  float uniform();
  double normal();

  std::mt19937 engine_;
  // The second value of a Box–Muller pair, which a small randn keeps for the next call, as PyTorch does.
  bool has_next_normal_ = false;
  double next_normal_ = 0.0;
};

}  // namespace headlight::model
