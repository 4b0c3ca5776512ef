#include "ops/linear_case.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/half.h"
#include "support/random.h"

namespace headlight::test {
namespace {

using namespace ops;

constexpr float kMarker = 7.25f;  // value of rows that no kernel computes

/// torch.nn.functional's relu, gelu, gelu(approximate="tanh") and silu, transformers' quick_gelu, and relu squared.
double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::Relu:
      return std::max(x, 0.0);
    case Activation::Gelu:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::GeluTanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::Silu:
      return x / (1.0 + std::exp(-x));
    case Activation::Relu2:
      return std::max(x, 0.0) * std::max(x, 0.0);
    case Activation::QuickGelu:
      return x / (1.0 + std::exp(-1.702 * x));
    case Activation::None:
      break;
  }
  return x;
}

}  // namespace

void fill_numbers(LinearCase& one, std::uint32_t seed) {
  Random random(seed);
  one.x = random.tensor({one.items, 1, one.x_room(), one.in});
  one.weight = random.tensor({one.out, one.in});
  one.bias = random.tensor({one.out});
  if (one.combine != Combine::None) one.other = random.tensor({one.items, 1, one.tokens, one.out});
}

void round_weight(LinearCase& one, float size) {
  for (float& weight : one.weight.values) {
    weight *= size;
    std::uint16_t bits = 0;
    if (one.type == WeightType::F16) weight = from_half(to_half(weight));
    if (one.type != WeightType::BF16) continue;
    to_bfloats(&weight, 1, &bits);
    from_bfloats(reinterpret_cast<const std::byte*>(&bits), 1, &weight);
  }
}

LinearNumbers expected(const LinearCase& one) {
  const Rows rows = one.rows.value_or(Rows{0, one.tokens});
  LinearNumbers results;
  for (std::size_t item = 0; item < one.items; ++item) {
    for (std::uint32_t token = 0; token < one.tokens; ++token) {
      const bool is_computed = token >= rows.first && token < rows.end();
      const std::size_t x_row =
          item * one.x_room() + (is_computed ? token - rows.first + one.x_first.value_or(rows.first) : 0);
      for (std::size_t o = 0; o < one.out; ++o) {
        double y = one.has_bias ? static_cast<double>(one.bias.values[o]) : 0.0;
        for (std::size_t i = 0; i < one.in && is_computed; ++i) {
          y +=
              static_cast<double>(one.x.values[x_row * one.in + i]) * static_cast<double>(one.weight.values[o * one.in + i]);
        }
        y = activated(one.activation, y);
        const std::size_t at = (item * one.tokens + token) * one.out + o;
        const double other = one.combine == Combine::None ? 0.0 : static_cast<double>(one.other.values[at]);
        const double sum = static_cast<double>(one.scale) * y + other;
        const double combined = one.combine == Combine::Multiply ? y * other : one.combine == Combine::Add ? sum : y;
        results.y.push_back(is_computed ? combined : static_cast<double>(kMarker));
        results.sum.push_back(is_computed ? sum : static_cast<double>(kMarker));
      }
    }
  }
  return results;
}

LinearOutcome run(Kernels& kernels, const LinearCase& one, LinearKernel kind) {
  kernels.set_tuning({.few_rows = kind, .many_rows = kind});
  gpu::Context& context = kernels.context();
  const LinearSource source{.weight = one.weight.values,
                            .bias = one.has_bias ? std::span<const float>(one.bias.values) : std::span<const float>(),
                            .out = one.out,
                            .in = one.in,
                            .type = one.type};
  const PackedLinear packed = pack(context, {&source, 1}, "a test");
  gpu::Stream stream(context);
  const DeviceTensor x = put(stream, one.x);
  Tensor marked({one.items, 1, one.tokens, one.out});
  std::fill(marked.values.begin(), marked.values.end(), kMarker);
  const DeviceTensor y = put(stream, marked), sum = put(stream, marked);
  const std::optional<DeviceTensor> other =
      one.combine == Combine::None ? std::nullopt : std::optional(put(stream, one.other));
  linear(stream, kernels, x, packed, y,
         {.activation = one.activation,
          .combine = one.combine,
          .other = other ? &*other : nullptr,
          .sum = one.combine == Combine::AddBeside ? &sum : nullptr,
          .scale = one.scale,
          .rows = one.rows,
          .x_first = one.x_first});
  const gpu::Download y_bytes = stream.download(y.buffer()), sum_bytes = stream.download(sum.buffer());
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  return {take(y, submission.values<float>(y_bytes)), take(sum, submission.values<float>(sum_bytes)),
          submission.dispatches()};
}

Deviation check_all(Kernels& kernels, const LinearCase& one, double most_nmse, std::span<const LinearKernel> kinds) {
  const LinearNumbers wanted = expected(one);
  Deviation worst;
  for (const LinearKernel kind : kinds) {
    const LinearOutcome outcome = run(kernels, one, kind);
    Deviation deviation = test::deviation(outcome.y.values.values, wanted.y);
    if (one.combine == Combine::AddBeside) {
      widen(deviation, test::deviation(outcome.sum.values.values, wanted.sum));
      CHECK(outcome.sum.is_padding_zero);
    }
    INFO(to_string(kind), ", [", one.items, ", ", one.tokens, ", ", one.in, "] → ", one.out, ", activation ",
         static_cast<int>(one.activation), ", combine ", static_cast<int>(one.combine));
    CHECK(deviation.nmse < most_nmse);
    CHECK(outcome.y.is_padding_zero);
    widen(worst, deviation);
  }
  return worst;
}

}  // namespace headlight::test
