// Mixtures of experts against plain loops in double precision.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "core/half.h"
#include "ops/experts.h"
#include "support/deviation.h"
#include "support/gpu.h"
#include "support/gpu_tensors.h"
#include "support/random.h"

namespace experts_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

struct ExpertCase {
  std::uint32_t items = 1, tokens = 1, experts = 4, per_token = 2, width = 36, inner = 50;
  bool sums_to_one = false, has_gate = true;
  std::uint32_t shared_kind = 0;
  WeightType type = WeightType::F32;
  std::optional<Rows> rows = {};
  std::uint32_t pairs_at_once = 1u << 16;
};

constexpr std::size_t kBlock = 32, kBlockBytes = 34;  // of Q8_0: a float16 scale, and whole numbers
constexpr float kBlockScale = 1.0f / 64.0f;
constexpr float kMarker = 7.25f;  // value of rows that no kernel computes

struct ExpertNumbers {
  Tensor x, logits, in, gate, out, shared, shared_gate;  ///< weights [expert · out, in]
};

ExpertNumbers make_numbers(const ExpertCase& one, std::uint32_t seed) {
  test::Random random(seed);
  const auto weights = [&](std::uint32_t out, std::uint32_t in) {
    Tensor tensor = random.tensor({one.experts * out, in});
    for (float& value : tensor.values) {
      std::uint16_t bits = 0;
      if (has_blocks(one.type)) value = std::round(value / kBlockScale) * kBlockScale;
      if (one.type == WeightType::F16) value = from_half(to_half(value));
      if (one.type != WeightType::BF16) continue;
      to_bfloats(&value, 1, &bits);
      from_bfloats(reinterpret_cast<const std::byte*>(&bits), 1, &value);
    }
    return tensor;
  };
  return {.x = random.tensor({one.items, 1, one.tokens, one.width}),
          .logits = random.tensor({one.items, 1, one.tokens, one.experts}),
          .in = weights(one.inner, one.width),
          .gate = weights(one.inner, one.width),
          .out = weights(one.width, one.inner),
          .shared = random.tensor({one.items, 1, one.tokens, one.width}),
          .shared_gate = random.tensor({one.items, 1, one.tokens, 1})};
}

struct ExpertResults {
  std::vector<double> y, gates;
};

double dot(const Tensor& weights, std::size_t row, const double* x) {
  double sum = 0.0;
  const std::size_t width = weights.axis(1);
  for (std::size_t i = 0; i < width; ++i) sum += static_cast<double>(weights.values[row * width + i]) * x[i];
  return sum;
}

ExpertResults expected(const ExpertCase& one, const ExpertNumbers& numbers) {
  const Rows rows = one.rows.value_or(Rows{0, one.tokens});
  ExpertResults results;
  for (std::size_t row = 0; row < std::size_t{one.items} * one.tokens; ++row) {
    const std::size_t token = row % one.tokens;
    const bool is_computed = token >= rows.first && token < rows.end();
    std::vector<double> gates(one.experts, static_cast<double>(kMarker)), y(one.width, static_cast<double>(kMarker));
    if (is_computed) {
      const float* logits = &numbers.logits.values[row * one.experts];
      std::vector<std::size_t> order(one.experts);
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t expert) { return logits[expert]; });
      const auto exponential = [&](std::size_t expert) {
        return std::exp(static_cast<double>(logits[expert]) - static_cast<double>(logits[order[0]]));
      };
      double sum = 0.0;
      for (std::size_t n = 0; n < (one.sums_to_one ? one.per_token : one.experts); ++n) sum += exponential(order[n]);
      std::ranges::fill(gates, 0.0);
      std::ranges::fill(y, 0.0);
      std::vector<double> x(one.width), inner(one.inner);
      for (std::size_t i = 0; i < one.width; ++i) x[i] = static_cast<double>(numbers.x.values[row * one.width + i]);
      for (std::size_t n = 0; n < one.per_token; ++n) {
        const std::size_t expert = order[n];
        gates[expert] = exponential(expert) / sum;
        for (std::size_t i = 0; i < one.inner; ++i) {
          const double hidden = dot(numbers.in, expert * one.inner + i, x.data());
          const double opened = one.has_gate ? dot(numbers.gate, expert * one.inner + i, x.data()) : hidden;
          inner[i] = opened / (1.0 + std::exp(-opened)) * (one.has_gate ? hidden : 1.0);
        }
        for (std::size_t i = 0; i < one.width; ++i)
          y[i] += gates[expert] * dot(numbers.out, expert * one.width + i, inner.data());
      }
      const double opened = 1.0 / (1.0 + std::exp(-static_cast<double>(numbers.shared_gate.values[row])));
      for (std::size_t i = 0; i < one.width && one.shared_kind > 0; ++i) {
        y[i] += (one.shared_kind == 2 ? opened : 1.0) * static_cast<double>(numbers.shared.values[row * one.width + i]);
      }
    }
    results.y.insert(results.y.end(), y.begin(), y.end());
    results.gates.insert(results.gates.end(), gates.begin(), gates.end());
  }
  return results;
}

/// Multiples of 1/64 of at most 127, as Q8_0 stores them.
std::vector<std::byte> to_blocks(const Tensor& weights) {
  std::vector<std::byte> bytes(weights.values.size() / kBlock * kBlockBytes);
  const std::uint16_t scale = to_half(kBlockScale);
  for (std::size_t i = 0; i < weights.values.size(); ++i) {
    std::byte* block = bytes.data() + i / kBlock * kBlockBytes;
    std::memcpy(block, &scale, sizeof(scale));
    block[2 + i % kBlock] = static_cast<std::byte>(static_cast<std::int8_t>(weights.values[i] / kBlockScale));
  }
  return bytes;
}

/// The experts' weights as sections of one.
PackedLinear pack_all(gpu::Context& context, const Tensor& weights, std::uint32_t experts, WeightType type) {
  const std::uint32_t out = weights.axis(0) / experts, in = weights.axis(1);
  std::vector<LinearSource> sources;
  const std::vector<std::byte> blocks = has_blocks(type) ? to_blocks(weights) : std::vector<std::byte>();
  for (std::uint32_t expert = 0; expert < experts; ++expert) {
    sources.push_back({.weight = std::span(weights.values).subspan(std::size_t{expert} * out * in, std::size_t{out} * in),
                       .out = out,
                       .in = in,
                       .type = type});
    if (blocks.empty()) continue;
    sources.back().read_blocks = [&blocks, first = expert * out, in](std::uint32_t row, std::uint32_t count, std::byte* to) {
      const std::size_t bytes = in / kBlock * kBlockBytes;
      std::copy_n(blocks.data() + (first + row) * bytes, count * bytes, to);
    };
  }
  return pack(context, sources, "a test");
}

struct ExpertOutcome {
  test::Taken y, gates;
  std::vector<std::uint32_t> choices;  ///< of the last part
};

ExpertOutcome run(Kernels& kernels, const ExpertCase& one, const ExpertNumbers& numbers, LinearKernel kind) {
  kernels.set_tuning({.few_rows = kind, .many_rows = kind});
  gpu::Context& context = kernels.context();
  const PackedLinear in = pack_all(context, numbers.in, one.experts, one.type),
                     gate = pack_all(context, numbers.gate, one.experts, one.type),
                     out = pack_all(context, numbers.out, one.experts, one.type);
  const ExpertCounts counts{one.experts, one.per_token, one.sums_to_one};
  gpu::Stream stream(context);
  const DeviceTensor x = test::put(stream, numbers.x), logits = test::put(stream, numbers.logits);
  const DeviceTensor shared = test::put(stream, numbers.shared), shared_gate = test::put(stream, numbers.shared_gate);
  Tensor marked_y = numbers.x, marked_gates = numbers.logits;
  std::ranges::fill(marked_y.values, kMarker);
  std::ranges::fill(marked_gates.values, kMarker);
  const DeviceTensor y = test::put(stream, marked_y), gates = test::put(stream, marked_gates);
  const Rows rows = one.rows.value_or(x.all());
  std::uint32_t pairs = 0, last_pairs = 0;
  const std::vector<ExpertRows> parts = expert_parts(one.items, rows, one.per_token, one.pairs_at_once);
  for (const ExpertRows& part : parts) pairs = std::max(pairs, last_pairs = part.count() * one.per_token);
  const DeviceTensor inner(stream, 1, 1, pairs, one.inner, "a test"), opened(stream, 1, 1, pairs, one.inner, "a test"),
      results(stream, 1, 1, pairs, one.width, "a test");
  const gpu::Buffer routing(context, routing_numbers(counts, pairs) * sizeof(float), gpu::Memory::Device, "a test");
  for (const ExpertRows& part : parts) {
    route(stream, kernels, logits, counts, part, gates, routing);
    if (one.has_gate) {
      linear_of_tokens(stream, kernels, x, part, {gate, counts, routing, Activation::Silu}, opened);
      linear_of_tokens(stream, kernels, x, part, {in, counts, routing, Activation::None, &opened}, inner);
    } else {
      linear_of_tokens(stream, kernels, x, part, {in, counts, routing, Activation::Silu}, inner);
    }
    linear_of_pairs(stream, kernels, inner, part, {out, counts, routing}, results);
    sum_experts(stream, kernels, results, part, counts, routing,
                {one.shared_kind > 0 ? &shared : nullptr, one.shared_kind == 2 ? &shared_gate : nullptr}, y);
  }
  const gpu::Download y_bytes = stream.download(y.buffer()), gate_bytes = stream.download(gates.buffer()),
                      words = stream.download(gpu::Slice(routing));
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  const auto choices = submission.values<std::uint32_t>(words);
  return {test::take(y, submission.values<float>(y_bytes)),
          test::take(gates, submission.values<float>(gate_bytes)),
          {choices.begin(), choices.begin() + last_pairs}};
}

constexpr std::array kKinds{LinearKernel::Host, LinearKernel::Vec4, LinearKernel::Tiled, LinearKernel::Gemv};

void check(Kernels& kernels, const ExpertCase& one, const ExpertNumbers& numbers) {
  const ExpertResults wanted = expected(one, numbers);
  for (const LinearKernel kind : kKinds) {
    INFO(to_string(kind), ", ", one.items, " × ", one.tokens, " tokens, ", one.per_token, " of ", one.experts, " experts");
    const ExpertOutcome outcome = run(kernels, one, numbers, kind);
    const test::Deviation y = test::deviation(outcome.y.values.values, wanted.y);
    CHECK(y.nmse < 1e-11);                                                             // observed 1.2e-13
    CHECK(test::deviation(outcome.gates.values.values, wanted.gates).max_abs < 1e-6);  // observed 8.1e-8
    CHECK(outcome.y.is_padding_zero);
    CHECK(outcome.gates.is_padding_zero);
  }
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "experts: what each token's experts compute, whatever the sizes") {
    Kernels& kernels = test::shared_kernels();
    std::uint32_t seed = 1;
    for (const std::uint32_t tokens : {1u, 2u, 63u, 64u, 65u, 129u}) {
      for (const std::uint32_t experts : {1u, 5u, 65u}) {
        ExpertCase one{.tokens = tokens, .experts = experts, .per_token = std::min(experts, 3u)};
        one.sums_to_one = seed % 2 == 0;
        one.has_gate = seed % 3 != 0;
        one.shared_kind = seed % 3;
        check(kernels, one, make_numbers(one, seed++));
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "experts: batches, some rows of them, parts, types of weights and the most experts") {
    Kernels& kernels = test::shared_kernels();
    const auto check_case = [&](const ExpertCase& one) { check(kernels, one, make_numbers(one, one.tokens + one.experts)); };
    check_case({.items = 3, .tokens = 7, .experts = 6, .shared_kind = 2, .rows = Rows{2, 4}});
    check_case({.items = 3, .tokens = 7, .experts = 6, .rows = Rows{2, 4}, .pairs_at_once = 3});
    check_case({.items = 5, .tokens = 9, .experts = 6, .shared_kind = 2, .pairs_at_once = 40});
    check_case({.tokens = 17, .experts = 4, .width = 65, .inner = 129, .type = WeightType::F16});
    check_case({.tokens = 17, .experts = 4, .width = 128, .inner = 64, .type = WeightType::BF16});
    check_case({.tokens = 17, .experts = 4, .width = 64, .inner = 96, .type = WeightType::Q8_0});
    check_case({.tokens = 2, .experts = 40, .per_token = 1, .width = 128, .inner = 160, .type = WeightType::Q8_0});
    check_case({.tokens = 3, .experts = 1024, .per_token = 64, .width = 4, .inner = 4, .sums_to_one = true});
    check_case({.tokens = 5, .experts = 7, .per_token = 7, .sums_to_one = true});
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "experts: all tokens at one of them, and equal logits, of which the lower numbers are chosen") {
    Kernels& kernels = test::shared_kernels();
    const ExpertCase one{.tokens = 70, .experts = 9, .per_token = 2};
    ExpertNumbers numbers = make_numbers(one, 4);
    for (std::size_t i = 0; i < numbers.logits.values.size(); ++i) {
      const std::size_t expert = i % one.experts;
      numbers.logits.values[i] = expert == 6 ? 1.0f : expert == 2 || expert == 8 ? 0.5f : -1.0f;
    }
    check(kernels, one, numbers);
    for (const LinearKernel kind : kKinds) {
      const std::vector<std::uint32_t> choices = run(kernels, one, numbers, kind).choices;
      REQUIRE(choices.size() == 140);
      for (std::size_t pair = 0; pair < choices.size(); ++pair) CHECK(choices[pair] == (pair % 2 == 0 ? 6 : 2));
    }
    std::ranges::fill(numbers.logits.values, 0.25f);
    check(kernels, one, numbers);
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "experts: logits that aren't numbers choose different experts, and their token isn't a number") {
    Kernels& kernels = test::shared_kernels();
    const ExpertCase one{.tokens = 3, .experts = 70, .per_token = 5};
    ExpertNumbers numbers = make_numbers(one, 6);
    for (std::size_t i = 0; i < one.experts; ++i) numbers.logits.values[one.experts + i] = std::nanf("");
    const ExpertResults wanted = expected(one, numbers);
    for (const LinearKernel kind : kKinds) {
      const ExpertOutcome outcome = run(kernels, one, numbers, kind);
      for (std::size_t token = 0; token < one.tokens; ++token) {
        std::set<std::uint32_t> chosen;
        for (std::size_t slot = 0; slot < one.per_token; ++slot) {
          chosen.insert(outcome.choices[token * one.per_token + slot]);
        }
        CHECK(chosen.size() == one.per_token);
        CHECK(*chosen.rbegin() < one.experts);
        const std::size_t first = token * one.width;
        const std::span<const float> y = std::span(outcome.y.values.values).subspan(first, one.width);
        if (token == 1) {
          CHECK(std::ranges::all_of(y, [](float number) { return std::isnan(number); }));
        } else {
          CHECK(test::deviation(y, std::span(wanted.y).subspan(first, one.width)).nmse < 1e-11);
        }
      }
    }
  }
}

TEST_SUITE("cpu") {
  TEST_CASE("experts: the parts of a text are all of its tokens, each once") {
    for (const std::uint32_t items : {1u, 2u, 7u}) {
      for (const std::uint32_t at_once : {1u, 4u, 9u, 1000u}) {
        std::vector<std::uint32_t> seen(std::size_t{items} * 10);
        for (const ExpertRows& part : expert_parts(items, {3, 6}, 2, at_once)) {
          CHECK((part.count() * 2 <= at_once || part.count() == 1));
          for (std::uint32_t item = part.first_item; item < part.first_item + part.items; ++item) {
            for (std::uint32_t token = part.tokens.first; token < part.tokens.end(); ++token) ++seen[item * 10 + token];
          }
        }
        for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == (i % 10 >= 3 && i % 10 < 9 ? 1 : 0));
      }
    }
  }
}

}  // namespace experts_test
